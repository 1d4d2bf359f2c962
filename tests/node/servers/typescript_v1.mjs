// The echo tool on the TypeScript SDK, version 1.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

const make = () => {
  const server = new McpServer({ name: "echo", version: "1" });
  server.registerTool("echo", { description: "Say it again", inputSchema: { text: z.string() } }, async ({ text }) => ({
    content: [{ type: "text", text }],
  }));
  return server;
};

if (process.argv.includes("--http")) {
  const { createServer } = await import("node:http");
  const { StreamableHTTPServerTransport } = await import("@modelcontextprotocol/sdk/server/streamableHttp.js");
  const listener = createServer(async (request, response) => {
    const server = make();
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
    response.on("close", () => server.close());
    await server.connect(transport);
    await transport.handleRequest(request, response);
  });
  listener.listen(0, "127.0.0.1", () => console.error(listener.address().port));
} else {
  const { StdioServerTransport } = await import("@modelcontextprotocol/sdk/server/stdio.js");
  await make().connect(new StdioServerTransport());
}
