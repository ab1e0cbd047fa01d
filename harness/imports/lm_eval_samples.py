"""Examples from lm-evaluation-harness's samples files, one for each document."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.contracts import (
    Completion,
    Example,
    GenerateRequest,
    Instance,
    Message,
    Origin,
    Prompt,
    Reference,
    Request,
    Response,
    ScoreRequest,
    Split,
)
from harness.errors import shown
from harness.imports.foreign_files import understood
from harness.imports.imported_run import Counterparts, Scored
from harness.imports.lm_eval_checks import SAMPLES_FILE

PREFIX = "lm-eval."

_ROUNDING = 1e-3
"""How far a log-probability may be above 0: sums of many tokens in half precision are not exact."""

_CHOICES = ("acc", "acc_norm", "acc_bytes")
"""Metrics of a choice, each with its own rule for which option is chosen."""


def read_samples(
    task: str,
    rows: Sequence[Mapping[str, Any]],
    config: Mapping[str, Any],
    known: Counterparts,
    file: Path,
    metric: str | None = None,
) -> list[Scored]:
    """Return one example for each document, joining the lines of several filters.

    Args:
        task: The task's name.
        rows: The lines.
        config: The task's config.
        known: Our metrics by name.
        file: The samples file.
        metric: The main metric that was asked for, whose rule determines the choice; None for the usual one.

    Raises:
        DataError: A line has an impossible value.
    """
    found: dict[str, Scored] = {}
    for number, row in enumerate(rows, 1):
        with understood(file, SAMPLES_FILE, number):
            one = read_line(task, row, config, metric)
        before = found.get(one.example.instance.id, one)
        found[one.example.instance.id] = Scored(before.example, {**before.scores, **one.scores})
    examples = list(found.values())
    if config.get("output_type") == "multiple_choice" and _no_ties(examples):
        return [Scored(one.example, _with_ours(one.scores, known)) for one in examples]
    return examples


def read_line(task: str, row: Mapping[str, Any], config: Mapping[str, Any], metric: str | None = None) -> Scored:
    """Return one line of a samples file, with the responses before the filter and the prediction after it.

    Raises:
        ValueError: It has an impossible value; KeyError, TypeError and IndexError likewise.
    """
    identifier = f"{task}-{row['doc_id']}"
    origin = Origin(identifier)
    asked = [tuple(item[key] for key in sorted(item)) for _, item in _numbered(row["arguments"])]
    requests: list[Request] = []
    responses: list[Response] = []
    for place, (arguments, answers) in enumerate(zip(asked, row["resps"], strict=False)):
        if config.get("output_type") == "generate_until":
            settings = arguments[1] if len(arguments) > 1 and isinstance(arguments[1], Mapping) else {}
            requests.append(_generate(_prompt(arguments[0]), settings, origin))
            responses.append(Response(tuple(Completion(str(answer)) for answer in answers)))
        else:
            context = "" if len(arguments) == 1 else _prompt(arguments[0])
            requests.append(ScoreRequest(context, str(arguments[-1]), origin=origin))
            # The sum is given, not the tokens' own log-probabilities.
            responses.append(Response(logprobs=(_logprob(answers, place),) if answers else None))
    options = [str(arguments[-1]) for arguments in asked] if config.get("output_type") == "multiple_choice" else []
    references = tuple(_references(options, str(row["target"])))
    filtered = row.get("filtered_resps") or [""]
    choice, choice_scores = _choice(options, responses, references, row, config, metric)
    example = Example(
        instance=Instance(
            id=identifier, input=_text(asked[0][0]), references=references, split=evaluated_split(config)
        ),
        requests=tuple(requests),
        responses=tuple(responses),
        prediction=options[choice] if choice is not None else "" if options else str(filtered[0]),
        choice=choice,
        choice_scores=choice_scores,
    )
    scores = {
        their_name(name, str(row.get("filter", "none"))): float(row[name])
        for name in row.get("metrics", ())
        if isinstance(row.get(name), int | float)
    }
    return Scored(example, scores)


def their_name(name: str, filtered: str) -> str:
    """Return the imported name of a metric."""
    return f"{PREFIX}{name}" if filtered == "none" else f"{PREFIX}{name},{filtered}"


def evaluated_split(config: Mapping[str, Any]) -> Split:
    """Return the evaluated split: the test split if there is one, as in lm-evaluation-harness."""
    return Split.TEST if config.get("test_split") else Split.VALID


def _choice(
    options: Sequence[str], responses: Sequence[Response], references: Sequence[Reference],
    row: Mapping[str, Any], config: Mapping[str, Any], metric: str | None,
) -> tuple[int | None, tuple[float, ...] | None]:  # fmt: skip
    """Return the option that a line's score is about, and the options' scores by that metric's rule.

    ``acc`` takes the likeliest option, ``acc_norm`` and ``acc_bytes`` divide by its length in characters or bytes. The
    choice stays unknown if the line's score contradicts it.
    """
    logprobs = [response.logprobs[0] for response in responses if response.logprobs]
    if not options or len(logprobs) != len(options):
        return None, None
    asked = (metric or "").removeprefix(PREFIX).partition(",")[0]
    rule = next((name for name in (asked, *_CHOICES) if name in _CHOICES and name in row), "acc")
    delimiter = str(config.get("target_delimiter") or " ")
    texts = [option.removeprefix(delimiter) for option in options]
    lengths = {
        "acc": [1] * len(texts),
        "acc_norm": [len(text) for text in texts],
        "acc_bytes": [len(text.encode("utf-8", "surrogatepass")) for text in texts],
    }[rule]
    scores = tuple(logprob / max(1, length) for logprob, length in zip(logprobs, lengths, strict=True))
    choice = max(range(len(scores)), key=scores.__getitem__)
    if row.get(rule) in (0, 1) and bool(row[rule]) != references[choice].correct:
        return None, scores
    return choice, scores


def _prompt(written: Any) -> Prompt:
    """Return a prompt; for models behind servers it is a conversation, whose JSON is the only item of a list."""
    if not isinstance(written, list) or len(written) != 1 or not str(written[0]).startswith("["):
        return str(written)
    return tuple(Message(turn["role"], str(turn["content"])) for turn in json.loads(written[0]))


def _text(written: Any) -> str:
    prompt = _prompt(written)
    return prompt if isinstance(prompt, str) else prompt[-1].content


def _numbered(arguments: Any) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the arguments of the requests, in order; older versions write a list of lists."""
    if isinstance(arguments, Mapping):
        return sorted(arguments.items(), key=lambda item: int(item[0].rpartition("_")[2]))
    return [(str(i), {f"arg_{j}": value for j, value in enumerate(each)}) for i, each in enumerate(arguments)]


def _references(options: Sequence[str], target: str) -> Iterator[Reference]:
    if not options:
        yield Reference(target, correct=True)
    # The target is an index, as in lm-evaluation-harness, or the option's text.
    by_index = target.isdecimal() and int(target) < len(options)
    for index, option in enumerate(options):
        yield Reference(option.strip(), correct=index == int(target) if by_index else option.strip() == target)


def _generate(prompt: Prompt, settings: Mapping[str, Any], origin: Origin) -> GenerateRequest:
    until = settings.get("until") or ()
    stop = (until,) if isinstance(until, str) else tuple(str(text) for text in until)
    temperature = float(settings.get("temperature") or 0.0) if settings.get("do_sample") else 0.0
    return GenerateRequest(prompt, int(settings.get("max_gen_toks") or 256), temperature, stop, origin=origin)


def _logprob(answers: Sequence[Any], place: int) -> float:
    """Return the log-likelihood in ``[["-1.5", "False"]]`` or, for a whole text, ``["-1.5"]``.

    Raises:
        ValueError: It is not a log-likelihood.
    """
    first = answers[0]
    written = first[0] if isinstance(first, list) and first else first
    try:
        value = float(written)
    except (TypeError, ValueError):
        value = math.nan
    if math.isnan(value) or value > _ROUNDING:
        raise ValueError(f"resps[{place}] must be a log-probability, at most 0, not {shown(written)}")
    return value


def _no_ties(examples: Sequence[Scored]) -> bool:
    """Return True if the likeliest option of every example is known to be the only one."""
    for one in examples:
        logprobs = sorted(response.logprobs[0] for response in one.example.responses if response.logprobs)
        if len(logprobs) > 1 and logprobs[-1] == logprobs[-2]:
            return False
    return True


def _with_ours(scores: Mapping[str, float], known: Counterparts) -> Mapping[str, float]:
    ours = {
        name: scores[f"{PREFIX}{theirs}"]
        for theirs, names in known.agreeing.items()
        if f"{PREFIX}{theirs}" in scores
        for name in names
    }
    return {**scores, **ours}
