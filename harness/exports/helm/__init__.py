"""Exporting runs as HELM's run folders (stanford-crfm/helm, 0.5.16)."""
