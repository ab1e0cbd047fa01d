"""Models of the hundred providers that the litellm library knows."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import Any

from harness import GenerateRequest, ModelError, Request, Response, backend, install_advice
from harness.backends import Price
from harness.models.api.api_model import ApiModel
from harness.models.api.calls import Calls
from harness.models.api.endpoint import Endpoint
from harness.models.api.litellm_calls import LiteLLMServer, supported
from harness.models.api.litellm_library import known_price, load_litellm, provider_of
from harness.models.api.openai_generation import Generator
from harness.models.api.retries import CannotAnswerError
from harness.models.api.settings import ApiSettings

_SECRET = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS)\Z")
"""Names of environment variables that may hold what litellm sends as a key."""
_NOT_SENT = re.compile(
    r"(?:.*_)?(?:base|url|endpoint|host)|api_key|model|messages|custom_llm_provider|num_retries|max_retries|drop_params"
    r"|fallbacks|model_list|mock_response|client|use_litellm_proxy"
)
"""Arguments that litellm reads itself, by which a request and the key would go elsewhere or be changed."""


class _Client:
    """litellm's connections are its own; there is nothing to close."""

    async def close(self) -> None:
        """Nothing is open."""


@backend(
    "litellm",
    source="The providers of litellm, https://docs.litellm.ai/docs/providers.",
    needs=("litellm",),
    install=install_advice("litellm"),
    price=known_price,
)
class LiteLLMModel(ApiModel):
    """A model of any provider that litellm knows: ``litellm:mistral/mistral-large-latest``.

    The identifier is litellm's: provider and model. Prompts are sent as conversations; a plain text is a user message.
    The model generates and cannot score. Concurrency, retries, limits and budget work as for ``openai:``; litellm's own
    retries and fallbacks are off, and it sends nothing to anyone but the provider.

    A setting that the provider does not take is an error that names it. Three settings are different: completions
    are cut at stop sequences here where the provider takes none, several completions take as many calls where it gives
    one at a time, and seeds are sent only where it takes them. Log-probabilities are asked for where litellm knows that
    the provider gives them. Where a provider does not count tokens, litellm estimates them.

    The key is the one that litellm finds in the environment (``MISTRAL_API_KEY``, …), or that of the variable in
    ``api_key_env``. With ``base_url``, only the latter is sent. litellm follows redirects. Prices that are not in the
    price table are litellm's, unless they depend on the length of the prompt.
    """

    class Params(ApiSettings):
        """The settings of a model that litellm reaches."""

        batch: bool = False
        """Not supported: litellm's calls are made one by one."""
        headers_env: None = None
        """Not supported: put keys into the environment as litellm reads them."""

    answers = frozenset({"generate"})
    honours = ApiModel.honours | {"top_p"}
    backend = "litellm"
    official_url = ""

    def __init__(self, identifier: str, params: Params) -> None:
        if params.batch:
            raise ModelError(f"litellm:{identifier}: litellm has no batches; remove `batch: true`.")
        if own := [key for key in params.extra_body if _NOT_SENT.fullmatch(key)]:
            raise ModelError(
                f"litellm:{identifier}: {own[0]} cannot be in extra_body, which holds only what the provider gets. "
                "Use base_url for an address, and api_key_env for a key."
            )
        super().__init__(identifier, params)
        self._connected: LiteLLMServer | None = None

    @property
    def window(self) -> int | None:
        return self._settings.window

    @property
    def chat(self) -> bool:
        return True

    @property
    def tools(self) -> bool:
        return "tools" in self._supported

    def obstacle(self, asks: frozenset[str]) -> str | None:
        if "score" in asks:
            return (
                f"{self._name}: litellm only generates, but the method scores texts by their log-probabilities. Use a "
                "method that generates, such as multiple_choice_joint, or openai: with base_url."
            )
        try:
            library, (_, provider) = load_litellm(), provider_of(self._model)
        except ModelError as error:
            return str(error)
        if self._endpoint.key is None and self._settings.base_url is None:
            lacking = library.validate_environment(self._model).get("missing_keys") or []
            keys = [name for name in lacking if _SECRET.search(name)]
            if keys:
                return (
                    f"{self._name}: no key for {provider}. Set {' and '.join(keys)}, or name a variable as api_key_env."
                )
        return None

    def fingerprint(self) -> Mapping[str, Any]:
        return {
            "backend": "litellm",
            "version": 1,
            "server": self._endpoint.url,
            "model": self._model,
            "extra_body": self._settings.extra_body,
        }

    def description(self) -> Mapping[str, Any]:
        return {"modality": "text", "server": self._endpoint.url, "window": self._settings.window, "access": "API"}

    @cached_property
    def _supported(self) -> frozenset[str]:
        return supported(self._model)

    def _place(self, settings: ApiSettings) -> Endpoint:
        """Return where the model is: at an address that the user named, or where litellm knows its provider."""
        if settings.base_url is not None:
            return super()._place(settings)
        key = super()._place(settings.model_copy(update={"base_url": "http://localhost"})).key
        return Endpoint(self._model.partition("/")[0], False, key)

    def _known_price(self) -> Price | None:
        return known_price(self._model) if self._settings.budget_money is not None else None

    def _secrets(self) -> list[str]:
        found = (value for name, value in os.environ.items() if _SECRET.search(name) and len(value) >= 8)
        return [*super()._secrets(), *found]

    def _library(self) -> ModuleType:
        load_litellm()
        return import_module("openai")  # whose exceptions litellm's are

    def _connect(self, library: Any, calls: Calls) -> Any:
        key = self._endpoint.key
        if key is None and self._settings.base_url is not None:
            key = "none"  # else litellm would send the provider's key to this address
        address = {"api_base": self._settings.base_url} if self._settings.base_url is not None else {}
        sent = {**address, **({"api_key": key} if key is not None else {})}
        extra = self._settings.extra_body
        self._connected = LiteLLMServer(calls, self._name, self._model, sent, extra, self._supported)
        return _Client()

    async def _ask(self, request: Request) -> Response:
        if not isinstance(request, GenerateRequest):
            raise CannotAnswerError("litellm gives no log-probabilities of a prompt, so it cannot score")
        server = self._connected
        if server is None:
            raise AssertionError("asked before it was opened")
        unsupported = server.unsupported(request)
        if unsupported:
            raise CannotAnswerError(
                f"litellm says that {self._endpoint.url} does not take {' and '.join(unsupported)} for this model"
            )
        generator = Generator(server, None, await self._known_window(), official=False)
        return await generator.chat(request)

    async def _known_window(self) -> int | None:
        return self._settings.window
