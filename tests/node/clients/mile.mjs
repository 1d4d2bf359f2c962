// Both versions of the TypeScript SDK on a visit to `git mile mcp-server`: list, show, and one bad filter.
// Usage: node mile.mjs v1|v2 ID COMMAND…
import { print } from "./visit.mjs";

const [version, id, command, ...args] = process.argv.slice(2);
const [{ Client }, { StdioClientTransport }] = await (version === "v1"
  ? Promise.all([
      import("@modelcontextprotocol/sdk/client/index.js"),
      import("@modelcontextprotocol/sdk/client/stdio.js"),
    ])
  : Promise.all([import("@modelcontextprotocol/client"), import("@modelcontextprotocol/client/stdio")]));
const client = new Client({ name: version, version: "1" });
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" }));
const payload = async (name, given) => JSON.parse((await client.callTool({ name, arguments: given })).content[0].text);
const seen = { server: client.getServerVersion().name, tools: (await client.listTools()).tools.map((tool) => tool.name) };
seen.listed = (await payload("git_mile.list", { entity: "milestone" })).items.map((item) => item.title);
seen.shown = (await payload("git_mile.show", { entity: "milestone", id })).comments.map((comment) => comment.body);
seen.refused = await client
  .callTool({ name: "git_mile.list", arguments: { entity: "issue", filter: "status == " } })
  .then((result) => (result.isError ? "isError" : "answered"), (error) => error.code);
await client.ping();
await client.close();
print(seen);
