"""The embedded judge's model: its features, its weights, its card, and the script that trains it."""
