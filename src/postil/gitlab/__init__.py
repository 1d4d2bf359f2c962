"""GitLab: projects, issues, merge requests, pipelines, repository, search, webhooks."""
