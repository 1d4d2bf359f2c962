// One visit by a framework of JavaScript: `node visit.mjs NAME stdio|http TARGET`, as tests/clients/frameworks/visits.py for Python.
const [name, kind, given] = process.argv.slice(2);
const target = JSON.parse(given);
const TOOL = "workspace_info";
const http = { url: target[0], headers: { Authorization: `Bearer ${target[1]}` } };
const stdio = { command: target[0], args: target.slice(1) };

const textOf = (content) =>
  typeof content === "string" ? content
  : Array.isArray(content) ? content.map(textOf).join("\n")
  : content && typeof content === "object" ? textOf(content.text ?? content.content ?? "") : "";

const visits = {
  async vercel() {
    const { createMCPClient } = await import("@ai-sdk/mcp");
    let transport = { type: "http", ...http };
    if (kind === "stdio") {
      const { Experimental_StdioMCPTransport } = await import("@ai-sdk/mcp/mcp-stdio");
      transport = new Experimental_StdioMCPTransport(stdio);
    }
    const client = await createMCPClient({ transport });
    try {
      const tools = await client.tools();
      const { asSchema } = await import("ai");
      const converted = await Promise.all(Object.values(tools).map((tool) => asSchema(tool.inputSchema).jsonSchema));
      const said = await tools[TOOL].execute({}, { toolCallId: "1", messages: [] });
      return [converted.length, textOf(said)];
    } finally {
      await client.close();
    }
  },
  async mastra() {
    const { MCPClient } = await import("@mastra/mcp");
    const server = kind === "stdio" ? stdio : { url: new URL(http.url), requestInit: { headers: http.headers } };
    const client = new MCPClient({ servers: { postil: server }, timeout: 60000 });
    try {
      const tools = await (client.listTools?.() ?? client.getTools());
      const converted = Object.values(tools).map((tool) => tool.inputSchema);
      const said = await tools[`postil_${TOOL}`].execute({});
      return [converted.length, textOf(said)];
    } finally {
      await client.disconnect();
    }
  },
  async langchain() {
    const { MultiServerMCPClient } = await import("@langchain/mcp-adapters");
    const { convertToOpenAITool } = await import("@langchain/core/utils/function_calling");
    const server = kind === "stdio" ? { transport: "stdio", ...stdio } : { transport: "http", ...http };
    const client = new MultiServerMCPClient({ mcpServers: { postil: server } });
    try {
      const tools = await client.getTools();
      const converted = tools.map((tool) => convertToOpenAITool(tool));
      const said = await tools.find((tool) => tool.name.endsWith(TOOL)).invoke({});
      return [converted.length, textOf(said)];
    } finally {
      await client.close();
    }
  },
  async openai() {
    const { MCPServerStdio, MCPServerStreamableHttp, getAllMcpTools } = await import("@openai/agents");
    const server = kind === "stdio"
      ? new MCPServerStdio({ command: stdio.command, args: stdio.args })
      : new MCPServerStreamableHttp({ url: http.url, requestInit: { headers: http.headers } });
    await server.connect();
    try {
      const tools = await getAllMcpTools({ mcpServers: [server], convertSchemasToStrict: true });
      const said = await server.callTool(TOOL, {});
      return [tools.length, textOf(said)];
    } finally {
      await server.close();
    }
  },
};

const [tools, text] = await visits[name]();
console.log(JSON.stringify({ tools, text }));
process.exit(0);
