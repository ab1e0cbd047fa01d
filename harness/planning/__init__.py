"""Plans comparisons: how many instances a sweep needs to show a difference, and what that costs."""
