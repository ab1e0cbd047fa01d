"""Text that leaves the program: control characters are escaped and secrets hidden."""
