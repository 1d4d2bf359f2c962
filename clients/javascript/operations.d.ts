// A method for each operation of the server. Written by `make docs` from the server's own catalogue: do not edit.
import type { Result } from './index';

export interface Operations {
  /** List accessible GitLab projects. */
  listProjects(params?: { visibility?: 'internal' | 'private' | 'public'; owned?: boolean; starred?: boolean; membership?: boolean; search?: string; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }): Promise<Result>;
  /** Get details of one project. */
  getProject(params: { project_id: number | string; cache?: boolean; cache_ttl?: number; }): Promise<Result>;
  /** Search projects by name or description. */
  searchProjects(params: { search: string; visibility?: 'internal' | 'private' | 'public'; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }): Promise<Result>;
  /** List issues of a project. */
  listIssues(params: { project_id: number | string; state?: 'all' | 'closed' | 'opened'; labels?: Array<string>; assignee_id?: number | 'Any' | 'None'; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }): Promise<Result>;
  /** Get one issue in full, by its iid (#1) or its global id. */
  getIssue(params: { project_id: number | string; issue_id?: number; issue_iid?: number; cache?: boolean; cache_ttl?: number; }): Promise<Result>;
  /** Create an issue. */
  createIssue(params: { project_id: number | string; title: string; description?: string; assignee_id?: number; labels?: Array<string>; idempotency_key?: string; }): Promise<Result>;
  /** Change an issue: only what is given (assignee_id 0 removes the assignee). */
  updateIssue(params: { project_id: number | string; issue_iid: number; title?: string; description?: string; state_event?: 'close' | 'reopen'; assignee_id?: number; add_labels?: Array<string>; remove_labels?: Array<string>; idempotency_key?: string; }): Promise<Result>;
  /** List the notes of an issue, oldest first. */
  listIssueNotes(params: { project_id: number | string; issue_iid: number; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }): Promise<Result>;
  /** Write a note on an issue. */
  createIssueNote(params: { project_id: number | string; issue_iid: number; body: string; idempotency_key?: string; }): Promise<Result>;
  /** Search issues in titles and descriptions, in one project or in all. */
  searchIssues(params: { search: string; project_id?: number | string; state?: 'all' | 'closed' | 'opened'; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }): Promise<Result>;
  /** List merge requests of a project. */
  listMergeRequests(params: { project_id: number | string; state?: 'all' | 'closed' | 'locked' | 'merged' | 'opened'; target_branch?: string; source_branch?: string; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }): Promise<Result>;
  /** Get one merge request in full. */
  getMergeRequest(params: { project_id: number | string; merge_request_iid: number; cache?: boolean; cache_ttl?: number; }): Promise<Result>;
  /** Create a merge request. */
  createMergeRequest(params: { project_id: number | string; title: string; source_branch: string; target_branch: string; description?: string; assignee_id?: number; remove_source_branch?: boolean; idempotency_key?: string; }): Promise<Result>;
  /** Get the changed files of a merge request as unified diffs. */
  getMergeRequestDiff(params: { project_id: number | string; merge_request_iid: number; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }): Promise<Result>;
  /** List the discussions of a merge request with their notes. */
  listMergeRequestDiscussions(params: { project_id: number | string; merge_request_iid: number; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }): Promise<Result>;
  /** Reply in a discussion of a merge request, or start one. */
  commentOnMergeRequest(params: { project_id: number | string; merge_request_iid: number; body: string; discussion_id?: string; idempotency_key?: string; }): Promise<Result>;
  /** Resolve a discussion of a merge request, or open it again. */
  resolveDiscussion(params: { project_id: number | string; merge_request_iid: number; discussion_id: string; resolved?: boolean; idempotency_key?: string; }): Promise<Result>;
  /** List CI/CD pipelines of a project. */
  listPipelines(params: { project_id: number | string; status?: 'canceled' | 'canceling' | 'created' | 'failed' | 'manual' | 'pending' | 'preparing' | 'running' | 'scheduled' | 'skipped' | 'success' | 'waiting_for_callback' | 'waiting_for_resource'; ref?: string; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }): Promise<Result>;
  /** Get a pipeline with its jobs and the log ends of failed ones. */
  getPipeline(params: { project_id: number | string; pipeline_id: number; cache?: boolean; cache_ttl?: number; }): Promise<Result>;
  /** Start a pipeline on a branch or tag. */
  triggerPipeline(params: { project_id: number | string; ref: string; variables?: Record<string, string | number | boolean>; idempotency_key?: string; }): Promise<Result>;
  /** Get a file of the repository with its last commit. */
  getFileContent(params: { project_id: number | string; file_path: string; ref?: string; cache?: boolean; cache_ttl?: number; }): Promise<Result>;
  /** List a folder of the repository. */
  listRepositoryFiles(params: { project_id: number | string; path?: string; ref?: string; recursive?: boolean; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }): Promise<Result>;
  /** Make a project's webhook send these events, or change the one with this url. */
  configureWebhook(params: { project_id: number | string; url: string; events: Array<'issues' | 'merge_requests' | 'pipelines' | 'push' | 'wiki'>; token?: string; idempotency_key?: string; }): Promise<Result>;
  /** List events that webhooks sent here, oldest first. */
  listWebhookEvents(params?: { project_id?: number; event?: string; after?: string; limit?: number; payload?: boolean; }): Promise<Result>;
}
