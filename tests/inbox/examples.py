"""A diff as git prints it, the binding that the original bridge publishes, and one that broke lazygit."""

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
BROKEN = r"""# Written by `postil setup lazygit`; `postil setup lazygit --remove` takes it away again.
customCommands:
  - key: "<c-y>"
    context: "files"
    description: "Comment to the assistant"
    prompts:
      - type: "menuFromCommand"
        title: "Where?"
        key: "Where"
        command: 'postil inbox hunks --context files {{.SelectedPath | quote}}'
        filter: '(?P<line>[^|]+)\|(?P<text>.+)'
        valueFormat: '{{ .line }}'
        labelFormat: '{{ .line }}  {{ .text }}'
      - type: "input"
        title: 'Comment on {{.SelectedPath}}:{{.Form.Where}}'
        key: "Comment"
    command: 'postil inbox send --file {{.SelectedPath | quote}} --comment {{.Form.Comment | quote}}'
    output: popup
    output: popup
"""
"""What an earlier `postil setup lazygit` wrote, after lazygit rewrote it: a key stands there twice."""
