"""The cost of a run as its record gives it: requests, tokens, time, arithmetic, energy and money."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.costs.prices import Price
from harness.costs.runtimes import Runtimes
from harness.costs.usage import Usage


def costs(
    usage: Usage,
    description: Mapping[str, Any],
    price: Price | None = None,
    runtimes: Runtimes | None = None,
    energy: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """Return the cost of all requests of a run, by name, without unknown values.

    - Answers from the cache count at their original cost; ``cached_share`` is their share.
    - ``computed_tokens`` are the tokens that the model computed since the run was started: without answers from the
      cache, repeated requests, and prefixes that the model had already read for another request (a prefix cache), if it
      reports them. All other numbers cover all requests.
    - ``tokens_per_second`` is completion tokens by the model's seconds.
    - ``model_flops`` is 2 · parameters · tokens, of prompt and completion alike: a multiplication and an addition for
      each parameter and token, without the part of attention that grows with the context (Kaplan et al. 2020, section
      2.1).
    - ``reasoning_tokens`` is the part of the completion tokens that is reasoning, where it is known and not 0.
    - ``batched_queries`` is the number of requests that were asked through a batch interface, if there were any.
    - ``money`` is the price of the tokens, those of batches at their own price, in units of ``currency``;
      ``reasoning_money`` is the reasoning's part of it.
    - ``denoised_seconds`` and ``idealized_seconds`` are the latencies of all answers in sequence by a table of
      runtimes, including cached ones (Liang et al. 2022, section 4.9). Unlike HELM's, which are means over requests,
      they are totals; and the denoised runtime of a model that answers in batches comes from the table too.
    - ``energy_joules`` is the energy of this machine's processors during the run (``harness.costs.energy``), including
      scoring and other programs, but of the graphics cards where the model's replicas are, if that is elsewhere. Runs
      that share the model share it by the model's seconds. Cached answers use none.

    Args:
        usage: The run's requests, tokens and seconds.
        description: The model's own description; ``parameters`` is its number of parameters.
        price: The price of the model's tokens.
        runtimes: The latencies of the model's answers, from a table.
        energy: Joules by kind of processor.
    """
    known: dict[str, Any] = {
        "queries": usage.queries,
        "cached_queries": usage.cached,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "computed_tokens": usage.computed_tokens,
        "model_seconds": round(usage.model_seconds, 6),
    }
    if usage.reasoning_tokens:
        known["reasoning_tokens"] = usage.reasoning_tokens
    if usage.batched:
        known["batched_queries"] = usage.batched
    if usage.queries:
        known["cached_share"] = round(usage.cached / usage.queries, 6)
    if usage.model_seconds > 0.0:
        known["tokens_per_second"] = round(usage.completion_tokens / usage.model_seconds, 3)
    parameters = description.get("parameters")
    if isinstance(parameters, int) and parameters > 0:
        known["model_flops"] = 2 * parameters * (usage.prompt_tokens + usage.completion_tokens)
    if price is not None:
        prompt, completion, reasoning = usage.batched_tokens
        answers = usage.completion_tokens - usage.reasoning_tokens - (completion - reasoning)
        thoughts = usage.reasoning_tokens - reasoning
        in_batches = price.of_batches()
        money = price.of(usage.prompt_tokens - prompt, answers, thoughts)
        money += in_batches.of(prompt, completion - reasoning, reasoning)
        known["money"] = round(money, 6)
        if usage.reasoning_tokens:
            known["reasoning_money"] = round(price.of(0, 0, thoughts) + in_batches.of(0, 0, reasoning), 6)
        known["currency"] = price.currency
    if runtimes is not None and not usage.unknown_lengths:
        for name, runtime in (("denoised", runtimes.denoised), ("idealized", runtimes.idealized)):
            if runtime is not None:
                lengths = usage.lengths.items()
                seconds = sum(runtime.seconds(prompt, output) * times for (prompt, output), times in lengths)
                known[f"{name}_seconds"] = round(seconds, 6)
    if energy and usage.queries > usage.cached:
        known["energy_joules"] = dict(energy)
    return known
