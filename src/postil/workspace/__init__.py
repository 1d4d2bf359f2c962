"""The git workspace: finding it, safe paths inside it, git itself, durable writes, watching files."""
