"""The settings that every model behind a server takes."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class ApiSettings(BaseModel):
    """Settings of a model behind a server; a backend's ``Params`` adds its own."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    base_url: str | None = None
    """Address of another server with the same API. Default: the environment's (OPENAI_BASE_URL or ANTHROPIC_BASE_URL),
    else the official server.
    """
    window: int | None = Field(default=None, ge=3)
    """Most tokens of prompt and completion together. Default: what the server says, where it does."""
    extra_body: dict[str, Any] = Field(default_factory=dict)
    """More fields for each request, such as ``{"reasoning_effort": "low"}``. A null leaves a field out, such as
    ``{"temperature": null}`` for models that refuse a temperature.
    """
    max_concurrency: int = Field(default=200, ge=1)
    """Most calls at once to the server, including those of other models with the same key."""
    requests_per_minute: float | None = Field(default=None, ge=1)
    """Most calls a minute to the server, including retries and other models with the same key."""
    tokens_per_minute: float | None = Field(default=None, ge=1)
    """Most tokens a minute, prompts and completions, including other models with the same key."""
    budget_tokens: int | None = Field(default=None, ge=1)
    """Most tokens this model may use, over all runs and starts that share a response cache."""
    budget_money: float | None = Field(default=None, ge=0)
    """Most money this model may cost, over all runs and starts that share a response cache, in the currency of the
    price table.
    """
    prices: str | None = None
    """A YAML file of prices, as for ``harness run --prices``; it takes precedence over the built-in prices."""
    timeout: float = Field(default=600.0, ge=0.001)
    """Seconds that one attempt may take, from the first byte sent to the last received."""
    max_retries: int = Field(default=8, ge=0)
    """How often a failed call is repeated."""
    retry_delay: float = Field(default=0.5, ge=0)
    """Seconds before the first retry. The wait doubles each time, up to a minute, less a random part."""
    batch: bool = False
    """True to ask through the provider's batch interface: at half the price, and answered within a day."""
    batch_poll: float = Field(default=60.0, ge=0.01)
    """Seconds between two looks at a batch; the first looks are closer together."""
    api_key_env: str | None = None
    """Name of the environment variable that holds the key. Default: OPENAI_API_KEY or ANTHROPIC_API_KEY, which are sent
    to the official server only.
    """
    headers_env: str | None = None
    """Name of an environment variable that holds more headers, as a JSON object."""


OPERATIONAL = frozenset(ApiSettings.model_fields) - {"base_url", "window", "extra_body"}
"""The settings that change no answer."""
