"""What judge.py weighs by: sums of decision trees, learnt."""
