// The same client for `import`: one implementation, so that `instanceof` holds on both sides.
import McpGitlabClient from './index.cjs';

export default McpGitlabClient;
export const { McpGitlabError } = McpGitlabClient;
export { McpGitlabClient };
