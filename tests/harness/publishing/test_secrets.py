"""Secrets are found however a file spells them."""

from __future__ import annotations

import html
import json
from collections.abc import Callable

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from harness import HarnessError
from harness.output.markdown import escaped
from harness.publishing.secrets import SecretCheck

SECRET = 'a "quoted"\nlö<ng>\\secret & *value*'  # noqa: S105 - made up

SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "JSON": lambda text: json.dumps([text]),
    "JSON in UTF-8": lambda text: json.dumps([text], ensure_ascii=False),
    "JSON in JSON": lambda text: json.dumps([json.dumps([text])]),
    "JSON in a script": lambda text: json.dumps(json.dumps([text])).replace("<", "\\u003c"),
    "HTML": html.escape,
    "JSON in HTML": lambda text: html.escape(json.dumps([text])),
    "Markdown": escaped,
    "a table in Markdown": lambda text: escaped(text.replace("\n", " ")),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_secret_is_found_in_each_spelling(spelling: str) -> None:
    check = SecretCheck({"SOME_API_KEY": SECRET})
    with pytest.raises(HarnessError, match="here contains the value of the environment variable SOME_API_KEY"):
        check.check(f"before {SPELLINGS[spelling](SECRET)} after", "here")


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=12), st.sampled_from(sorted(SPELLINGS)))
def test_any_secret_is_found_in_each_spelling(secret: str, spelling: str) -> None:
    assume(len(secret.strip()) >= 12)
    with pytest.raises(HarnessError, match="SOME_API_KEY"):
        SecretCheck({"SOME_API_KEY": secret.strip()}).check(SPELLINGS[spelling](secret.strip()), "here")


def test_a_secret_is_found_over_several_lines_of_yaml() -> None:
    secret = "several words " * 20
    with pytest.raises(HarnessError, match="SOME_API_KEY"):
        SecretCheck({"SOME_API_KEY": secret}).check_yaml(yaml.safe_dump([{"notes": f"{secret} more"}]), "here")


def test_other_texts_are_no_secrets() -> None:
    SecretCheck({"SOME_API_KEY": SECRET, "PATH": "/usr/local/bin"}).check(json.dumps("/usr/local/bin lö"), "here")
