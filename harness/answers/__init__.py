"""Answers of models: checked, declined, served by which model; and options and numbers read out of their text."""
