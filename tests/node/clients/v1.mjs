// A visit with the TypeScript SDK, version 1: handshake era only.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { answer, print, target, visit } from "./visit.mjs";

const { kind, url, command, args } = target();
const client = new Client({ name: "v1", version: "1" }, { capabilities: { elicitation: {} } });
client.setRequestHandler(ElicitRequestSchema, answer);
const transport =
  kind === "http"
    ? new StreamableHTTPClientTransport(new URL(url))
    : new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" });
await client.connect(transport);
const changed = () =>
  new Promise((heard) => client.setNotificationHandler(ToolListChangedNotificationSchema, () => heard("tools")));
const listen = { open: async () => undefined, progress: (onprogress) => [undefined, { onprogress }] };
const seen = await visit(client, { listen, changed });
seen.version = transport.protocolVersion ?? transport._protocolVersion ?? null;
seen.server = client.getServerVersion();
await client.ping();
await client.close();
print(seen);
