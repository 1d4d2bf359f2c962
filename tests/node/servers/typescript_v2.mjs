// The echo tool on the TypeScript SDK, version 2.
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

const make = () => {
  const server = new McpServer({ name: "echo", version: "1" });
  server.registerTool("echo", { description: "Say it again", inputSchema: z.object({ text: z.string() }) }, async ({ text }) => ({
    content: [{ type: "text", text }],
  }));
  return server;
};

if (process.argv.includes("--http")) {
  const { createServer } = await import("node:http");
  const { toNodeHandler } = await import("@modelcontextprotocol/node");
  const handle = toNodeHandler(createMcpHandler(make));
  const listener = createServer((request, response) => void handle(request, response));
  listener.listen(0, "127.0.0.1", () => console.error(listener.address().port));
} else {
  const { serveStdio } = await import("@modelcontextprotocol/server/stdio");
  serveStdio(make);
}
