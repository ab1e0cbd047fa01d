"""What the runs of a sweep read, where it is, and how it is downloaded ahead of time."""
