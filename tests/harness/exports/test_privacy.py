"""What leaves this machine names no folder of it and holds no key; everything else is kept."""

from __future__ import annotations

import pytest

from harness.exports.privacy import public, public_text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("hf:/home/ada/models/run-3", "hf:run-3"),
        ("/home/ada/x.jsonl", "x.jsonl"),
        ("file:///home/ada/x.jsonl", "x.jsonl"),
        ("path=/scratch/ada/quiz,split=test", "path=quiz,split=test"),
        ("~/checkpoints/a", "a"),
        ("~ada/checkpoints/a/", "a"),
        (r"C:\Users\ada\x.jsonl", "x.jsonl"),
        ("hf:C:/Users/ada/model", "hf:model"),
        (r"\\server\share\x.jsonl", "x.jsonl"),
        ("'/home/ada/a' and '/home/ada/b'", "'a' and 'b'"),
        ("key sk-abcdef0123456789", "key [key]"),
        # what is not a folder of this machine
        ("hf:openai-community/gpt2", "hf:openai-community/gpt2"),
        ("https://example.org/a/b.json", "https://example.org/a/b.json"),
        ("data/quiz/test.jsonl", "data/quiz/test.jsonl"),
        ("yes/no and 1/2/3", "yes/no and 1/2/3"),
        ("answer with /yes", "answer with /yes"),
        ("../models/a", "../models/a"),
    ],
)
def test_absolute_paths_are_cut_to_their_last_part(text: str, kept: str) -> None:
    assert public_text(text) == kept


def test_every_text_of_a_value_is_cut() -> None:
    assert public({"/a/b": ["/c/d", 1, None, ("/e/f",)], "n": {"x": "/g/h"}}) == {
        "b": ["d", 1, None, ["f"]],
        "n": {"x": "h"},
    }
