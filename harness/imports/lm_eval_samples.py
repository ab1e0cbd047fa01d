"""Examples from lm-evaluation-harness's samples files, one for each document."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
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
from harness.imports.imported_run import Counterparts, Scored
from harness.imports.lm_eval_own import own_example, own_metric

PREFIX = "lm-eval."


def read_samples(
    task: str,
    rows: Iterable[Mapping[str, Any]],
    config: Mapping[str, Any],
    known: Counterparts,
    *,
    own: bool = False,
    main: bool = False,
) -> list[Scored]:
    """Return one example for each document, joining the lines of several filters.

    Args:
        task: The task's name.
        rows: The lines.
        config: The task's config.
        known: Our metrics by name.
        own: True if this harness wrote the lines.
        main: True if it wrote them for a run's main task.
    """
    found: dict[str, Scored] = {}
    for row in rows:
        one = _scored(task, row, config)
        if own:
            one = replace(one, example=own_example(one.example, row))
        if main:
            ours = {own_metric(name.removeprefix(PREFIX)): score for name, score in one.scores.items()}
            one = replace(one, scores={**one.scores, **ours})
        before = found.get(one.example.instance.id, one)
        found[one.example.instance.id] = Scored(before.example, {**before.scores, **one.scores})
    examples = list(found.values())
    if not main and config.get("output_type") == "multiple_choice" and _no_ties(examples):
        return [Scored(one.example, _with_ours(one.scores, known)) for one in examples]
    return examples


def their_name(name: str, filtered: str) -> str:
    """Return the imported name of a metric."""
    return f"{PREFIX}{name}" if filtered == "none" else f"{PREFIX}{name},{filtered}"


def evaluated_split(config: Mapping[str, Any]) -> Split:
    """Return the evaluated split: the test split if there is one, as in lm-evaluation-harness."""
    return Split.TEST if config.get("test_split") else Split.VALID


def _scored(task: str, row: Mapping[str, Any], config: Mapping[str, Any]) -> Scored:
    """Return one line of a samples file, with the responses before the filter and the prediction after it."""
    identifier = f"{task}-{row['doc_id']}"
    origin = Origin(identifier)
    asked = [tuple(item[key] for key in sorted(item)) for _, item in _numbered(row["arguments"])]
    requests: list[Request] = []
    responses: list[Response] = []
    for arguments, answers in zip(asked, row["resps"], strict=False):
        if config.get("output_type") == "generate_until":
            settings = arguments[1] if len(arguments) > 1 and isinstance(arguments[1], Mapping) else {}
            requests.append(_generate(_prompt(arguments[0]), settings, origin))
            responses.append(Response(tuple(Completion(str(answer)) for answer in answers)))
        else:
            context = "" if len(arguments) == 1 else _prompt(arguments[0])
            requests.append(ScoreRequest(context, str(arguments[-1]), origin=origin))
            # The sum is given, not the tokens' own log-probabilities.
            responses.append(Response(logprobs=(_logprob(answers),)))
    options = [str(arguments[-1]) for arguments in asked] if config.get("output_type") == "multiple_choice" else []
    choice_scores = tuple(_logprob(answers) for answers in row["resps"]) if options else None
    choice = None if not choice_scores else max(range(len(choice_scores)), key=choice_scores.__getitem__)
    filtered = row.get("filtered_resps") or [""]
    prediction = options[choice] if choice is not None else str(filtered[0])
    example = Example(
        instance=Instance(
            id=identifier,
            input=_text(asked[0][0]),
            references=tuple(_references(options, str(row["target"]))),
            split=evaluated_split(config),
        ),
        requests=tuple(requests),
        responses=tuple(responses),
        prediction=prediction,
        choice=choice,
        choice_scores=choice_scores,
    )
    scores = {
        their_name(name, str(row.get("filter", "none"))): float(row[name])
        for name in row.get("metrics", ())
        if isinstance(row.get(name), int | float)
    }
    return Scored(example, scores)


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


def _logprob(answers: Any) -> float:
    """Return the log-likelihood in ``[["-1.5", "False"]]`` or, for a whole text, ``["-1.5"]``."""
    first = answers[0]
    return float(first if isinstance(first, str | int | float) else first[0])


def _no_ties(examples: Sequence[Scored]) -> bool:
    return all(
        sorted(scores)[-1] > sorted(scores)[-2]
        for one in examples
        if (scores := one.example.choice_scores) is not None and len(scores) > 1
    )


def _with_ours(scores: Mapping[str, float], known: Counterparts) -> Mapping[str, float]:
    ours = {
        name: scores[f"{PREFIX}{theirs}"]
        for theirs, names in known.agreeing.items()
        if f"{PREFIX}{theirs}" in scores
        for name in names
    }
    return {**scores, **ours}
