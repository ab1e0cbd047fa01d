"""Sealing a data set before it is published, so that its publisher can later test models for it."""
