// A method for each operation of the server. Written by `make docs` from the server's own catalogue: do not edit.
import type { PerCall, Result } from './index';

export interface Operations {
  /** List accessible GitLab projects. */
  listProjects(params?: { visibility?: 'internal' | 'private' | 'public'; owned?: boolean; starred?: boolean; membership?: boolean; search?: string; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }, options?: PerCall): Promise<Result>;
  /** Get details of one project. */
  getProject(params?: { project_id?: number | string; max_bytes?: number; cache?: boolean; cache_ttl?: number; }, options?: PerCall): Promise<Result>;
  /** Search projects by name or description. */
  searchProjects(params: { search: string; visibility?: 'internal' | 'private' | 'public'; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }, options?: PerCall): Promise<Result>;
  /** List the labels of a project and of the groups above it. */
  listLabels(params?: { project_id?: number | string; search?: string; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }, options?: PerCall): Promise<Result>;
  /** List the milestones of a project and of the groups above it. */
  listMilestones(params?: { project_id?: number | string; state?: 'active' | 'closed'; search?: string; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }, options?: PerCall): Promise<Result>;
  /** List issues of a project. */
  listIssues(params?: { project_id?: number | string; state?: 'all' | 'closed' | 'opened'; labels?: Array<string>; assignee_id?: number | string; author?: number | string; milestone?: string; search?: string; created_after?: string; updated_after?: string; order_by?: 'created_at' | 'priority' | 'title' | 'updated_at'; sort?: 'asc' | 'desc'; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }, options?: PerCall): Promise<Result>;
  /** Get one issue in full, by its iid (#1) or its global id. */
  getIssue(params?: { project_id?: number | string; issue_id?: number | string; issue_iid?: number | string; max_bytes?: number; cache?: boolean; cache_ttl?: number; }, options?: PerCall): Promise<Result>;
  /** Create an issue. */
  createIssue(params: { project_id?: number | string; title: string; description?: string; assignee_id?: number | string; labels?: Array<string>; milestone?: string; confidential?: boolean; idempotency_key?: string; }, options?: PerCall): Promise<Result>;
  /** Change an issue: only what is given (assignee_id 0 removes the assignee). */
  updateIssue(params?: { project_id?: number | string; issue_iid?: number | string; title?: string; description?: string; state_event?: 'close' | 'reopen'; assignee_id?: number | string; add_labels?: Array<string>; remove_labels?: Array<string>; milestone?: string; confidential?: boolean; idempotency_key?: string; }, options?: PerCall): Promise<Result>;
  /** List the notes of an issue, oldest first. */
  listIssueNotes(params?: { project_id?: number | string; issue_iid?: number | string; max_bytes?: number; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }, options?: PerCall): Promise<Result>;
  /** Write a note on an issue. */
  createIssueNote(params: { project_id?: number | string; issue_iid?: number | string; body: string; idempotency_key?: string; }, options?: PerCall): Promise<Result>;
  /** Search issues in titles and descriptions, in one project or in all. */
  searchIssues(params: { search: string; project_id?: number | string; state?: 'all' | 'closed' | 'opened'; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }, options?: PerCall): Promise<Result>;
  /** List merge requests of a project. */
  listMergeRequests(params?: { project_id?: number | string; state?: 'all' | 'closed' | 'locked' | 'merged' | 'opened'; target_branch?: string; source_branch?: string; author?: number | string; assignee?: number | string; reviewer?: number | string; labels?: Array<string>; milestone?: string; search?: string; created_after?: string; updated_after?: string; order_by?: 'created_at' | 'priority' | 'title' | 'updated_at'; sort?: 'asc' | 'desc'; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }, options?: PerCall): Promise<Result>;
  /** Get one merge request in full. */
  getMergeRequest(params?: { project_id?: number | string; merge_request_iid?: number | string; max_bytes?: number; cache?: boolean; cache_ttl?: number; }, options?: PerCall): Promise<Result>;
  /** Create a merge request. */
  createMergeRequest(params: { project_id?: number | string; title: string; source_branch: string; target_branch: string; description?: string; assignee_id?: number | string; remove_source_branch?: boolean; reviewers?: Array<number | string>; labels?: Array<string>; milestone?: string; draft?: boolean; squash?: boolean; idempotency_key?: string; }, options?: PerCall): Promise<Result>;
  /** Change a merge request: only what is given (an empty list removes all reviewers or assignees). */
  updateMergeRequest(params?: { project_id?: number | string; merge_request_iid?: number | string; title?: string; description?: string; state_event?: 'close' | 'reopen'; draft?: boolean; target_branch?: string; assignees?: Array<number | string>; reviewers?: Array<number | string>; add_labels?: Array<string>; remove_labels?: Array<string>; milestone?: string; squash?: boolean; remove_source_branch?: boolean; idempotency_key?: string; }, options?: PerCall): Promise<Result>;
  /** Approve a merge request, or revoke your approval. */
  approveMergeRequest(params?: { project_id?: number | string; merge_request_iid?: number | string; sha?: string; revoke?: boolean; idempotency_key?: string; }, options?: PerCall): Promise<Result>;
  /** Merge a merge request now, or when its pipeline succeeds. */
  mergeMergeRequest(params?: { project_id?: number | string; merge_request_iid?: number | string; sha?: string; when_pipeline_succeeds?: boolean; squash?: boolean; remove_source_branch?: boolean; message?: string; idempotency_key?: string; }, options?: PerCall): Promise<Result>;
  /** Get the changed files of a merge request as unified diffs. */
  getMergeRequestDiff(params?: { project_id?: number | string; merge_request_iid?: number | string; path?: string; lines?: string; max_bytes?: number; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }, options?: PerCall): Promise<Result>;
  /** List the discussions of a merge request with their notes. */
  listMergeRequestDiscussions(params?: { project_id?: number | string; merge_request_iid?: number | string; max_bytes?: number; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }, options?: PerCall): Promise<Result>;
  /** Comment on a merge request, on lines of its diff (with a suggestion), or reply in a discussion. */
  commentOnMergeRequest(params?: { project_id?: number | string; merge_request_iid?: number | string; body?: string; discussion_id?: string; path?: string; line?: number; old_line?: number; start_line?: number; start_old_line?: number; suggestion?: string; sha?: string; idempotency_key?: string; }, options?: PerCall): Promise<Result>;
  /** Submit several comments as one review: all of them, or none. */
  reviewMergeRequest(params?: { project_id?: number | string; merge_request_iid?: number | string; comments?: Array<{ body?: string; path?: string; line?: number; old_line?: number; start_line?: number; start_old_line?: number; suggestion?: string; discussion_id?: string }>; body?: string; sha?: string; idempotency_key?: string; }, options?: PerCall): Promise<Result>;
  /** Resolve a discussion of a merge request, or open it again. */
  resolveDiscussion(params: { project_id?: number | string; merge_request_iid?: number | string; discussion_id: string; resolved?: boolean; body?: string; idempotency_key?: string; }, options?: PerCall): Promise<Result>;
  /** List the files that a merge request changes, and show how some differ, with changed words and colours. */
  compareMergeRequest(params?: { project_id?: number | string; merge_request_iid?: number | string; files?: Array<string>; skip?: number; cache?: boolean; cache_ttl?: number; }, options?: PerCall): Promise<Result>;
  /** List CI/CD pipelines of a project, or of a merge request. */
  listPipelines(params?: { project_id?: number | string; status?: 'canceled' | 'canceling' | 'created' | 'failed' | 'manual' | 'pending' | 'preparing' | 'running' | 'scheduled' | 'skipped' | 'success' | 'waiting_for_callback' | 'waiting_for_resource'; ref?: string; merge_request_iid?: number | string; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }, options?: PerCall): Promise<Result>;
  /** Get a pipeline with its jobs and the log ends of failed ones. */
  getPipeline(params?: { project_id?: number | string; pipeline_id?: number; merge_request_iid?: number | string; cache?: boolean; cache_ttl?: number; }, options?: PerCall): Promise<Result>;
  /** Get the log of a CI job: its end, a range of lines, or the lines with certain words. */
  getJobLog(params: { project_id?: number | string; job_id: number; tail?: number; lines?: string; search?: string; max_bytes?: number; cache?: boolean; cache_ttl?: number; }, options?: PerCall): Promise<Result>;
  /** Get what the tests of a pipeline said: counts, and the failed cases. */
  getTestReport(params?: { project_id?: number | string; pipeline_id?: number; merge_request_iid?: number | string; max_bytes?: number; cache?: boolean; cache_ttl?: number; }, options?: PerCall): Promise<Result>;
  /** Start a pipeline on a branch or tag. */
  triggerPipeline(params: { project_id?: number | string; ref: string; variables?: Record<string, string | number | boolean>; idempotency_key?: string; }, options?: PerCall): Promise<Result>;
  /** Retry or cancel a pipeline or a job, or play a manual job. */
  controlPipeline(params: { project_id?: number | string; action: 'cancel' | 'play' | 'retry'; pipeline_id?: number; job_id?: number; variables?: Record<string, string | number | boolean>; idempotency_key?: string; }, options?: PerCall): Promise<Result>;
  /** Wait until a pipeline has ended, or the time is over. */
  waitPipeline(params?: { project_id?: number | string; pipeline_id?: number; merge_request_iid?: number | string; timeout_seconds?: number; cache?: boolean; cache_ttl?: number; }, options?: PerCall): Promise<Result>;
  /** Get a file of the repository with its last commit. */
  getFileContent(params: { project_id?: number | string; file_path: string; ref?: string; lines?: string; max_bytes?: number; cache?: boolean; cache_ttl?: number; }, options?: PerCall): Promise<Result>;
  /** List a folder of the repository. */
  listRepositoryFiles(params?: { project_id?: number | string; path?: string; ref?: string; recursive?: boolean; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }, options?: PerCall): Promise<Result>;
  /** Search the code of a project. */
  searchCode(params: { search: string; project_id?: number | string; ref?: string; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }, options?: PerCall): Promise<Result>;
  /** List commits, newest first. */
  listCommits(params?: { project_id?: number | string; ref?: string; path?: string; author?: string; since?: string; until?: string; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }, options?: PerCall): Promise<Result>;
  /** Get a commit with its message and changes. */
  getCommit(params: { project_id?: number | string; sha: string; path?: string; lines?: string; max_bytes?: number; cache?: boolean; cache_ttl?: number; }, options?: PerCall): Promise<Result>;
  /** Compare two refs: the commits and changes that one has more than the other. */
  compareRefs(params: { project_id?: number | string; base: string; head: string; path?: string; lines?: string; straight?: boolean; max_bytes?: number; cache?: boolean; cache_ttl?: number; }, options?: PerCall): Promise<Result>;
  /** Say which commit wrote each line of a file last. */
  blameFile(params: { project_id?: number | string; file_path: string; ref?: string; lines?: string; max_bytes?: number; cache?: boolean; cache_ttl?: number; }, options?: PerCall): Promise<Result>;
  /** List the branches or tags of a project. */
  listRefs(params?: { project_id?: number | string; kind?: 'branches' | 'tags'; search?: string; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }, options?: PerCall): Promise<Result>;
  /** Show reviews asked of you, your merge requests, your issues and to-dos. */
  myWork(params?: { per_page?: number; cache?: boolean; cache_ttl?: number; }, options?: PerCall): Promise<Result>;
  /** Say whose GitLab token this is, and what it may do. */
  whoami(params?: { cache?: boolean; cache_ttl?: number; }, options?: PerCall): Promise<Result>;
  /** Find users by name. */
  findUser(params: { search: string; page?: number; per_page?: number; cache?: boolean; cache_ttl?: number; }, options?: PerCall): Promise<Result>;
  /** Make a project's webhook send these events, or change the one with this url. */
  configureWebhook(params: { project_id: number | string; url: string; events: Array<'issues' | 'merge_requests' | 'notes' | 'pipelines' | 'push' | 'wiki'>; token?: string; idempotency_key?: string; }, options?: PerCall): Promise<Result>;
  /** List events that webhooks sent here, newest first. */
  listWebhookEvents(params?: { project_id?: number; event?: string; after?: string; before?: string; since?: string; limit?: number; payload?: boolean; }, options?: PerCall): Promise<Result>;
}
