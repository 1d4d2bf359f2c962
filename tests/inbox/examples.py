"""A diff as git prints it, and the binding that the original bridge publishes."""

DIFF = """diff --git a/f b/f
index 1..2 100644
--- a/f
+++ b/f
@@ -1,4 +1,4 @@ def top
 one
-two
+TWO
 three
 four
@@ -10,6 +10,8 @@
 ten
+added
+added more
 eleven
-twelve
 thirteen
\\ No newline at end of file
"""
PUBLISHED = """
customCommands:
- key: "<c-y>"
  context: "staging"
  description: "Send comment to AI assistant"
  prompts:
  - {type: "input", title: "Comment:"}
  command: 'lazygit-mcp-bridge send --file "{{ .SelectedPath }}" --comment "{{ index .PromptResponses 0 }}"'
"""
