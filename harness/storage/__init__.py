"""A run on disk: its record, its examples, and their schema."""
