/** The result of a call; it also answers to `.result`, for code written against the envelope. */
export type Result = Record<string, any> & { readonly result: Result };

export interface Envelope {
  jsonrpc: '2.0';
  result: any;
  id: number;
}

export interface Options {
  endpoint: string;
  token: string;
  /** Milliseconds until a call is given up; 60000 by default. */
  timeout?: number;
  sleep?: (milliseconds: number) => Promise<void>;
  fetch?: typeof fetch;
}

export declare class McpGitlabError extends Error {
  code: number;
  data: Record<string, any>;
  readonly status: number | undefined;
}

export declare class McpGitlabClient {
  constructor(options: Options);
  request(request: { method: string; params?: Record<string, unknown> }): Promise<Envelope>;
  call(method: string, params?: Record<string, unknown>): Promise<Result>;
  /** List accessible projects. */
  listProjects(params?: { visibility?: 'public' | 'private' | 'internal'; owned?: boolean; starred?: boolean; membership?: boolean; search?: string; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }): Promise<Result>;
  /** One project. */
  getProject(params: { project_id: number | string; cache?: boolean; cache_ttl?: number; }): Promise<Result>;
  /** Search projects by name or description. */
  searchProjects(params: { search: string; visibility?: 'public' | 'private' | 'internal'; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }): Promise<Result>;
  /** List issues of a project. */
  listIssues(params: { project_id: number | string; state?: 'opened' | 'closed' | 'all'; labels?: Array<string>; assignee_id?: number | 'None' | 'Any'; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }): Promise<Result>;
  /** One issue, by its iid or its global id. */
  getIssue(params: { project_id: number | string; issue_id?: number; issue_iid?: number; cache?: boolean; cache_ttl?: number; }): Promise<Result>;
  /** Create an issue. */
  createIssue(params: { project_id: number | string; title: string; description?: string; assignee_id?: number; labels?: Array<string>; idempotency_key?: string; }): Promise<Result>;
  /** Change an issue: only what is given. */
  updateIssue(params: { project_id: number | string; issue_iid: number; title?: string; description?: string; state_event?: 'close' | 'reopen'; assignee_id?: number; add_labels?: Array<string>; remove_labels?: Array<string>; idempotency_key?: string; }): Promise<Result>;
  /** The notes of an issue, oldest first. */
  listIssueNotes(params: { project_id: number | string; issue_iid: number; page?: number; per_page?: number; }): Promise<Result>;
  /** Write a note on an issue. */
  createIssueNote(params: { project_id: number | string; issue_iid: number; body: string; idempotency_key?: string; }): Promise<Result>;
  /** Search issues, in one project or in all. */
  searchIssues(params: { search: string; project_id?: number | string; state?: 'opened' | 'closed' | 'all'; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }): Promise<Result>;
  /** List merge requests of a project. */
  listMergeRequests(params: { project_id: number | string; state?: 'opened' | 'closed' | 'merged' | 'locked' | 'all'; target_branch?: string; source_branch?: string; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }): Promise<Result>;
  /** One merge request. */
  getMergeRequest(params: { project_id: number | string; merge_request_iid: number; cache?: boolean; cache_ttl?: number; }): Promise<Result>;
  /** Create a merge request. */
  createMergeRequest(params: { project_id: number | string; title: string; source_branch: string; target_branch: string; description?: string; assignee_id?: number; remove_source_branch?: boolean; idempotency_key?: string; }): Promise<Result>;
  /** The changed files of a merge request. */
  getMergeRequestDiff(params: { project_id: number | string; merge_request_iid: number; page?: number; per_page?: number; }): Promise<Result>;
  /** The discussions of a merge request. */
  listMergeRequestDiscussions(params: { project_id: number | string; merge_request_iid: number; page?: number; per_page?: number; }): Promise<Result>;
  /** Reply in a discussion, or start one. */
  commentOnMergeRequest(params: { project_id: number | string; merge_request_iid: number; body: string; discussion_id?: string; idempotency_key?: string; }): Promise<Result>;
  /** Resolve a discussion, or open it again. */
  resolveDiscussion(params: { project_id: number | string; merge_request_iid: number; discussion_id: string; resolved?: boolean; idempotency_key?: string; }): Promise<Result>;
  /** List pipelines of a project. */
  listPipelines(params: { project_id: number | string; status?: string; ref?: string; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }): Promise<Result>;
  /** A pipeline with its jobs and the log ends of failed ones. */
  getPipeline(params: { project_id: number | string; pipeline_id: number; cache?: boolean; cache_ttl?: number; }): Promise<Result>;
  /** Start a pipeline. */
  triggerPipeline(params: { project_id: number | string; ref: string; variables?: Record<string, string | number | boolean>; idempotency_key?: string; }): Promise<Result>;
  /** A file, base64, with its last commit. */
  getFileContent(params: { project_id: number | string; file_path: string; ref?: string; cache?: boolean; cache_ttl?: number; }): Promise<Result>;
  /** List a folder of the repository. */
  listRepositoryFiles(params: { project_id: number | string; path?: string; ref?: string; recursive?: boolean; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }): Promise<Result>;
  /** Make or change a project's webhook. */
  configureWebhook(params: { project_id: number | string; url: string; events: Array<'push' | 'issues' | 'merge_requests' | 'pipelines' | 'wiki'>; token?: string; idempotency_key?: string; }): Promise<Result>;
  /** Events that webhooks sent to the server, oldest first; go on with `after: next_after`. */
  listWebhookEvents(params?: { project_id?: number; event?: 'push' | 'issues' | 'merge_requests' | 'pipelines' | 'wiki'; after?: string; limit?: number; payload?: boolean; }): Promise<Result>;
}

export default McpGitlabClient;
