"""``harness contamination test`` for models without log-probabilities: what will be asked, and at what price."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from harness.errors import HarnessError
from harness.output.display import visible
from harness.output.terminal import say

if TYPE_CHECKING:
    from harness.contracts.specs import RunSpec
    from harness.plugins.registry import Registry
    from harness.runs.runner import Settings


def refuse_scoring_options(given: Mapping[str, object]) -> None:
    """Refuse options of the tests that need log-probabilities, where no model gives any.

    Args:
        given: The options' values by name; None for one that was not given.

    Raises:
        HarnessError: One was given.
    """
    named = [name for name, value in given.items() if value is not None]
    if named:
        raise HarnessError(
            f"{', '.join(named)}: only for models that return log-probabilities of a text, and none of these do."
        )


def announce(runs: Sequence[RunSpec], generating: Collection[str], registry: Registry, settings: Settings) -> None:
    """Say which models are tested by what they generate, with the largest number of calls and tokens, and the price."""
    from harness.contamination.sweep import largest_size
    from harness.runs.model_totals import model_totals

    sized = []
    for spec in runs:
        if spec.model.name in generating:
            with suppress(HarnessError):  # the run says why
                sized.append((spec, largest_size(spec, registry, settings.data_dir)))
    for total in model_totals(sized, settings.prices):
        size = total.size
        cost = "price unknown"
        if total.cost is not None and total.price is not None:
            cost = f"{total.cost:,.2f} {total.price.currency}"
        say(
            f"{visible(total.label)} returns no log-probabilities of a text, so it is tested on what it predicts, "
            f"token by token. At most {size.requests:,.0f} calls, about {size.prompt_tokens:,.0f} tokens read and "
            f"{size.max_completion_tokens:,.0f} written ({cost}); fewer if there is enough evidence earlier.",
            err=True,
        )
