"""The clone of a workspace that many hosts share: its files and refs as snapshots, which travel by git."""
