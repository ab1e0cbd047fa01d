"""What backends behind a server have in common: settings, calls, budget, and the removal of secrets."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from harness import Completion, GenerateRequest, Model, ModelError, Reasoning, Request, Response, install_advice
from harness.backends import DEFAULT_BUDGET, Determinism, Ledger, NoticeBoard, Price, Redaction, Served, load_prices
from harness.models.api.batches.batched_calls import MOST_UNDER_WAY, BatchedCalls
from harness.models.api.batches.interface import BatchInterface
from harness.models.api.batches.ledger import BatchLedger
from harness.models.api.batches.questions import answer_in_batches
from harness.models.api.calls import Calls, FilteredError, RequestFailedError
from harness.models.api.endpoint import Endpoint, endpoint_from
from harness.models.api.event_loop import LoopThread, answer_at_once
from harness.models.api.rate_limits import account_of
from harness.models.api.retries import CannotAnswerError, UnusableAnswerError
from harness.models.api.settings import OPERATIONAL, ApiSettings
from harness.models.api.spending import Spending

_LONGEST_NAME = 200
"""Most characters of a served model's name that are kept."""

_LOG = logging.getLogger(__name__)


class ApiModel(Model):
    """A model behind a server, asked many questions at once.

    Args:
        identifier: The model's name on the server.
        settings: Its settings.

    Raises:
        ModelError: The address, the key or the price that the settings need is missing or malformed.
    """

    backend: ClassVar[str]
    """The backend's name, which is also that of the client package and, in capitals, of the environment variables."""
    official_url: ClassVar[str]
    """The address of the API's own server."""
    operational = OPERATIONAL

    def __init__(self, identifier: str, settings: ApiSettings) -> None:
        name = f"{self.backend}:{identifier}"
        self._name, self._model, self._settings = name, identifier, settings
        self._endpoint = self._place(settings)
        secrets = self._secrets()
        self._redact, self._redact_answer = Redaction(secrets), Redaction(secrets, words=False)
        self._warned = self._reasons = False
        price = load_prices(Path(settings.prices) if settings.prices else None).price(name) or self._known_price()
        if price is not None and settings.batch:
            price = price.of_batches()
        if settings.budget_money is not None and price is None:
            raise ModelError(_without_price(name, settings.prices))
        account = f"{name} at {self._endpoint.url}"
        self._spending = Spending(settings.budget_tokens, settings.budget_money, price, account=account)
        self._account = account
        self._thread = LoopThread()
        self._calls: Calls | None = None
        self._batches: Path | None = None
        self._notices: NoticeBoard | None = None
        self._client: Any = None

    @property
    def determinism(self) -> Determinism:
        return Determinism.PROVIDER

    def _place(self, settings: ApiSettings) -> Endpoint:
        """Return the address of the model's server, with the secrets that are sent to it."""
        return endpoint_from(self._name, settings, official=self.official_url, prefix=self.backend.upper())

    def _secrets(self) -> list[str]:
        """Return what must not be shown or stored."""
        return self._endpoint.secrets

    def _known_price(self) -> Price | None:
        """Return the price of the model's tokens where the price tables have none; None if nothing knows it."""
        return None

    def answer(self, requests: Iterable[Request]) -> Iterator[tuple[int, Response]]:
        calls = self._thread.run(self._opened())
        if isinstance(calls, BatchedCalls):
            self._thread.run(self._begin_batches(calls))
            yield from answer_in_batches(self._thread, requests, self._answered, calls, self._notices)
            return
        yield from answer_at_once(self._thread, requests, self._answered, lambda: calls.at_once + 2)

    def keep_spending(self, ledger: Ledger) -> None:
        self._spending.keep(ledger)

    def keep_batches(self, folder: Path | None) -> None:
        self._batches = folder

    def keep_informed(self, notices: NoticeBoard) -> None:
        self._notices = notices

    @property
    def batched(self) -> bool:
        return self._settings.batch

    @property
    def capacity(self) -> int:
        return MOST_UNDER_WAY if self._settings.batch else 0

    def close(self) -> None:
        calls, self._calls = self._calls, None
        try:
            if calls is not None:
                self._thread.run(self._close_client(calls))
        finally:
            if calls is not None:
                calls.close()
            self._thread.close()

    def obstacle(self, asks: frozenset[str]) -> str | None:
        if self._endpoint.key is None and self._endpoint.official:
            return f"{self._name}: no key. Set {self.backend.upper()}_API_KEY, or name another server as base_url."
        if self._settings.batch and "score" in asks:
            return (
                f"{self._name}: batches only generate, but the method scores texts by their log-probabilities. Remove "
                "`batch: true`, or use a method that generates, such as multiple_choice_joint."
            )
        return None

    @abstractmethod
    def _connect(self, library: Any, calls: Calls) -> Any:
        """Return the library's client of the server; called in the event loop."""

    @abstractmethod
    async def _ask(self, request: Request) -> Response:
        """Return the response to one request.

        Raises:
            CannotAnswerError: This server cannot answer it.
            RequestFailedError: The server did not answer it.
        """

    async def _opened(self) -> Calls:
        if self._calls is None:
            library, account = self._library(), account_of(self._endpoint.url, self._endpoint.secrets)
            if (lacking := self.obstacle(frozenset())) is not None:
                raise ModelError(lacking)
            kind = BatchedCalls if self._settings.batch else Calls
            calls = kind(self._name, library, account, self._settings, self._spending, self._redact)
            try:
                self._client = self._connect(library, calls)
            except Exception:
                calls.close()
                raise
            self._calls = calls
        self._calls.resume()
        return self._calls

    def _library(self) -> ModuleType:
        try:
            return import_module(self.backend)
        except ImportError as error:
            advice = install_advice(self.backend)
            raise ModelError(f"{self._name}: the package {self.backend} is not installed: {advice}.") from error

    async def _begin_batches(self, calls: BatchedCalls) -> None:
        """Open the record of batches, unless it is open; counting tokens needs none."""
        if calls.connected:
            return
        if self._batches is None:
            raise ModelError(
                f"{self._name}: `batch: true` needs the response cache on a local disk, where it keeps the record "
                "of its batches. Run on one machine (no --executor ray or slurm), and with --cache-dir if the results "
                "are on a network file system."
            )
        interface = self._batch_interface(self._client, calls)
        ledger = BatchLedger(self._batches, self._account)
        calls.connect(interface, ledger, self._account, self._access(), self._redact_answer)

    def _access(self) -> Mapping[str, Any]:
        """Return how to reach the server again, without secrets."""
        settings = self._settings
        named = {"base_url": self._endpoint.url, "api_key_env": settings.api_key_env}
        return {"model": self._name, **named, "headers_env": settings.headers_env}

    def _batch_interface(self, client: Any, calls: Calls) -> BatchInterface:
        """Return the provider's batch interface."""
        raise ModelError(f"{self._name}: {self.backend} has no batch interface; remove `batch: true`.")

    def cancel_batches(self, ids: Iterable[str]) -> None:
        """Have the server cancel batches; what it has finished of them is kept, and costs money.

        Raises:
            ModelError: The server refuses, or does not answer.
        """

        async def cancel() -> None:
            calls = Calls(
                self._name,
                self._library(),
                account_of(self._endpoint.url, self._endpoint.secrets),
                *(self._settings, self._spending, self._redact),
            )
            client = self._connect(self._library(), calls)
            try:
                for id in ids:
                    await self._batch_interface(client, calls).cancel(id)
            except RequestFailedError as error:
                raise ModelError(str(error)) from error
            finally:
                calls.close()
                await client.close()

        self._thread.run(cancel())

    async def _close_client(self, calls: Calls) -> None:
        if isinstance(calls, BatchedCalls):
            await calls.disconnect()
        try:
            if self._client is not None:
                await self._client.close()
        finally:
            self._spending.close()

    async def _ask_with_room(self, request: GenerateRequest, first: Response) -> Response:
        """Ask again a model that turned out to reason, with the usual budget for it."""
        if not self._reasons:
            self._reasons = True
            _LOG.warning(
                "%s reasons before it answers, although its entry does not say so. Requests whose reasoning did not "
                "end are sent again with room for %s tokens of it. To send them only once, and to choose the budget, "
                "add `reasoning: {budget_tokens: %s}` to the model's entry.",
                *(self._name, f"{DEFAULT_BUDGET:,}", DEFAULT_BUDGET),
            )
        mark = next((one.unannounced_mark for one in first.completions if one.unannounced_mark), "")
        response = await self._ask(replace(request, reasoning=Reasoning()))
        return replace(
            response,
            completions=tuple(
                replace(one, unannounced_mark=mark if one.reasoning else "") for one in response.completions
            ),
        )

    async def _answered(self, request: Request) -> Response:
        try:
            if self._settings.batch and not isinstance(request, GenerateRequest):
                raise CannotAnswerError("batches can generate texts, but not score them; remove `batch: true`")
            response = await self._ask(request)
            if isinstance(request, GenerateRequest) and request.reasoning is None and _cut_short(response):
                response = await self._ask_with_room(request, response)
        except (CannotAnswerError, UnusableAnswerError) as error:
            return Response(error=f"{self._name}: {self._redact(str(error))}")
        except FilteredError as error:
            if not isinstance(request, GenerateRequest):
                raise
            declined = Completion("", tokens=0, finish_reason="content_filter", explanation=str(error))
            return Response((declined,) * request.completions, completion_tokens=0)
        redacted = without_secrets(response, self._redact_answer)
        if redacted != response and not self._warned:
            self._warned = True
            _LOG.warning(
                "%s: an answer repeats a key or a header that is sent with each request. It is stored with %s instead.",
                *(self._name, Redaction.placeholder),
            )
        return redacted


def _cut_short(response: Response) -> bool:
    """Return True if the model was still reasoning, which nobody had announced, when ``max_tokens`` or a stop came."""
    return any(completion.unfinished_reasoning for completion in response.completions)


def without_secrets(response: Response, redact: Redaction) -> Response:
    """Return the response without secrets; a completion that held one also loses the texts of its tokens."""
    completions = tuple(_redacted(completion, redact) for completion in response.completions)
    served = tuple(Served(_without(one.model, redact), _without(one.fingerprint, redact)) for one in response.served)
    if (completions, served) == (response.completions, response.served):
        return response
    return replace(response, completions=completions, served=served)


def _without(text: str | None, redact: Redaction) -> str | None:
    # Shortened after redaction, so that no part of a secret is left.
    return None if text is None else redact(text)[:_LONGEST_NAME]


def _redacted(completion: Completion, redact: Redaction) -> Completion:
    explanation, reasoning = redact(completion.explanation), redact(completion.reasoning)
    if (explanation, reasoning) != (completion.explanation, completion.reasoning):
        completion = replace(completion, explanation=explanation, reasoning=reasoning)
    text = redact(completion.text)
    spelled = "".join(max(position, key=position.__getitem__, default="") for position in completion.top_logprobs)
    if text == completion.text and redact(spelled) == spelled:
        return completion
    top = tuple(
        {f"{Redaction.placeholder} {rank}": logprob for rank, logprob in enumerate(position.values(), 1)}
        for position in completion.top_logprobs
    )
    return replace(completion, text=text, top_logprobs=top)


def _without_price(name: str, table: str | None) -> str:
    entry = f'"{name}": {{prompt: 1.00, completion: 2.00}}'
    if table is not None:
        how = f"Add to {table}, under models, the price of a million tokens each, such as {entry}"
    else:
        how = (
            "Set `prices` to a YAML file with the price of a million tokens of prompt and of completion, such as "
            f"{{currency: USD, models: {{{entry}}}}}"
        )
    return f"{name}: budget_money needs the model's price, which is unknown. {how}."
