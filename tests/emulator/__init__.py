"""A stateful stand-in for GitLab: refuses what GitLab refuses, answers in the shapes GitLab answers in."""
