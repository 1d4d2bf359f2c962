// A visit with the TypeScript SDK, version 2: both eras.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { answer, print, target, visit } from "./visit.mjs";

const { era, kind, url, command, args } = target();
const mode = era === "modern" ? { pin: "2026-07-28" } : era;
const client = new Client({ name: "v2", version: "1" }, { capabilities: { elicitation: {} }, versionNegotiation: { mode } });
client.setRequestHandler("elicitation/create", answer);
const transport =
  kind === "http"
    ? new StreamableHTTPClientTransport(new URL(url))
    : new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" });
await client.connect(transport);
const stateless = client.getProtocolEra() === "modern";
const changed = () =>
  new Promise((heard) => client.setNotificationHandler("notifications/tools/list_changed", () => heard("tools")));
const listen = {
  open: async () => (stateless ? await client.listen({ toolsListChanged: true }) : undefined),
  progress: (onprogress) => [{ onprogress }],
};
const seen = await visit(client, { listen, changed });
seen.version = client.getNegotiatedProtocolVersion();
seen.server = client.getServerVersion();
if (!stateless) await client.ping();
await client.close();
print(seen);
