"""Exporting runs in the formats of other programs and archives; importing is in ``harness.imports``."""
