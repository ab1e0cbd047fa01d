"""Judges, which decide how toxic a text is."""
