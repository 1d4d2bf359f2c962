"""Campaigns that try to lose data: kills, power cuts, stalls, torn caches, clocks. `make chaos` runs them for long."""
