"""Importing results of other programs as runs, for comparison with ours; each run records its origin."""
