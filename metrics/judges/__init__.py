"""What decides how toxic a text is."""
