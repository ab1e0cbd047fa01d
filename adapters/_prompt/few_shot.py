"""Few-shot examples: which train instances a prompt shows.

By default, all evaluation instances of a train trial share one set of examples, except those that are in it: they get
a set drawn from the other train instances. A sampled set depends only on the run's seed, the trial and the train
instances as a set, not on the order of the data or of the evaluation, its limit or the worker. ``drawn_examples``
instead draws for each instance, as lm-evaluation-harness does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from random import Random

from adapters._prompt.prompt_policy import PromptPolicy
from harness import HarnessError, Instance, derive_rng

Label = str | int | None
"""The label by which examples are balanced; None for an instance without one."""


def correct_text(instance: Instance) -> Label:
    """Return the label of an instance with a written answer: the text of its first correct reference."""
    return next((reference.text for reference in instance.references if reference.correct), None)


def correct_position(instance: Instance) -> Label:
    """Return the label of a multiple-choice instance: the position of its first correct reference.

    HELM uses the reference's text, which differs in nearly every question and so balances nothing.
    """
    return next((index for index, reference in enumerate(instance.references) if reference.correct), None)


def same_question(example: Instance, instance: Instance) -> bool:
    """Return True if showing one instance gives away the other: they are the same, or equal under different ids.

    Instances are equal if their inputs are, apart from surrounding whitespace, and if they share a reference or one of
    them has none: "Which of these is true?" with other options is another question.
    """
    if (example.id, example.split) == (instance.id, instance.split):
        return True
    if example.input.strip() != instance.input.strip():
        return False
    texts = {reference.text.strip() for reference in example.references}
    return not texts or not instance.references or any(one.text.strip() in texts for one in instance.references)


def select_examples(
    train: Sequence[Instance], policy: PromptPolicy, *, label: Callable[[Instance], Label], trial: int, seed: int
) -> tuple[Instance, ...]:
    """Return the train instances that the prompts of a trial show, in order.

    Examples are sampled round by round: one random instance of each label, the most frequent label first and ties in
    random order, until there are enough (HELM, Liang et al. 2022, section 7). Instances without a label fill the rest.
    If there are fewer train instances than requested, all are shown.

    Raises:
        HarnessError: There are no train instances to show.
    """
    count = policy.max_train_instances
    if count == 0:
        return ()
    if not train:
        raise _no_train_instances(count)
    if not policy.sample_train:
        return _in_order(train, count, trial)

    rng = derive_rng(seed, f"few-shot/trial={trial}")
    pools: dict[Label, list[Instance]] = defaultdict(list)
    for instance in sorted(train, key=lambda instance: instance.id):
        pools[label(instance)].append(instance)
    unlabelled = pools.pop(None, [])
    order = sorted(pools, key=str)
    rng.shuffle(order)
    order.sort(key=lambda label: -len(pools[label]))  # stable: equally frequent labels stay shuffled

    chosen: list[Instance] = []
    while order and len(chosen) < count:
        for pool in [pools[label] for label in order][: count - len(chosen)]:
            chosen.append(pool.pop(rng.randrange(len(pool))))
        order = [label for label in order if pools[label]]
    chosen += rng.sample(unlabelled, min(count - len(chosen), len(unlabelled)))
    return tuple(chosen)


LM_EVAL_SEED = 1234
"""The seed of few-shot examples in lm-evaluation-harness (``--seed``, the last of its values)."""


def drawn_examples(
    train: Sequence[Instance], policy: PromptPolicy, instances: Iterable[Instance], *, trial: int, seed: int
) -> Iterator[tuple[Instance, tuple[Instance, ...]]]:
    """Yield each evaluation instance with the examples that lm-evaluation-harness 0.4.13 shows with it.

    One generator draws for one instance after the other, so that the examples depend on the order of the evaluation and
    on the number of train instances. Perturbed copies show the examples of their original.

    Raises:
        HarnessError: There are fewer train instances than are drawn.
    """
    count, excluding = policy.max_train_instances, policy.example_selection == "lm_eval_excluding"
    drawn = count + (excluding and policy.sample_train)
    if not train:
        raise _no_train_instances(count)
    if len(train) < drawn:
        more = f", and example_selection: {policy.example_selection} draws one more" if drawn > count else ""
        only = "instance" if len(train) == 1 else "instances"
        raise HarnessError(
            f"max_train_instances is {count}{more}, but the scenario has only {len(train)} train {only}. "
            "Set a smaller max_train_instances."
        )
    rng = Random(LM_EVAL_SEED + seed + trial)  # noqa: S311 - draws what lm-evaluation-harness draws
    chosen: tuple[Instance, ...] = ()
    last: str | None = None
    for instance in instances:
        if instance.perturbation is None or instance.id != last:
            last = instance.id
            pool = rng.sample(train, drawn) if policy.sample_train else train
            others = (one for one in pool if not excluding or not same_question(one, instance))
            chosen = tuple(islice(others, count))
        yield instance, chosen


def _no_train_instances(count: int) -> HarnessError:
    return HarnessError(
        f"max_train_instances is {count}, but the scenario has no train instances. Set max_train_instances: 0."
    )


def _in_order(train: Sequence[Instance], count: int, trial: int) -> tuple[Instance, ...]:
    size = min(count, len(train))
    chosen = tuple(train[size * trial : size * (trial + 1)])
    if not chosen:
        raise HarnessError(
            f"train trial {trial + 1} has no examples: with sample_train: false each trial takes the next {size} of "
            f"{len(train)} train instances. Set fewer train_trials or max_train_instances, or sample_train: true."
        )
    return chosen
