"""Declares that no model is asked in this process, so that backends need not load what computes answers."""

from __future__ import annotations

_state = {"asked": True}


def ask_no_model() -> None:
    """Declare that from now on models in this process only count tokens and describe themselves."""
    _state["asked"] = False


def models_are_asked() -> bool:
    """Return False in a process that asks no model."""
    return _state["asked"]
