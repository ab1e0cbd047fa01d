"""What backends that ask a server over the network have in common: their pace, their budget, their thread."""

from __future__ import annotations

import logging
import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

from harness import (
    Completion,
    GenerateRequest,
    Ledger,
    Model,
    ModelError,
    Redaction,
    Request,
    Response,
    Served,
    load_prices,
)
from harness.models.api.account import account_of
from harness.models.api.calls import Calls, FilteredError, Pace
from harness.models.api.credentials import Endpoint
from harness.models.api.event_loop import LoopThread, stream
from harness.models.api.failures import CannotAnswerError, UnusableAnswerError
from harness.models.api.spending import Spending

_NAME = 200
"""Most characters of a served model's name that are kept."""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be spent, as the user wrote it: tokens, money, and a table of prices beside the harness's."""

    tokens: int | None = None
    money: float | None = None
    prices: str | None = None


class ApiModel(Model):
    """A model behind a server, asked many questions at once.

    Args:
        name: ``backend:identifier``.
        endpoint: The server, and what opens it.
        pace: How calls are made.
        budget: What may be spent.

    Raises:
        ModelError: A number is out of range, or a budget in money has no price to go by.
    """

    operational = frozenset(
        {
            *("max_concurrency", "requests_per_minute", "tokens_per_minute", "budget_tokens", "budget_money", "prices"),
            *("timeout", "max_retries", "retry_delay", "api_key_env", "headers_env"),
        }
    )

    def __init__(self, name: str, endpoint: Endpoint, pace: Pace, budget: Budget) -> None:
        self._name = name
        self._endpoint = endpoint
        self._pace = pace
        self._redact = Redaction(endpoint.secrets)
        self._redact_answer = Redaction(endpoint.secrets, words=False)
        self._warned = False
        self._check(budget)
        price = load_prices(Path(budget.prices) if budget.prices else None).price(name)
        if budget.money is not None and price is None:
            raise ModelError(_without_price(name, budget.prices))
        self._spending = Spending(budget.tokens, budget.money, price, account=f"{name} at {endpoint.url}")
        self._thread = LoopThread()
        self._calls: Calls | None = None

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Response]]:
        if not requests:
            return
        calls = self._thread.run(self._opened())
        yield from stream(self._thread, requests, self._answered, lambda: calls.at_once + 2)

    def keep_spending(self, ledger: Ledger) -> None:
        self._spending.keep(ledger)

    def close(self) -> None:
        calls, self._calls = self._calls, None
        try:
            if calls is not None:
                self._thread.run(self._close_all())
        finally:
            if calls is not None:
                calls.close()
            self._thread.close()

    async def _close_all(self) -> None:
        try:
            await self._close_client()
        finally:
            self._spending.close()

    async def _opened(self) -> Calls:
        if self._calls is None:
            library, account = self._library(), account_of(self._endpoint.url, self._endpoint.secrets)
            calls = Calls(self._name, library, account, self._pace, self._spending, self._redact)
            try:
                self._open(calls)
            except Exception:
                calls.close()
                raise
            self._calls = calls
        self._calls.resume()
        return self._calls

    async def _answered(self, request: Request) -> Response:
        try:
            response = await self._ask(request)
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
                "%s: an answer repeats a key or a header that is sent with each request. It is kept with %s instead.",
                *(self._name, Redaction.placeholder),
            )
        return redacted

    @abstractmethod
    def _library(self) -> ModuleType:
        """Return the client.

        Raises:
            ModelError: It is not installed.
        """

    @abstractmethod
    def _open(self, calls: Calls) -> None:
        """Connect; runs in the loop."""

    @abstractmethod
    async def _close_client(self) -> None:
        """Disconnect."""

    @abstractmethod
    async def _ask(self, request: Request) -> Response:
        """Return one request's answer."""

    def _check(self, budget: Budget) -> None:
        pace, limits = self._pace, self._pace.limits
        least: Mapping[str, tuple[float | None, float]] = {
            "max_concurrency": (limits.max_concurrency, 1),
            "requests_per_minute": (limits.requests_per_minute, 1),
            "tokens_per_minute": (limits.tokens_per_minute, 1),
            "max_retries": (pace.max_retries, 0),
            "retry_delay": (pace.retry_delay, 0),
            "timeout": (pace.timeout, 0.001),
            "budget_tokens": (budget.tokens, 1),
            "budget_money": (budget.money, 0),
        }
        for key, (value, bound) in least.items():
            if value is not None and not (math.isfinite(value) and value >= bound):
                raise ModelError(f"{self._name}: {key} is {value:g}; it must be a number of at least {bound:g}.")


def without_secrets(response: Response, redact: Redaction) -> Response:
    """Return a response whose texts hold no secret; where a completion did, its tokens' texts are removed as well."""
    completions = tuple(_redacted(completion, redact) for completion in response.completions)
    served = tuple(Served(_without(one.model, redact), _without(one.fingerprint, redact)) for one in response.served)
    if (completions, served) == (response.completions, response.served):
        return response
    return replace(response, completions=completions, served=served)


def _without(text: str | None, redact: Redaction) -> str | None:
    # Cut when the secrets are out, so that no part of one is left.
    return None if text is None else redact(text)[:_NAME]


def _redacted(completion: Completion, redact: Redaction) -> Completion:
    text, explanation = redact(completion.text), redact(completion.explanation)
    spelled = "".join(max(position, key=position.__getitem__, default="") for position in completion.top_logprobs)
    if text == completion.text and redact(spelled) == spelled:
        return completion if explanation == completion.explanation else replace(completion, explanation=explanation)
    top = tuple(
        {f"{Redaction.placeholder} {rank}": logprob for rank, logprob in enumerate(position.values(), 1)}
        for position in completion.top_logprobs
    )
    return replace(completion, text=text, top_logprobs=top, explanation=explanation)


def _without_price(name: str, table: str | None) -> str:
    entry = f'"{name}": {{prompt: 1.00, completion: 2.00}}'
    if table is not None:
        how = f"Add to {table}, under models, what a million tokens of prompt and of completion cost, such as {entry}"
    else:
        how = (
            "Name a YAML file as `prices`, beside budget_money, that says what a million tokens of prompt and of "
            f"completion cost, such as {{currency: USD, models: {{{entry}}}}}"
        )
    return f"{name}: budget_money needs the model's price, which is in no table. {how}."


def estimated_tokens(text: str) -> int:
    """Return about how many tokens a text is: four characters of ASCII each, as in English, or one other character."""
    ascii_ = sum(character.isascii() for character in text)
    return ascii_ // 4 + len(text) - ascii_ + 1
