'use strict';

// The operations of the server; each becomes a method in camelCase. Written by `make docs`: do not edit.
module.exports = [
  'list_projects',
  'get_project',
  'search_projects',
  'list_issues',
  'get_issue',
  'create_issue',
  'update_issue',
  'list_issue_notes',
  'create_issue_note',
  'search_issues',
  'list_merge_requests',
  'get_merge_request',
  'create_merge_request',
  'get_merge_request_diff',
  'list_merge_request_discussions',
  'comment_on_merge_request',
  'resolve_discussion',
  'list_pipelines',
  'get_pipeline',
  'trigger_pipeline',
  'get_file_content',
  'list_repository_files',
  'configure_webhook',
  'list_webhook_events',
];
