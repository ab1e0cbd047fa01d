"""Changes to how a few-shot prompt is written that leave its task as it is, for runs over several prompts.

The kinds of changes to separators, case and labels of options are those of FormatSpread (Sclar et al. 2024,
arXiv:2310.11324, section 3.1), those of instructions paraphrase as in Mizrahi et al. 2024 (arXiv:2401.00595).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from string import ascii_lowercase, ascii_uppercase
from typing import Any

from adapters._prompt.prompt_policy import PromptPolicy
from harness import PromptChange

_AFFIX = re.compile(r"(?P<before>\s*)(?P<noun>[^\W\d_][^\W_]*(?: [^\W_]+){0,2})(?P<separator>: ?)")
"""An affix of a noun and a colon, such as ``Question: ``."""

_SEPARATORS = {"a colon between spaces": " :", "a hyphen": " -", "two colons": "::", "an arrow": " ->"}

_LABELS: Mapping[str, Sequence[str]] = {
    "A, B, C": tuple(ascii_uppercase),
    "a, b, c": tuple(ascii_lowercase),
    "1, 2, 3": tuple(map(str, range(1, 27))),
    "P, Q, R": (*ascii_uppercase[15:], *ascii_uppercase[:15]),
}
_FORMATS = {"A.": ("", "."), "A)": ("", ")"), "(A)": ("(", ")"), "[A]": ("[", "]"), "A:": ("", ":")}
_PREFIX = re.compile(r"(?P<before>\s*)(?P<opening>[(\[]?)(?P<label>[^\W_])(?P<closing>[.):\]])(?P<after>\s*)")
_LISTED = re.compile(r"(?:^|[\s(\[\"'])[A-Ea-e1-5P][)\].\"']?(?:\s*[,/]|\s+(?:or|and|to|through)\b)")
_SHUFFLES = 4
_LABEL_TOKENS = 3
"""Tokens that a label other than a capital letter may need: some tokenizers have none of a space and a digit."""


def changes_of_text(policy: PromptPolicy) -> Mapping[str, Sequence[PromptChange]]:
    """Return the changes of instructions, case, separators and spacing that fit a policy."""
    kinds = {
        "instructions": list(_instructions(policy)),
        "case": list(_case(policy)),
        "separators": list(_separators(policy)),
        "spacing": list(_spacing(policy)),
    }
    return {kind: changes for kind, changes in kinds.items() if changes}


def changes_of_options(policy: Any) -> Mapping[str, Sequence[PromptChange]]:
    """Return the changes of the options' order, labels and format that fit a policy of lettered options.

    Labels and format stay as they are where something else depends on them: an own pattern that reads the answer, or
    texts that name the letters.
    """
    kinds = {"option_order": list(_orders(policy))}
    texts = (policy.global_prefix, policy.instructions, policy.input_suffix, policy.global_suffix, policy.system_prompt)
    named = any(map(_LISTED.search, (*texts, policy.output_prefix)))
    if getattr(policy, "answer", None) is None and not named and not policy.output_prefix.rstrip().endswith(("(", "[")):
        kinds |= {"letters": list(_labels(policy)), "option_format": list(_formats(policy))}
    return {kind: changes for kind, changes in kinds.items() if changes}


def _instructions(policy: PromptPolicy) -> Iterator[PromptChange]:
    text = policy.instructions
    if text.strip():
        end = text[len(text.rstrip()) :]
        for words in ("Please read carefully.", "You are an expert.", "Your task:"):
            yield PromptChange(f"instructions after “{words}”", {"instructions": f"{words} {text}"})
        last = "Answer in the same form as in the examples." if policy.max_train_instances else "Answer carefully."
        yield PromptChange(f"instructions before “{last}”", {"instructions": f"{text.rstrip()} {last}{end}"})
        return
    asked, given = (_AFFIX.fullmatch(affix) for affix in (policy.input_prefix, policy.output_prefix))
    if asked is None or given is None or policy.system_prompt:
        return
    question, answer = asked["noun"].lower(), given["noun"].lower()
    for words in (
        f"Write the {answer} for each {question}.",
        f"Read each {question} carefully, then give the {answer}.",
        f"Please give the {answer} that fits the {question}.",
    ):
        yield PromptChange(f"instructions “{words}”", {"instructions": f"{words}\n"})


def _case(policy: PromptPolicy) -> Iterator[PromptChange]:
    for name, change in (("upper", str.upper), ("lower", str.lower)):
        affixes = {key: _with(affix, noun=change(affix["noun"])) for key, affix in _affixes(policy).items()}
        if any(affixes[key] != getattr(policy, key) for key in affixes):
            shown = " ".join(map(str.strip, affixes.values()))
            yield PromptChange(f"names of fields in {name} case: “{shown}”", _replacing(affixes, policy))


def _separators(policy: PromptPolicy) -> Iterator[PromptChange]:
    for name, separator in _SEPARATORS.items():
        affixes = {
            key: _with(affix, separator=separator + affix["separator"][1:]) for key, affix in _affixes(policy).items()
        }
        if affixes:
            yield PromptChange(f"{name} after the names of fields", _replacing(affixes, policy))


def _spacing(policy: PromptPolicy) -> Iterator[PromptChange]:
    if policy.instructions or policy.max_train_instances:
        for name, more in (("one more empty line", "\n"), ("a line of hyphens", "---\n")):
            yield PromptChange(f"{name} between blocks", {"instance_prefix": policy.instance_prefix + more})


def _orders(policy: Any) -> Iterator[PromptChange]:
    if policy.option_order == "published":
        yield PromptChange("options reversed", {"option_order": "reversed"})
        for seed in range(1, _SHUFFLES + 1):
            yield PromptChange(f"options shuffled with seed {seed}", {"option_order": seed})


def _labels(policy: Any) -> Iterator[PromptChange]:
    prefix = _PREFIX.fullmatch(policy.reference_prefix)
    if prefix is None or policy.reference_prefix_characters is not None:
        return
    lettered = re.search(r"\bletters?\b", policy.instructions + policy.system_prompt, re.IGNORECASE)
    for name, labels in _LABELS.items():
        if labels[0] != prefix["label"] and not (lettered and labels[0].isdigit()):
            settings: dict[str, Any] = {"reference_prefix_characters": list(labels)}
            if (most := getattr(policy, "max_tokens", _LABEL_TOKENS)) < _LABEL_TOKENS:
                settings["max_tokens"] = max(most, _LABEL_TOKENS)
            yield PromptChange(f"letters {name}", settings)


def _formats(policy: Any) -> Iterator[PromptChange]:
    prefix = _PREFIX.fullmatch(policy.reference_prefix)
    if prefix is None:
        return
    for name, (opening, closing) in _FORMATS.items():
        if (opening, closing) != (prefix["opening"], prefix["closing"]):
            changed = f"{prefix['before']}{opening}{prefix['label']}{closing}{prefix['after']}"
            yield PromptChange(f"options as {name}", {"reference_prefix": changed})


def _affixes(policy: PromptPolicy) -> dict[str, re.Match[str]]:
    found = {key: _AFFIX.fullmatch(getattr(policy, key)) for key in ("input_prefix", "output_prefix")}
    return {key: affix for key, affix in found.items() if affix is not None}


def _with(affix: re.Match[str], noun: str | None = None, separator: str | None = None) -> str:
    return affix["before"] + (noun or affix["noun"]) + (separator or affix["separator"])


def _replacing(affixes: Mapping[str, str], policy: PromptPolicy) -> dict[str, Any]:
    """Return the settings with other affixes; sequences that stop at the next question follow it."""
    settings: dict[str, Any] = dict(affixes)
    stops = getattr(policy, "stop_sequences", ())
    for key, affix in affixes.items():
        old = getattr(policy, key).strip()
        stops = tuple(stop.replace(old, affix.strip()) for stop in stops)
    if stops != getattr(policy, "stop_sequences", ()):
        settings["stop_sequences"] = list(stops)
    return settings
