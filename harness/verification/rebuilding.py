"""The questions of a run, made again from its spec, and compared with those that were asked."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from harness.contracts import Adapted, Tokenization
from harness.runs.evaluation import Evaluation
from harness.verification.recorded import Key, RecordedRun, numbered, question_of


@dataclass(slots=True)
class Rebuilt:
    """What the spec asks now, compared with what was recorded."""

    chosen: dict[Key, Adapted] = field(default_factory=dict)
    """The questions of the sample, as they are asked now."""
    count: int = 0
    """Number of questions that both have."""
    prompts: set[Key] = field(default_factory=set)
    """Questions whose requests changed; of conversations, whose first requests did."""
    instances: set[Key] = field(default_factory=set)
    """Questions whose instance has another input, other references or meta data."""
    missing: set[Key] = field(default_factory=set)
    """Recorded questions that are not asked any more."""
    added: int = 0
    """Number of questions that were not asked then."""


def rebuild(
    evaluation: Evaluation, tokenization: Tokenization, recorded: RecordedRun, chosen: Collection[Key]
) -> Rebuilt:
    """Make all questions of a run again, without asking any.

    Where the method waits for answers before it goes on, it gets the recorded ones.

    Args:
        evaluation: The run with its data.
        tokenization: The run's model.
        recorded: What was asked.
        chosen: The questions to keep.

    Raises:
        HarnessError: The settings do not fit the data or the model any more.
    """
    found, kept = Rebuilt(), frozenset(chosen)
    waits = evaluation.adapter.keeps_order
    answers = recorded.examples(list(recorded.questions)) if waits else {}
    seen: set[Key] = set()
    for key, adapted in numbered(evaluation.adapted(tokenization)):
        before = recorded.questions.get(key)
        if before is None:
            found.added += 1
            if adapted.awaited:
                break  # what follows depends on an answer that nobody has
            continue
        seen.add(key)
        now = question_of(adapted)
        if now.requests != before.requests[: len(now.requests)] or (
            not evaluation.converses and len(now.requests) != len(before.requests)
        ):
            found.prompts.add(key)
        if now.instance != before.instance:
            found.instances.add(key)
        if key in kept:
            found.chosen[key] = adapted
        if waits and answers.get(key) and not before.failed:
            evaluation.adapter.predict(adapted, answers[key][0][0].responses)
    found.count = len(seen)
    found.missing = recorded.questions.keys() - seen
    return found


def changed_parts(rebuilt: Rebuilt) -> Mapping[str, Collection[Key]]:
    """Return the questions whose prompt or instance changed, by the word for it."""
    return {"prompt": rebuilt.prompts, "instance": rebuilt.instances}
