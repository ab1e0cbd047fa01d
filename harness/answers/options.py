r"""Read which of several options a text names, by their letters.

The table is the complete rules; a later row is tried only if the earlier ones find nothing. A text that names no
option, or more than one, gives None.

===  =====================================================  ========================================================
     Option B is read from                                  Condition
===  =====================================================  ========================================================
1    ``B``                                                  nothing else but whitespace
2    ``b``, ``(B)``, ``**B**``, ``Option B.``,              the first line is a label with brackets, emphasis and
     ``<answer>B</answer>``, ``So, B.``                     punctuation; either case, where only one label fits
3    ``B) Paris``, ``B Paris``                              a label and its own option's text begin the answer
4    ``the answer is B``, ``it's B``, ``I choose B``,       the last statement counts; none that is negated or begins
     ``B is the correct answer``, ``\boxed{B}``,            with "if"; none of the letters "A" and "I" as words
     ``答案是B``, ``the answer is Paris``
5    ``It melts.\n(B)``                                     the last line is as in row 2, or the only one as in row 3
6    ``B) since it melts``, ``B, because``                  a label begins the answer and no other one is bracketed
7    ``It melts, so Paris (B).``                            the only label that is bracketed; not "(B) is wrong"
8    ``Paris``                                              the whole answer is the text of one option
===  =====================================================  ========================================================

Two options joined by "or", "and", a comma or a slash ("A or B", "the answer is A/B") are not read as an answer.
"The answer is" is known in the languages of :mod:`harness.answers.statements`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from harness.answers.statements import ANSWER_IS, OPTION_IS, final_answer, matches_at_triggers, statements

__all__ = ["read_option", "read_options"]


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
    walks = leading is not None and rules.walks_through(answer, options)
    if leading and not walks and rules.quoted(answer, options):
        return rules.index(leading)
    stated = [match for match in rules.statements(answer) if not _denied(answer, match.start())]
    if stated:
        return rules.single(answer, stated[-1])
    by_text = rules.stated_text(answer, options)
    if by_text is not None:
        return by_text
    last = rules.alone(lines[-1])
    if last is not None:
        return last
    leading_last = rules.leading.match(lines[-1].strip())
    if leading_last and len(lines) > 1 and rules.quoted(lines[-1].strip(), options):
        above = next((line for line in reversed(lines[:-1]) if line.strip()), "")
        return None if rules.quoted(above.strip(), options) else rules.index(leading_last)
    bracketed = {rules.index(match) for match in rules.bracketed.finditer(answer)}
    if walks or any(_rejected(answer, match) for match in rules.bracketed.finditer(answer)):
        return None
    if leading and leading["mark"] and not _rejected(answer, leading) and bracketed <= {rules.index(leading)}:
        return None if rules.lists_all(answer) else rules.single(answer, leading)
    if len(bracketed) == 1:
        return bracketed.pop()
    same = [index for index, option in enumerate(options) if _folded(option) == _folded(answer) != ""]
    return same[0] if len(same) == 1 else None


def read_options(text: str, labels: Sequence[str], options: Sequence[str] = ()) -> tuple[int, ...]:
    """Return the positions of all options that a text names as its answer, in order; empty if it names none.

    The text may list labels, joined in any way ("AC", "A, C", "(A) and (C)"), as its whole answer, in its first or last
    line, or after "the answer is". Or each line is a single label ("A", "C"); if these are all options, they only
    repeat the question, and none counts. Otherwise the answer is the one option that :func:`read_option` finds.

    Args:
        text: What the model wrote.
        labels: The options' labels, such as letters, all different.
        options: The options' texts, in the same order.
    """
    labels, answer = tuple(labels), text.strip()
    if not answer:
        return ()
    rules = _rules(labels)
    lines = answer.splitlines()
    listed = [rules.several(line) for line in lines if line.strip()]
    if len(listed) > 1 and all(listed):
        named = tuple(sorted({position for line in listed for position in line}))
        return named if len(named) < len(labels) else ()
    stated = final_answer(_OPTION_IS.split(answer)[-1])
    for place in dict.fromkeys(part for part in (stated, lines[0], lines[-1], _before_list_end(stated)) if part):
        found = rules.several(place)
        if found:
            return found
    single = read_option(answer, labels, options)
    return () if single is None else (single,)


_OPTION_IS = re.compile(OPTION_IS, re.IGNORECASE)


def _before_list_end(stated: str | None) -> str:
    """Return the part of a stated answer before its reasons: "A and C, because …"."""
    return re.split(r"(?:,|(?<!\s))\s+(?:because|since|as|for|given|which|whose|are|is)\b", stated or "", maxsplit=1)[0]


_WORD = r"[^\W\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
"""A word character of a script that puts spaces between words."""

_SIGNS = r"(?:(?![?？/&+%-])[\W_]){0,20}"
"""Brackets, emphasis, punctuation and symbols around a label."""

_TEXT = r"(?:\\(?:text|textbf|textit|mathrm|mathbf|mathit|boxed|fbox|[(\[])\s{0,9}\{?)"
_MARKS = rf"""(?:[\s:：*_"'`$“”‘’「『{{]|{_TEXT}){{0,20}}"""
_ARTICLE = r"(?:\s{0,9}(?-i:la|le|il|die|a|o)\b)?"
_NOUN = (
    r"(?:\(?insert\s+answer\s+here\)?"
    r"|(?:the\s+)?(?:answer|option|choice|letter|variante|opción|opção|opzione|вариант|选项|選項|選択肢|letra|lettre|"
    r"lettera|buchstabe|antwort|réponse|respuesta|resposta|risposta|ответ|正解|答案|정답)(?![a-z]))"
)
_ADVERB = (
    r"(?:[,\s]{1,9}(?:(?:most\s+)?likely|probably|definitely|clearly|therefore|thus|hence|then|simply|actually|"
    r"in\s+fact)\b,?)?"
)
_OPINION = (
    r"(?<![\w'’])(?:it(?:['’]s|\s+is|\s+must\s+be|\s+should\s+be|\s+would\s+be|\s+has\s+to\s+be)"
    r"|I(?:['’](?:d|ll|m)|\s+would|\s+will|\s+am)?\s+"
    r"(?:say|think|believe|guess|choose|pick|select|go\s+with|going\s+with|(?:would\s+)?answer)"
    r"|(?:the\s+)?(?:correct|right|best)\s+(?:one|statement)\s+is)"
    rf"\b{_ADVERB}{_MARKS}{_NOUN}?{_MARKS}"
)
_CORRECT = (
    r"""[)\].:*_"'`]{0,9}\s{1,9}(?:is|must\s+be|would\s+be|seems)\s+(?:(?:the|my|most\s+likely|probably|clearly)\s+)"""
    r"{0,3}(?:final\s+|only\s+)?(?:correct|right|best|better|answer|choice)\b"
)
_CHOOSE = r"(?:应该|應該|本题|本題|故|因此|所以)?(?:选择|選擇|选|選)(?:了|项|項)?"
_CORRECT_ELSEWHERE = (
    r"""[)\].:*_"'`]{0,9}\s{1,9}(?:ist\s+(?:die\s+)?(?:richtig|korrekt)|est\s+(?:la\s+)?(?:bonne|correcte?|réponse)"""
    r"|es\s+(?:la\s+)?(?:correcta|respuesta)|è\s+(?:la\s+)?(?:corretta|risposta)|é\s+(?:a\s+)?(?:correta|resposta))"
    r"""|[)\]*_"'`]{0,9}\s{0,9}(?:是正确|是正確|正确|正確|が正解|が正しい|(?:가|이)\s?정답)"""
)
_WORDS = frozenset("AI")
"""Letters that are words as well: "the answer is A good one", "the answer is, I think, B"."""

_AFTER_A_LETTER = rf"(?!{_WORD}|['’-]\w|[.,]\d)"
_AFTER_A_WORD = _AFTER_A_LETTER + (
    r"(?=\s{0,9}(?:\Z|[.,;:!?)*_\"'`$<\n/}\]。，、；：！？）」』\\\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
    r"|[-–—]\s|(?i:because|since|as|for|and|but|or|which|given|due|based|not|with|rather|over|instead|here)\b))"
)
_MAYBE = r"\s{0,9}(?:(?i:maybe|perhaps|possibly|option)\s+){0,2}"
_COMMA = rf"""[)\]*_"'`]{{0,9}}\s{{0,9}}[,，、](?:\s{{0,9}}(?i:or|and)\b)?{_MAYBE}"""
_JOINT = (
    r"""[)\]*_"'`]{0,9}\s{0,9}(?:/|&|\b(?i:or|and|oder|und|ou|et|o|y|e|или|и)\b|或|和|か|または|또는)"""
    rf"{_MAYBE}"
)
_DENIAL = re.compile(
    r"\b(?:not|never|cannot|neither|nor|doubt|if|whether|unless|nicht|pas|нет|не)\b|n['’]t\b|不|并非", re.IGNORECASE
)
_REJECTION = re.compile(
    r"""[\s)\].:,*_"'`–—-]{0,9}(?:\w{1,20}\s{1,3}){0,2}"""
    r"(?:(?:is|are|was|would\s+be|seems|looks)\s{1,3}(?:not|never|wrong|incorrect|false|impossible|unlikely|out\b)"
    r"|(?:can\s?not|can['’]t|isn['’]t|won['’]t)\b|(?:wrong|incorrect|false)\b)",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r"[.,;:!?\n。，；！？]|\bbut\b", re.IGNORECASE)
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
            return (
                rf"[(\[{{（【]\s{{0,9}}(?:(?i:option|choice|answer)\s{{1,9}})?(?P<{name}>{either})\s{{0,9}}[)\]}}）】]"
            )

        self.bracketed = re.compile(bracketed("b") + rf"|(?m:^)\s{{0,9}}(?P<line>{either})[).:）：．](?!{_WORD})")
        self._listed = re.compile(rf"(?<!{_WORD})(?P<listed>{either})[.):\]](?!{_WORD})")
        self._answer_is = re.compile(
            rf"(?i:(?:{ANSWER_IS}|{OPTION_IS}){_ADVERB}{_ARTICLE}{_MARKS}{_NOUN}?{_MARKS})(?:{bracketed('s1')}|{bare('s2')})"
        )
        self._opinion = re.compile(
            rf"(?i:{_OPINION})(?:{bracketed('o1')}|(?P<o2>{either}){_AFTER_A_WORD})"
            rf"|(?i:{_CHOOSE})\s{{0,9}}(?:{bracketed('z1')}|(?P<z2>{either}){_AFTER_A_LETTER})"
            rf"|(?<!{_WORD})(?<!['’-])(?:{bracketed('c1')}|(?P<c2>{either}))(?i:{_CORRECT}|{_CORRECT_ELSEWHERE})"
            rf"|\\(?:boxed|fbox)\s{{0,9}}\{{\s{{0,9}}(?:{_TEXT}\s{{0,9}}){{0,3}}"
            rf"[({{]?(?P<boxed>{either})[).:]?\s{{0,9}}\}}"
            rf"|(?i:<\s{{0,9}}(?:final[_ ]?)?(?:answer|option|choice)\s{{0,9}}>)"
            rf"\s{{0,9}}\(?(?P<tag>{either})[).\s]{{0,9}}</"
            rf"|\[\[\s{{0,9}}(?P<double>{either})\s{{0,9}}\]\]"
            rf"""|["']answer["']\s{{0,9}}:\s{{0,9}}["']\(?(?P<json>{either})[).]?["']"""
        )
        mark = rf"""[)\].:,][*_"'`]{{0,9}}(?!{_WORD})|[）】。．：、，]|[*_]{{1,3}}(?!{_WORD})|\s{{0,9}}[-–—:](?=\s)"""
        self.leading = re.compile(
            rf"""{_SIGNS}(?:(?i:option|choice)\s{{1,9}})?[(\[（【]?(?P<lead>{either})"""
            rf"(?:(?P<mark>{mark})\s{{0,9}}|\s{{1,9}})"
        )
        tag = r"(?:</?\w{1,20}>)?"
        opening = (
            r"(?:(?:so|thus|hence|therefore|definitely|clearly|probably|most\s+likely|likely|maybe|perhaps|i\s+choose)"
            r"[,:]?\s{1,9}){0,2}"
        )
        self._alone = re.compile(
            rf"{tag}{_SIGNS}{opening}"
            rf"(?:{_NOUN}\s{{1,9}})?(?:\\?(?:boxed|fbox|text|textbf|mathrm|mathbf)\{{)*{_SIGNS}(?P<alone>{either})"
            rf"{_SIGNS}{tag}",
            re.IGNORECASE,
        )
        self._joined_after = re.compile(
            rf"{_JOINT}(?:{bracketed('j1')}|{bare('j2')})|[)\]]\s{{0,3}}{bracketed('j5')}"
            rf"|{_COMMA}(?:{bracketed('j3')}|(?P<j4>{either}){_AFTER_A_WORD})"
        )
        self._joined_before = re.compile(rf"(?<!\w)(?P<before>{either})(?:{_JOINT}|{_COMMA})[(\[*_\"'`]{{0,9}}\Z")
        one = rf"[(\[{{（【*_]{{0,3}}(?:{either})[)\]}}）】*_]{{0,3}}"
        between = (
            r"\s{0,9}(?:[,;/&+，、；]|\b(?i:and|und|et|y|e|и)\b|和|及|と|그리고){0,2}"
            r"\s{0,9}(?:(?i:and|options?)\s{1,9})?"
        )
        self._label = re.compile(either)
        self._start = re.compile(rf"(?<![^\W_])(?={either})")
        self._quote = re.compile(rf"""(?P<quoted>{either})[)\].:,）】。．：、*_"'`]{{1,9}}\s{{0,9}}[*_"'`]{{0,3}}""")
        self._list = re.compile(
            rf"{tag}[\s*_\"'`$:：.]{{0,9}}(?:\\?(?:boxed|text)\{{){{0,2}}(?:(?i:both|options?|choices|letters)\s{{1,9}}){{0,2}}"
            rf"({one}(?:{between}{one})*)[\s*_\"'`$.。}}]{{0,9}}{tag}"
        )

    def index(self, match: re.Match[str]) -> int:
        """Return the position of the label that a pattern found."""
        return self._positions[next(value for key, value in match.groupdict().items() if value and key != "mark")]

    def alone(self, line: str) -> int | None:
        """Return the option of a line that is just a label, in either case, with decoration."""
        found = self._alone.fullmatch(line.strip())
        if found is None:
            return None
        return self._positions.get(found["alone"], self._folded.get(found["alone"].casefold()))

    def several(self, text: str) -> tuple[int, ...]:
        """Return the options of a text that is just a list of labels, in order; empty for any other text."""
        found = self._list.fullmatch(text.strip()[:_LONGEST_LIST])
        if found is None:
            return ()
        listed = re.sub(r"\b(?:and|und|et|options?|y|e)\b", " ", found[1])
        return tuple(sorted({self._positions[label] for label in self._label.findall(listed)}))

    def quoted(self, text: str, options: Sequence[str]) -> bool:
        """Return True if a text begins with a label and the text of the same option."""
        leading = self.leading.match(text)
        if leading is None or not options:
            return False
        option, rest = options[self.index(leading)].strip().casefold(), text[leading.end() :].lstrip().casefold()
        return option != "" and rest.startswith(option) and not rest[len(option) : len(option) + 1].isalnum()

    def statements(self, text: str) -> list[re.Match[str]]:
        """Return the places at which a text states an option, in order and without overlaps."""
        found = [*matches_at_triggers(self._answer_is, text), *self._opinion.finditer(text)]
        kept: list[re.Match[str]] = []
        for match in sorted(found, key=lambda match: match.start()):
            if not kept or match.start() >= kept[-1].end():
                kept.append(match)
        return kept

    def single(self, text: str, match: re.Match[str]) -> int | None:
        """Return the option that was found, unless another one is joined to it."""
        key = next(key for key, value in match.groupdict().items() if value and key != "mark")
        before = text[max(0, match.start(key) - 60) : match.start(key)]
        after, earlier = self._joined_after.match(text, match.end(key)), self._joined_before.search(before)
        another = earlier is not None and earlier["before"] != match[key]
        return None if after or another else self.index(match)

    def lists_all(self, text: str) -> bool:
        """Return True if a text repeats every option's label: "A. B. C. D."."""
        return len(self._positions) > 1 and {found["listed"] for found in self._listed.finditer(text)} == set(
            self._positions
        )

    def walks_through(self, text: str, options: Sequence[str]) -> bool:
        """Return True if a text goes through several options: "A: London is in England. B: Paris is in France."."""
        named = (self._quote.match(text, match.start()) for match in self._start.finditer(text))
        found = {self._positions[quote["quoted"]] for quote in named if quote and self._own(quote, text, options)}
        return len(found) > 1

    def _own(self, quote: re.Match[str], text: str, options: Sequence[str]) -> bool:
        option = options[self._positions[quote["quoted"]]].strip().casefold() if options else ""
        return option != "" and text[quote.end() : quote.end() + len(option)].casefold() == option

    def stated_text(self, text: str, options: Sequence[str]) -> int | None:
        """Return the option whose text is stated as the answer, with or without its label: "The answer is Paris."."""
        if next(statements(text), None) is None:
            return None
        stated = final_answer(text)
        if stated is None:
            return None
        leading = self.leading.match(stated)
        if leading and self.quoted(stated, options):
            return self.index(leading)
        same = [index for index, option in enumerate(options) if _folded(option) == _folded(stated) != ""]
        return same[0] if len(same) == 1 else None


_LONGEST_LIST = 400
"""Most characters of a list of labels."""


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


def _rejected(text: str, match: re.Match[str]) -> bool:
    """Return True if an option that was found is said to be wrong: by the clause before it, or by what follows."""
    return _denied(text, match.start()) or _REJECTION.match(text, match.end()) is not None


def _folded(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .!\"'`*“”")
