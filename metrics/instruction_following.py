"""Instructions that a program can check: does an answer have the form that its prompt asks for?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness import Estimate, Example, MetricError, RunMetric, metric
from harness.statistics import BOUNDED, PROPORTION, InstanceTable, mean_estimate, ratio_estimate
from metrics._instructions.checks import follows
from metrics._instructions.language import language_tools, require_language_detection

_PROMPT_STRICT, _PROMPT_LOOSE = "prompt_level_strict", "prompt_level_loose"
_INSTRUCTION_STRICT, _INSTRUCTION_LOOSE = "inst_level_strict", "inst_level_loose"
_HELM = "ifeval_strict_accuracy"
_MEANS = {_PROMPT_STRICT: PROPORTION, _PROMPT_LOOSE: PROPORTION, _HELM: BOUNDED}
_RATIOS = {_INSTRUCTION_STRICT: "strict", _INSTRUCTION_LOOSE: "loose"}


@metric(
    "instruction_following",
    title={
        "instruction_following": "Instruction following",
        "prompt_level_strict": "Prompts followed (strict)",
        "prompt_level_loose": "Prompts followed (loose)",
        "inst_level_strict": "Instructions followed (strict)",
        "inst_level_loose": "Instructions followed (loose)",
        "ifeval_strict_accuracy": "IFEval accuracy (strict)",
    },
    short={
        "prompt_level_strict": "Prompts (strict)",
        "prompt_level_loose": "Prompts (loose)",
        "inst_level_strict": "Instr. (strict)",
        "inst_level_loose": "Instr. (loose)",
        "ifeval_strict_accuracy": "IFEval",
    },
    category="accuracy",
    scale={_PROMPT_STRICT: "proportion", _PROMPT_LOOSE: "proportion", "*": "bounded"},
    gives=(_PROMPT_STRICT, _INSTRUCTION_STRICT, _PROMPT_LOOSE, _INSTRUCTION_LOOSE, _HELM),
    source="Zhou et al. 2023 (IFEval, arXiv:2311.07911), section 2.2; HELM, ifeval_metrics.py",
)
class InstructionFollowing(RunMetric):
    """IFEval's four accuracies: the shares of prompts and of instructions that answers follow, strictly and loosely.

    An instance lists its instructions in ``meta.instructions`` (``punctuation:no_comma``, 25 kinds) and their arguments
    in ``meta.arguments``, a mapping for each. ``prompt_level_strict`` is the share of prompts all of whose instructions
    are followed; ``inst_level_strict`` the number of instructions followed in all prompts divided by their number, with
    the interval of a ratio of sums. ``prompt_level_loose`` and ``inst_level_loose`` also accept an instruction that any
    of seven other versions of the answer follows: without its first line, without its last, without both, and these
    and the whole without ``*``. ``ifeval_strict_accuracy`` is HELM's figure, the mean over prompts of the share of
    instructions followed, which is neither of the paper's. An empty answer follows nothing. All lie between 0 and 1,
    and higher is better.

    The checks are those of the authors' program. It detects languages with langdetect at random, splits sentences with
    a model that nltk downloads, and counts a random letter where the prompt asks for "!" or "#". Here langdetect is
    seeded, Punkt uses a list of abbreviations that comes with the harness, so that a count of sentences can differ
    where a full stop is ambiguous, and the sign itself is counted. The details in run.json name both libraries, and the
    number of times that each kind of instruction was asked and followed.

    Raises:
        MetricError: langdetect is not installed.
    """

    def __init__(self) -> None:
        require_language_detection()
        self._table = InstanceTable()
        self._kinds: dict[str, dict[str, int]] = {}

    def add(self, example: Example) -> None:
        """Check an answer against the instructions of its instance.

        Raises:
            MetricError: The instance has no instructions, or one is unknown or has the wrong arguments.
        """
        instructions = _instructions(example.instance.meta)
        others = dict.fromkeys(_versions(example.prediction))
        strict = [follows(example.prediction, *instruction) for instruction in instructions]
        loose = [
            done or any(follows(text, *instruction) for text in others)
            for done, instruction in zip(strict, instructions, strict=True)
        ]
        row = self._table.row(example.instance.id)
        for name, value in {
            _PROMPT_STRICT: float(all(strict)),
            _PROMPT_LOOSE: float(all(loose)),
            _HELM: sum(strict) / len(strict),
            "strict": sum(strict),
            "loose": sum(loose),
            "instructions": len(instructions),
        }.items():
            self._table.add(row, name, value)
        for (kind, _), done, nearly in zip(instructions, strict, loose, strict=True):
            counts = self._kinds.setdefault(kind, {"asked": 0, "strict": 0, "loose": 0})
            for name, count in (("asked", 1), ("strict", done), ("loose", nearly)):
                counts[name] += count

    def estimates(self) -> Mapping[str, Estimate]:
        if not self._kinds:
            return {}
        asked = self._table.sums("instructions")
        return {
            **{name: mean_estimate(self._table.means(name), scale) for name, scale in _MEANS.items()},
            **{
                name: ratio_estimate(self._table.sums(column), asked, low=0.0, high=1.0)
                for name, column in _RATIOS.items()
            },
        }

    def instance_scores(self) -> Mapping[str, Mapping[str, float]]:
        return {name: self._table.by_instance(name) for name in _MEANS if name in self._table}

    def details(self) -> Mapping[str, Any]:
        return {**language_tools(), "instructions": dict(sorted(self._kinds.items()))}


def _instructions(meta: Mapping[str, Any]) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """Return the ids and arguments of an instance's instructions.

    Raises:
        MetricError: The instance does not have them, or not as many of each.
    """
    ids, arguments = meta.get("instructions"), meta.get("arguments")
    fits = isinstance(ids, list | tuple) and isinstance(arguments, list | tuple) and 0 < len(ids) == len(arguments)
    if not fits or not all(isinstance(each, Mapping) for each in arguments or ()):
        raise MetricError(
            "an instance needs meta.instructions, a list of ids such as punctuation:no_comma, and meta.arguments, a "
            "list with a mapping for each of them."
        )
    return list(zip(ids or (), arguments or (), strict=True))


def _versions(answer: str) -> Iterator[str]:
    """Yield the versions of an answer, other than itself, that the loose accuracies accept."""
    lines = answer.split("\n")
    cut = ["\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1])]
    yield from cut
    yield from (text.replace("*", "") for text in (answer, *cut))
