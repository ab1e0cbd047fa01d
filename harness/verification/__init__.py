"""Checks results: asks again, records and compares environments, signs results and verifies signatures."""
