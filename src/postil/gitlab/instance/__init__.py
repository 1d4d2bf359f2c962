"""One GitLab instance over HTTP: requests, retries, pages, and its JSON read without trust."""
