"""Models' answers: whether they fit, were declined, and who served them; options and numbers read from their text."""
