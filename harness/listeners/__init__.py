"""Gives each run of a sweep to its listeners as it ends, and keeps track of what they have been given."""
