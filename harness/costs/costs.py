"""The cost of a run as its record gives it: requests, tokens, time, arithmetic, energy and money."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.costs.prices import Price
from harness.costs.runtimes import Runtime, Runtimes
from harness.costs.usage import Usage


def costs(
    usage: Usage,
    description: Mapping[str, Any],
    price: Price | None = None,
    runtimes: Runtimes | None = None,
    energy: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """Return what all requests of a run took, by name.

    Answers from the cache count with what they took when they were computed, except for ``cached_share``, the share of
    the requests that were answered from it. ``tokens_per_second`` is completion tokens by the model's seconds.
    ``model_flops`` is 2 · parameters · tokens, for prompt and completion alike: a multiplication and an addition for
    each parameter and token, without attention's part that grows with the context (Kaplan et al. 2020, section 2.1).
    ``money`` is what the tokens cost, in units of ``currency``.

    ``denoised_seconds`` and ``idealized_seconds`` are what all answers together would take by a table of runtimes, each
    by itself and one after the other, those from the cache included (Liang et al. 2022, section 4.9). Unlike in HELM,
    which gives the mean per request, they are totals, and the denoised runtime of a model that answers in
    batches is the table's, too, not its measured one: a measured one has the noise that the name denies.

    ``energy_joules`` is what this machine's processors used while the run was evaluated (``harness.costs.energy``), its
    scoring and whatever else ran on them included; where runs were asked together, its part by the model's seconds.
    Answers from the cache cost nothing in it, and a run in which nothing was asked has none. What is not known (no
    time, no parameters, no price, no counter) is left out.

    Args:
        usage: The run's requests, tokens and seconds.
        description: The model's own description; ``parameters`` is how many it has.
        price: The price of the model's tokens.
        runtimes: The latencies of the model's answers, from a table.
        energy: Joules by kind of processor.
    """
    known: dict[str, Any] = {
        "queries": usage.queries,
        "cached_queries": usage.cached,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "model_seconds": round(usage.model_seconds, 6),
    }
    if usage.queries:
        known["cached_share"] = round(usage.cached / usage.queries, 6)
    if usage.model_seconds > 0.0:
        known["tokens_per_second"] = round(usage.completion_tokens / usage.model_seconds, 3)
    parameters = description.get("parameters")
    if isinstance(parameters, int) and parameters > 0:
        known["model_flops"] = 2 * parameters * (usage.prompt_tokens + usage.completion_tokens)
    if price is not None:
        known["money"] = round(price.of(usage.prompt_tokens, usage.completion_tokens), 6)
        known["currency"] = price.currency
    if runtimes is not None and not usage.unknown_lengths:
        if runtimes.denoised is not None:
            known["denoised_seconds"] = round(_seconds(usage, runtimes.denoised), 6)
        if runtimes.idealized is not None:
            known["idealized_seconds"] = round(_seconds(usage, runtimes.idealized), 6)
    if energy and usage.queries > usage.cached:
        known["energy_joules"] = dict(energy)
    return known


def _seconds(usage: Usage, runtime: Runtime) -> float:
    return sum(runtime.seconds(prompt, output) * times for (prompt, output), times in usage.lengths.items())
