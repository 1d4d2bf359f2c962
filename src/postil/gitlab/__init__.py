"""GitLab's projects, issues, merge requests, pipelines, repository, search and webhooks."""
