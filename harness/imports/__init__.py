"""Results of other programs, written as runs of ours, to stand beside ours; each says where it is from."""
