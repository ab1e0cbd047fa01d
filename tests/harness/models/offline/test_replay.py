"""Replayed predictions: what a file may say, what comes back, and what is said when it is wrong."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness import GenerateRequest, Message, ModelError, Origin, Reasoning, Response, ScoreRequest, SequenceRequest
from harness.contracts import Request
from harness.inference.caching_model import CachingModel
from harness.models.offline.replay import ReplayModel


def write(folder: Path, *lines: dict[str, Any] | str) -> str:
    path = folder / "predictions.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return str(path)


def ask(path: str, *requests: Request) -> list[Response]:
    return [response for _, response in sorted(ReplayModel(path).answer(requests), key=lambda pair: pair[0])]


def generate(**origin: Any) -> GenerateRequest:
    return GenerateRequest("ignored", max_tokens=5, origin=Origin(**origin))


def score(**origin: Any) -> ScoreRequest:
    return ScoreRequest("ignored", "ignored", origin=Origin(**origin))


def test_predictions_are_found_by_origin(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        {"id": "a", "text": "plain"},
        {"id": "a", "text": "typos", "perturbation": "typos"},
        "",
        {"id": "b", "text": "any trial"},
        {"id": "b", "text": "second trial", "trial": 1},
        {"id": "c", "completions": ["one", {"text": "two", "logprob": -2.5}]},
        {"id": "d", "text": "sure", "logprob": -0.5},
    )
    responses = ask(
        path,
        generate(instance="a"),
        generate(instance="a", perturbation="typos"),
        generate(instance="b", trial=0),
        generate(instance="b", trial=1),
        GenerateRequest((Message("user", "hi"),), max_tokens=1, completions=2, origin=Origin("c")),
        generate(instance="d"),
    )
    assert [[c.text for c in response.completions] for response in responses] == [
        ["plain"],
        ["typos"],
        ["any trial"],
        ["second trial"],
        ["one", "two"],
        ["sure"],
    ]
    assert [c.logprob for c in responses[4].completions] == [None, -2.5]
    assert responses[5].completions[0].logprob == -0.5


def test_a_line_says_why_there_is_no_answer(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        {"id": "a", "finish_reason": "refusal"},
        {"id": "b", "text": "half of it", "finish_reason": "content_filter"},
        {"id": "c", "completions": ["one", {"text": "", "finish_reason": "tool_call"}]},
        {"id": "d", "text": "", "finish_reason": "stop"},
    )
    two = GenerateRequest("", max_tokens=1, completions=2, origin=Origin("c"))
    responses = ask(path, generate(instance="a"), generate(instance="b"), two, generate(instance="d"))
    assert [response.declined for response in responses] == ["refusal", "content_filter", "tool_call", None]
    assert [response.completions[0].text for response in responses] == ["", "half of it", "one", ""]


def test_reasoning_is_given_apart_or_found_by_its_marks(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        {"id": "a", "text": "Yes", "reasoning": "Let me see."},
        {"id": "b", "finish_reason": "unfinished_reasoning", "reasoning": "Let me"},
        {"id": "c", "completions": [{"text": "Yes", "reasoning": "Hm"}, "<think>Hm</think>Yes"]},
        {"id": "d", "text": "<think>Let me"},
        {"id": "e", "text": "[[Hm]] Yes"},
    )
    two = GenerateRequest("", max_tokens=1, completions=2, origin=Origin("c"))
    named = replace(generate(instance="e"), reasoning=Reasoning(open="[[", close="]]"))
    asked = [generate(instance="a"), generate(instance="b"), two, generate(instance="d"), named]
    responses = CachingModel(ReplayModel(str(path)), "replay:x", None).ask(asked)
    found = [one for response in responses for one in response.completions]
    assert [(one.text, one.reasoning, one.unannounced_mark) for one in found] == [
        ("Yes", "Let me see.", ""),
        ("", "Let me", ""),
        ("Yes", "Hm", ""),
        ("Yes", "Hm", "<think>"),
        ("", "Let me", "<think>"),
        ("Yes", "Hm", ""),
    ]
    assert [one.unfinished_reasoning for one in found] == [False, True, False, False, True, False]


def test_scores_are_totals_by_reference(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        {"id": "a", "choice_logprobs": [-1, -2.5], "calibration_logprobs": [-3, -4]},
        {"id": "b", "text": "whole text", "logprob": -99.0},
    )
    responses = ask(
        path,
        score(instance="a", reference=1),
        score(instance="a", reference=0, role="calibration"),
        score(instance="b"),
    )
    assert [response.logprobs for response in responses] == [(-2.5,), (-3.0,), (-99.0,)]


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (generate(instance="zz"), "no prediction for id 'zz'"),
        (generate(instance="a", perturbation="typos"), "perturbation 'typos'"),
        (generate(instance="scores"), "no text for id 'scores'"),
        (GenerateRequest("", max_tokens=1, origin=Origin("a", turn=1)), "turns[1]"),
        (GenerateRequest("", max_tokens=1, completions=3, origin=Origin("a")), "3 completions (it has 1)"),
        (score(instance="a", reference=0), "choice_logprobs[0]"),
        (score(instance="scores", reference=2), "choice_logprobs[2]"),
        (score(instance="scores", reference=0, role="calibration"), "calibration_logprobs[0]"),
        (score(instance="a"), "no logprob"),
        (score(instance="scores", reference=0, role="judge"), "'judge'"),
        (SequenceRequest(("x",), (0,), origin=Origin("a")), "another order"),
        (GenerateRequest("", max_tokens=1), "names none"),
    ],
)
def test_what_is_missing_is_that_response_s_error(tmp_path: Path, request_: Request, says: str) -> None:
    path = write(tmp_path, {"id": "a", "text": "x"}, {"id": "scores", "choice_logprobs": [-1, -2]})
    [response] = ask(path, request_)
    assert response.error is not None
    assert says in response.error
    assert not response.completions
    assert response.logprobs is None


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"id": "b", "text": "cut', "not valid JSON"),
        ("[1]", "must be an object"),
        ({"id": "b", "choice_logprobs": [0, 0.0, [0, 0]]}, "'choice_logprobs' are all 0"),
        ({"id": "b", "text": "x", "finish_reason": "sulking"}, "'finish_reason' must be one of stop, length"),
        ({"id": "b", "finish_reason": "stop"}, "has no 'text'"),
        ({"id": "b", "text": "x", "reasoning": ["y"]}, "'reasoning' must be a string"),
        ({"id": "b", "text": "x", "finish_reason": "unfinished_reasoning"}, "so there can be no 'text'"),
        ({"id": "b", "completions": ["x"], "reasoning": "y"}, "into each completion"),
        ({"id": "b", "completions": ["x"], "finish_reason": "stop"}, "into each completion"),
        ({"text": "x"}, "'id' must be"),
        ({"id": 3, "text": "x"}, "'id' must be the instance's id, a string, not 3"),
        ({"id": "b"}, "no 'text'"),
        ({"id": "b", "text": 3}, "'text' must be a string"),
        ({"id": "b", "text": "x", "completion": "y"}, "'completion' is not a key"),
        ({"id": "b", "text": "x", "completions": ["y"]}, "both"),
        ({"id": "b", "completions": []}, "at least one"),
        ({"id": "b", "turns": []}, "'turns' must be a list of texts"),
        ({"id": "b", "turns": "x"}, "'turns' must be a list of texts"),
        ({"id": "b", "turns": ["x", 3]}, "'turns' must be a list of texts"),
        ({"id": "b", "turns": ["x"], "text": "y"}, "has both 'turns' and 'text'"),
        ({"id": "b", "completions": [3]}, "a completion must be"),
        ({"id": "b", "completions": ["x"], "logprob": -1}, "into each completion"),
        ({"id": "b", "text": "x", "logprob": 0.5}, "at most 0"),
        ({"id": "b", "text": "x", "logprob": True}, "at most 0"),
        ('{"id": "b", "text": "x", "logprob": NaN}', "not a finite number"),
        ({"id": "b", "choice_logprobs": -1}, "one number for each reference"),
        ({"id": "b", "text": "x", "trial": "0"}, "whole number"),
        ({"id": "b", "text": "x", "perturbation": 1}, "perturbation's name"),
        ({"id": "a", "text": "again"}, "appears twice"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, line: dict[str, Any] | str, says: str) -> None:
    path = write(tmp_path, {"id": "a", "text": "x"}, line)
    with pytest.raises(ModelError) as caught:
        ask(path, generate(instance="a"))
    assert f"{path}:2: " in str(caught.value)
    assert says in str(caught.value)


def test_a_missing_file_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such file"):
        ReplayModel(str(tmp_path / "nothing.jsonl"))


def test_gzip_is_read_and_other_bytes_are_not(tmp_path: Path) -> None:
    packed = tmp_path / "p.jsonl.gz"
    packed.write_bytes(gzip.compress(b'{"id": "a", "text": "zip"}\n'))
    assert ask(str(packed), generate(instance="a"))[0].completions[0].text == "zip"
    packed.write_bytes(b"plain")
    with pytest.raises(ModelError, match="cannot be read"):
        ask(str(packed), generate(instance="a"))
    latin = tmp_path / "latin.jsonl"
    latin.write_bytes(b'{"id": "a", "text": "\xe9"}\n')
    with pytest.raises(ModelError, match="UTF-8"):
        ask(str(latin), generate(instance="a"))


def test_the_fingerprint_is_of_the_contents(tmp_path: Path) -> None:
    path = write(tmp_path, {"id": "a", "text": "x"})
    first = ReplayModel(path).fingerprint()
    assert ReplayModel(path).fingerprint() == first
    write(tmp_path, {"id": "a", "text": "y"})
    assert ReplayModel(path).fingerprint() != first


def test_it_answers_both_and_is_not_cached() -> None:
    assert ReplayModel.answers == {"generate", "score"}
    assert not ReplayModel.cacheable


def test_lists_hold_the_log_probabilities_of_tokens(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        {"id": "a", "choice_logprobs": [[-1, -2.5], -4], "calibration_logprobs": [[-0.5], [-1, -1]]},
        {"id": "b", "logprob": [-0.25, -0.5]},
        {"id": "c", "text": "two tokens", "logprob": [-0.25, -0.5]},
    )
    scored = ask(
        path,
        score(instance="a", reference=0),
        score(instance="a", reference=1),
        score(instance="a", reference=1, role="calibration"),
        score(instance="b"),
    )
    assert [response.logprobs for response in scored] == [(-1.0, -2.5), (-4.0,), (-1.0, -1.0), (-0.25, -0.5)]
    (said,) = ask(path, generate(instance="c"))
    assert said.completions[0].logprob == -0.75


@pytest.mark.parametrize("wrong", [[], [-1, "x"], [0.5], [[-1]]])
def test_lists_of_anything_else_are_refused(tmp_path: Path, wrong: list[Any]) -> None:
    path = write(tmp_path, {"id": "a", "choice_logprobs": [wrong]})
    with pytest.raises(ModelError, match=r":1: 'choice_logprobs'"):
        ask(path, score(instance="a", reference=0))


def test_ids_of_several_scenarios_are_told_apart(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        {"id": "test-1", "text": "any subject", "scenario": "mmlu"},
        {"id": "test-1", "text": "anatomy", "scenario": "mmlu:subject=anatomy"},
        {"id": "test-1", "text": "boolq", "scenario": "boolq"},
    )
    asked = [generate(instance="test-1", scenario=name) for name in ("mmlu:subject=anatomy", "mmlu:subject=x", "boolq")]
    texts = [response.completions[0].text for response in ask(path, *asked)]
    assert texts == ["anatomy", "any subject", "boolq"]
    (missing,) = ask(path, generate(instance="test-1", scenario="imdb"))
    assert "has no prediction for id 'test-1' of imdb, trial 0." in str(missing.error)


def test_lines_without_a_scenario_serve_one_scenario_only(tmp_path: Path) -> None:
    path = write(tmp_path, {"id": "test-1", "text": "yes"})
    first, second = ask(
        path, generate(instance="test-1", scenario="boolq"), generate(instance="test-1", scenario="imdb")
    )
    assert first.completions[0].text == "yes"
    assert 'Add "scenario": "imdb" to the lines that are for it' in str(second.error)
