// What every TypeScript client does on its visit; the same steps for both versions of the SDK. Prints what it saw as JSON.
// Usage: node v1.mjs|v2.mjs ERA stdio COMMAND… | ERA http URL

export async function visit(client, { listen, changed }) {
  const seen = {};
  const text = (result) => result.content.map((block) => block.text ?? block.type).join(" ");
  const tools = await client.listTools();
  seen.tools = tools.tools.map((tool) => tool.name);
  seen.simple = text(await client.callTool({ name: "test_simple_text", arguments: {} }));
  seen.mixed = (await client.callTool({ name: "test_multiple_content_types", arguments: {} })).content.map((b) => b.type);
  const failed = await client.callTool({ name: "test_error_handling", arguments: {} });
  seen.failed = [failed.isError, text(failed)];
  try {
    await client.callTool({ name: "no_such_tool", arguments: {} });
    seen.unknown = "answered";
  } catch (error) {
    seen.unknown = error.code;
  }
  const progress = [];
  const report = (params) => progress.push(params.progress);
  seen.progressed = text(await client.callTool({ name: "test_tool_with_progress", arguments: {} }, ...listen.progress(report)));
  seen.progress = progress;
  seen.elicited = text(await client.callTool({ name: "test_input_required_result_elicitation", arguments: {} }));
  seen.resources = (await client.listResources()).resources.map((resource) => resource.uri);
  seen.templates = (await client.listResourceTemplates()).resourceTemplates.map((template) => template.uriTemplate);
  seen.resource = (await client.readResource({ uri: "test://template/7/data" })).contents[0].text;
  seen.prompts = (await client.listPrompts()).prompts.map((prompt) => prompt.name);
  const prompt = await client.getPrompt({ name: "test_prompt_with_arguments", arguments: { arg1: "a", arg2: "b" } });
  seen.prompt = prompt.messages[0].content.text;
  const ref = { type: "ref/prompt", name: "test_prompt_with_arguments" };
  seen.completion = (await client.complete({ ref, argument: { name: "arg1", value: "te" } })).completion.values;
  const subscription = await listen.open();
  const heard = changed();
  await client.callTool({ name: "test_trigger_tool_change", arguments: {} });
  seen.changed = await Promise.race([heard, new Promise((end) => setTimeout(() => end("silence"), 5000).unref())]);
  await subscription?.close();
  return seen;
}

export function answer(request) {
  return { action: "accept", content: { name: `Ada, asked: ${request.params.message}` } };
}

export function target() {
  const [era, kind, ...rest] = process.argv.slice(2);
  return { era, kind, url: rest[0], command: rest[0], args: rest.slice(1) };
}

export function print(seen) {
  process.stdout.write(JSON.stringify(seen) + "\n");
}
