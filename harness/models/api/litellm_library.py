"""litellm, imported without network or telemetry, and what it knows about models."""

from __future__ import annotations

import logging
import os
import warnings
from importlib import import_module
from types import ModuleType
from typing import Any

from harness import ModelError, install_advice
from harness.backends import Price

_ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_MODE": "PRODUCTION",
}
"""What litellm reads as it is imported: no download of its table of models, and no keys from a file ``.env``."""

_SWITCHES: dict[str, Any] = {
    "drop_params": False,
    "modify_params": False,
    "suppress_debug_info": True,
    "num_retries": 0,
    "cache": None,
}
"""litellm's own settings: no parameter is dropped, no request changed, repeated or answered from a cache."""


def load_litellm() -> ModuleType:
    """Return litellm; all that would change, hide or repeat a request is switched off.

    Raises:
        ModelError: It is not installed, or cannot be imported.
    """
    os.environ.update(_ENVIRONMENT)
    # Of litellm's own types, as pydantic reads them; nothing that a user could change.
    warnings.filterwarnings("ignore", message=".*using the `ReadOnly` qualifier", category=UserWarning)
    try:
        litellm = import_module("litellm")
    except ImportError as error:
        raise ModelError(f"the package litellm cannot be imported ({error}): {install_advice('litellm')}.") from error
    for name, value in _SWITCHES.items():
        setattr(litellm, name, value)
    for name in ("callbacks", "success_callback", "failure_callback", "input_callback"):
        setattr(litellm, name, [])
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return litellm


def provider_of(model: str) -> tuple[str, str]:
    """Return a model's name without its provider, and the provider.

    Raises:
        ModelError: litellm does not know the provider.
    """
    try:
        name, provider, *_ = load_litellm().get_llm_provider(model)
    except ModelError:
        raise
    except Exception as error:  # litellm's own classes
        raise ModelError(
            f"litellm:{model}: litellm knows no such provider. Name the model as provider/model, such as "
            "litellm:mistral/mistral-large-latest; see https://docs.litellm.ai/docs/providers."
        ) from error
    return str(name), str(provider)


def known_price(model: str) -> Price | None:
    """Return the price of a model in litellm's table; None if it has none, or depends on the length of the prompt.

    Args:
        model: Provider and model.
    """
    try:
        name, provider = provider_of(model)
    except ModelError:
        return None
    table: dict[str, dict[str, Any]] = load_litellm().model_cost
    entry = table.get(f"{provider}/{name}") or table.get(name) or {}
    if entry.get("litellm_provider") != provider or any("_above_" in key for key in entry):
        return None
    prompt, completion = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
    if not isinstance(prompt, int | float) or not isinstance(completion, int | float):
        return None
    thoughts = entry.get("output_cost_per_reasoning_token")
    # Rounded, since 1e-7 times a million is 0.09999999999999999.
    reasoning = round(thoughts * 1e6, 6) if isinstance(thoughts, int | float) else None
    return Price("USD", round(prompt * 1e6, 6), round(completion * 1e6, 6), reasoning)
