"""The older and narrower ways to speak: Zed's first draft and direct methods over HTTP."""
