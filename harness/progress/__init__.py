"""The progress of a sweep, shown in a terminal or written to a file."""
