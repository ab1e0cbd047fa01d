r"""Find the answer in a model's text: a number, or one of several options.

A text that states no answer, or more than one, gives None. The tables are the complete rules. A later row is tried only
if the earlier ones find nothing.

=====================  ==============================================  =======================================
Numbers                Written                                         Read
=====================  ==============================================  =======================================
plain                  ``12``, ``-1,234.5``, ``.5``, ``12,34,567``     12, -1234.5, 0.5, 1234567
exponent               ``1e3``, ``1.5E-3``                             1000, 0.0015
power of ten           ``3 × 10^8``, ``3 \times 10^{8}``, ``3*10⁸``    300000000
power                  ``5^2``, ``5**2``, ``5²``, ``5^{-2}``           25, 25, 25, 0.04
fraction               ``3/4``, ``¾``, ``\frac{3}{4}``                 0.75
mixed number           ``2½``, ``2 1/2``                               2.5
a dash, not a sign     ``10-5``, ``(4)-3``                             10 and 5, 4 and 3
exponent of a name     ``x^2``                                         nothing
three parts            ``3/4/2020``                                    3, 4 and 2020
division by zero       ``1/0``                                         nothing
=====================  ==============================================  =======================================

Digits may be those of any script. Exponents of more than three digits are not read. ``9/11`` is a fraction.

===  =====================================================  ========================================================
     Option B is read from                                  Condition
===  =====================================================  ========================================================
1    ``B``                                                  nothing else but whitespace
2    ``b``, ``(B)``, ``**B**``, ``Option B.``,              the first line is a label with brackets, emphasis and
     ``<answer>B</answer>``                                 punctuation; either case, where only one label fits
3    ``B) Paris``, ``B Paris``                              a label and its own option's text begin the answer
4    ``the answer is B``, ``it's B``, ``I choose B``,       the last statement counts; none that is negated or begins
     ``B is the correct answer``, ``\boxed{B}``             with "if"; none of the letters "A" and "I" as words
5    ``It melts.\n(B)``                                     the last line is as in row 2
6    ``B) since it melts``, ``B, because``                  a label begins the answer and no other one is bracketed
7    ``It melts, so Paris (B).``                            the only label that is bracketed
8    ``Paris``                                              the whole answer is the text of one option
===  =====================================================  ========================================================

Two options joined by "or", "and", a comma or a slash ("A or B", "the answer is A/B") are not read as an answer.
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Iterator, Sequence
from decimal import Context, Decimal, DivisionByZero, InvalidOperation, Overflow
from functools import lru_cache
from typing import NamedTuple

__all__ = ["final_number", "first_number", "read_option", "whole_number"]

_MINUS = "\u2212"
_SIGN = rf"(?:(?<![\w)}}])[-{_MINUS}])?"
_DECIMAL = r"(?:(?:\d{1,3}(?:,\d{2,3})*,\d{3}(?!\d)|\d+)(?:\.\d+)?|\.\d+)"  # 1,234.5 or 1234.5; 12,34,567 in India
_VULGAR = "[¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞]"
_OVER = "[/\u2044]"


def _raised(name: str) -> str:
    """Return the pattern of an exponent, which is in one of the groups ``NAME1`` to ``NAME3``."""
    sign = rf"[-+{_MINUS}]?"
    return rf"(?:(?:\^|\*\*)(?:\{{(?P<{name}1>{sign}\d+)\}}|(?P<{name}2>{sign}\d+))|(?P<{name}3>⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+))"


_NUMBER = re.compile(
    rf"(?P<skipped>\^\{{?[-+{_MINUS}]?\d+)"
    rf"|(?P<sign>{_SIGN})(?:"
    rf"(?P<factor>{_DECIMAL})\s?(?:[×xX*·]|\\times\b|\\cdot\b)\s?10{_raised('ten')}"
    rf"|(?P<base>{_DECIMAL}){_raised('power')}"
    rf"|(?P<exponent>(?<![\w.]){_DECIMAL}[eE][-+{_MINUS}]?\d{{1,3}}(?!\w)(?!\.\d))"
    rf"|\\[dt]?frac\{{\s*(?P<over>\d+)\s*\}}\{{\s*(?P<under>\d+)\s*\}}"
    rf"|(?:(?<!\d)(?P<whole>\d{{1,3}})[ ])?(?<![\d./\u2044])(?P<top>\d+){_OVER}(?P<bottom>\d+)(?![\d/\u2044]|\.\d)"
    rf"|(?:(?P<units>\d+)[ ]?)?(?P<vulgar>{_VULGAR})"
    rf"|(?P<plain>{_DECIMAL}))"
)
_EXACT = Context(prec=400, traps=[DivisionByZero, InvalidOperation, Overflow])
_MOST_EXPONENT = 999
_LONGEST_BASE = 40
"""Most characters of a number that is raised to a power, so that no text takes long to read."""


def first_number(text: str) -> Decimal | None:
    """Return the first number in a text; None if there is no number."""
    return next((found.value for found in _numbers(text)), None)


def final_number(text: str) -> Decimal | None:
    """Return the last number in a text; None if there is no number."""
    found = deque(_numbers(text), maxlen=1)
    return found[0].value if found else None


def whole_number(text: str) -> Decimal | None:
    """Return the number that a text is, surrounding whitespace and a full stop aside; None if it is not a number."""
    bare = text.strip().removesuffix(".")
    found = list(_numbers(bare))
    return found[0].value if len(found) == 1 and (found[0].start, found[0].end) == (0, len(bare)) else None


class _Found(NamedTuple):
    value: Decimal
    start: int
    end: int


def _numbers(text: str) -> Iterator[_Found]:
    for match in _NUMBER.finditer(text):
        if match["whole"] and int(match["top"]) >= int(match["bottom"]):  # "12 5/3" is two numbers
            yield _Found(_signed(match, Decimal(match["whole"])), match.start(), match.end("whole"))
            value = _divided(match["top"], match["bottom"])
            start = match.start("top")
        else:
            value, start = _value(match), match.start()
        if value is not None:
            yield _Found(_signed(match, value) if start == match.start() else value, start, match.end())


def _value(match: re.Match[str]) -> Decimal | None:
    """Return the number without its sign; None if it is not a number after all."""
    if match["plain"]:
        return _decimal(match["plain"])
    if match["exponent"]:
        return _decimal(match["exponent"])
    if match["vulgar"]:
        fraction = unicodedata.normalize("NFKC", match["vulgar"]).split("\u2044")
        part = _divided(*fraction)
        return None if part is None else _EXACT.add(Decimal(match["units"] or 0), part)
    if match["top"] or match["over"]:
        part = _divided(match["top"] or match["over"], match["bottom"] or match["under"])
        return part if part is None or not match["whole"] else _EXACT.add(Decimal(match["whole"]), part)
    for kind, written in (("ten", match["factor"]), ("power", match["base"])):
        if written:
            return _raised_to(written, match[f"{kind}1"] or match[f"{kind}2"] or match[f"{kind}3"], ten=kind == "ten")
    return None


def _raised_to(written: str, exponent: str, *, ten: bool) -> Decimal | None:
    """Return a number to a power or, with ``ten``, times a power of ten; None if it is implausibly large."""
    if len(exponent) > 4 or len(written) > _LONGEST_BASE:
        return None
    power = int(unicodedata.normalize("NFKC", exponent).replace(_MINUS, "-"))
    if abs(power) > _MOST_EXPONENT:
        return None
    try:
        number = _decimal(written)
        return _EXACT.scaleb(number, power) if ten else _EXACT.power(number, power)
    except (DivisionByZero, InvalidOperation, Overflow):
        return None


def _divided(top: str, bottom: str) -> Decimal | None:
    under = Decimal(bottom)
    return _EXACT.divide(Decimal(top), under) if under else None


def _decimal(written: str) -> Decimal:
    return Decimal(written.replace(",", "").replace(_MINUS, "-"))


def _signed(match: re.Match[str], value: Decimal) -> Decimal:
    return value.copy_negate() if match["sign"] else value


def read_option(text: str, labels: Sequence[str], options: Sequence[str] = ()) -> int | None:
    """Return the position of the option that a text names, by the rules of this module; None if it names no option.

    Args:
        text: What the model wrote.
        labels: The options' labels, such as letters, all different.
        options: The options' texts, in the same order; without them rows 3 and 8 of the table do not apply.
    """
    answer, labels = text.strip(), tuple(labels)
    if answer in labels:
        return labels.index(answer)
    lines = answer.splitlines()
    if not lines:
        return None
    rules = _rules(labels)
    first = rules.alone(lines[0])
    if first is not None:
        second = rules.alone(lines[1]) if len(lines) > 1 else None
        return first if second in (None, first) else None
    leading = rules.leading.match(answer)
    if leading and rules.quoted(answer, options):
        listed = len(lines) > 1 and rules.quoted(lines[1].strip(), options)
        return None if listed else rules.index(leading)
    stated = [match for match in rules.statement.finditer(answer) if not _denied(answer, match.start())]
    if stated:
        return rules.single(answer, stated[-1])
    last = rules.alone(lines[-1])
    if last is not None:
        return last
    bracketed = {rules.index(match) for match in rules.bracketed.finditer(answer)}
    if leading and leading["mark"] and bracketed <= {rules.index(leading)}:
        return rules.single(answer, leading)
    if len(bracketed) == 1 and not any(_denied(answer, match.start()) for match in rules.bracketed.finditer(answer)):
        return bracketed.pop()
    same = [index for index, option in enumerate(options) if _folded(option) == _folded(answer) != ""]
    return same[0] if len(same) == 1 else None


_MARKS = r"""[\s:*_"'`$]{0,20}"""
_NOUN = r"(?:(?:the\s+)?(?:answer|option|choice|letter)\b)"
_ADVERB = r"(?:\s{1,9}(?:(?:most\s+)?likely|probably|definitely|clearly|therefore|thus))?"
_ANSWER_IS = (
    r"\b(?:answer|option|choice)\b(?:\s{1,9}(?:choice|option|letter))?[*_]{0,9}\s{0,9}"
    rf"(?:(?:is|would\s+be|should\s+be|must\s+be)\b|[:=]){_ADVERB}{_MARKS}{_NOUN}?{_MARKS}"
)
_OPINION = (
    r"(?<![\w'’])(?:it(?:['’]s|\s+is|\s+must\s+be|\s+should\s+be|\s+would\s+be|\s+has\s+to\s+be)"
    r"|I(?:['’](?:d|ll|m)|\s+would|\s+will|\s+am)?\s+(?:say|think|believe|guess|choose|pick|select|go\s+with|going\s+with))"
    rf"\b{_ADVERB}{_MARKS}{_NOUN}?{_MARKS}"
)
_CORRECT = (
    r"""[)\].:*_"'`]{0,9}\s{1,9}(?:is|must\s+be|would\s+be|seems)\s+(?:(?:the|most\s+likely|probably|clearly)\s+){0,3}"""
    r"(?:correct|right|best|answer)\b"
)
_WORDS = frozenset("AI")
"""Letters that are words as well: "the answer is A good one", "the answer is, I think, B"."""

_AFTER_A_LETTER = r"(?!\w|['’-]\w|[.,]\d)"
_AFTER_A_WORD = _AFTER_A_LETTER + (
    r"(?=\s{0,9}(?:\Z|[.,;:!?)*_\"'`$<\n/]|(?i:because|since|as|for|and|but|or|which|given|due|based|not|with|rather)\b))"
)
_JOINT = r"""[)\]*_"'`]{0,9}\s{0,9}(?:,|/|&|\b(?i:or|and)\b)\s{0,9}(?:(?i:maybe|perhaps|possibly|option)\s+){0,2}"""
_DENIAL = re.compile(r"\b(?:not|never|cannot|neither|nor|doubt|if|whether|unless)\b|n['’]t\b", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[.,;:!?\n]|\bbut\b", re.IGNORECASE)
_CLAUSE = 200
"""Most characters before a statement in which a denial is looked for."""


class _Rules:
    """The patterns of the table for one set of labels."""

    def __init__(self, labels: tuple[str, ...]) -> None:
        self._positions = {label: index for index, label in enumerate(labels)}
        self._folded: dict[str, int | None] = {}
        for index, label in enumerate(labels):  # labels that differ only in case are not folded
            self._folded[label.casefold()] = None if label.casefold() in self._folded else index
        either = _one_of(labels)
        careful = [label for label in labels if label in _WORDS or not label.isalpha()]
        free = _one_of([label for label in labels if label not in careful])

        def bare(name: str) -> str:
            return rf"(?:(?P<{name}1>{free}){_AFTER_A_LETTER}|(?P<{name}2>{_one_of(careful)}){_AFTER_A_WORD})"

        def bracketed(name: str) -> str:
            return rf"[(\[{{]\s{{0,9}}(?P<{name}>{either})\s{{0,9}}[)\]}}]"

        self.bracketed = re.compile(bracketed("b") + rf"|(?m:^)\s{{0,9}}(?P<line>{either})[).:](?!\w)")
        self.statement = re.compile(
            rf"(?i:{_ANSWER_IS})(?:{bracketed('s1')}|{bare('s2')})"
            rf"|(?i:{_OPINION})(?:{bracketed('o1')}|(?P<o2>{either}){_AFTER_A_WORD})"
            rf"|(?<![\w'’-])(?:{bracketed('c1')}|(?P<c2>{either}))(?i:{_CORRECT})"
            rf"|\\boxed\s{{0,9}}\{{\s{{0,9}}(?:\\(?:text|mathrm|textbf|mathbf)\s{{0,9}}\{{\s{{0,9}})?"
            rf"\(?(?P<boxed>{either})\)?\s{{0,9}}\}}"
            rf"|(?i:<\s{{0,9}}(?:final[_ ]?)?(?:answer|option|choice)\s{{0,9}}>)"
            rf"\s{{0,9}}\(?(?P<tag>{either})[).\s]{{0,9}}</"
        )
        self.leading = re.compile(
            rf"""[*_"'`]{{0,9}}(?:(?i:option|choice)\s{{1,9}})?[(\[]?(?P<lead>{either})"""
            rf"""(?:(?P<mark>[)\].:,][*_"'`]{{0,9}}(?!\w)|[*_]{{1,3}}(?!\w)|\s{{0,9}}[-–—:](?=\s))\s{{0,9}}|\s{{1,9}})"""
        )
        decoration = r"""[\s*_"'`“”$()\[\]{}.:,;!\\]{0,20}"""
        tag = r"(?:</?\w{1,20}>)?"
        self._alone = re.compile(
            rf"{tag}{decoration}(?:(?:definitely|clearly|probably|most\s+likely|likely|maybe|perhaps)\s{{1,9}})?"
            rf"(?:{_NOUN}\s{{1,9}})?(?:\\?(?:boxed|text)\{{)?{decoration}(?P<alone>{either})"
            rf"{decoration}{tag}",
            re.IGNORECASE,
        )
        after = rf"{_JOINT}(?:{bracketed('j1')}|{bare('j2')})"
        self._joined_after = re.compile(after)
        self._joined_before = re.compile(rf"(?<!\w)(?:{either}){_JOINT}[(\[*_\"'`]{{0,9}}\Z")

    def index(self, match: re.Match[str]) -> int:
        """Return the position of the label that a pattern found."""
        return self._positions[next(value for key, value in match.groupdict().items() if value and key != "mark")]

    def alone(self, line: str) -> int | None:
        """Return the option of a line that is just a label, in either case, with decoration."""
        found = self._alone.fullmatch(line.strip())
        if found is None:
            return None
        return self._positions.get(found["alone"], self._folded.get(found["alone"].casefold()))

    def quoted(self, text: str, options: Sequence[str]) -> bool:
        """Return True if a text begins with a label and the text of the same option."""
        leading = self.leading.match(text)
        if leading is None or not options:
            return False
        option, rest = options[self.index(leading)].strip().casefold(), text[leading.end() :].lstrip().casefold()
        return option != "" and rest.startswith(option) and not rest[len(option) : len(option) + 1].isalnum()

    def single(self, text: str, match: re.Match[str]) -> int | None:
        """Return the option that was found, unless another one is joined to it."""
        key = next(key for key, value in match.groupdict().items() if value and key != "mark")
        before = text[max(0, match.start(key) - 60) : match.start(key)]
        joined = self._joined_after.match(text, match.end(key)) or self._joined_before.search(before)
        return None if joined else self.index(match)


@lru_cache(maxsize=256)
def _rules(labels: tuple[str, ...]) -> _Rules:
    return _Rules(labels)


def _one_of(labels: Sequence[str]) -> str:
    return "|".join(re.escape(label) for label in sorted(labels, key=len, reverse=True)) or r"(?!)"


def _denied(text: str, start: int) -> bool:
    """Return True if the clause before a place denies or only supposes what follows."""
    before = text[max(0, start - _CLAUSE) : start]
    clause = _CLAUSE_END.split(before)[-1]
    return _DENIAL.search(clause) is not None


def _folded(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .!\"'`*“”")
