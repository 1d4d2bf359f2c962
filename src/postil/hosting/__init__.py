"""Many workspaces behind one gateway, and one workspace on many hosts: who serves which, and who may write."""
