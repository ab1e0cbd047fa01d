"""Addresses are harmless and tell names apart."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from harness.contracts.specs import Component
from harness.leaderboard.site.addresses import address, instance_key, model_address, run_address

NAMES = st.text(st.characters(), max_size=60)


@given(NAMES)
def test_an_address_is_one_harmless_part_of_a_path(name: str) -> None:
    found = address(name)
    assert re.fullmatch(r"[a-z0-9][a-z0-9.-]{0,60}", found)
    assert ".." not in found


@given(NAMES, NAMES)
def test_different_names_have_different_addresses(one: str, other: str) -> None:
    assert (address(one) == address(other)) == (one == other)


def test_what_can_be_read_stays_readable() -> None:
    assert address("MMLU: Anatomy!").startswith("mmlu-anatomy-")
    assert address("hf:Org/Model", "x") != address("hf:Org/Model", "y")
    assert run_address("a", "b") != run_address("b", "a")


def test_arguments_tell_models_apart() -> None:
    plain, half = Component(name="hf:org/m"), Component(name="hf:org/m", arguments={"dtype": "float16"})
    assert model_address(plain) != model_address(half)
    assert model_address(plain).startswith("m-")


@given(NAMES, st.integers(0, 3))
def test_an_instance_has_the_same_key_everywhere(name: str, trial: int) -> None:
    assert instance_key(name, trial) == instance_key(name, trial)
    assert instance_key(name, trial) != instance_key(name, trial + 1)
    assert re.fullmatch("[0-9a-f]{12}" + (f"[.]{trial}" if trial else ""), instance_key(name, trial))
