"""Exporting runs as logs of inspect_ai (UKGovernmentBEIS/inspect_ai, version 2 of its format)."""
