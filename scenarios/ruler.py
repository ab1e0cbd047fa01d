"""RULER: needles, chains of variables and frequent words, to be found in texts of any length."""

from __future__ import annotations

import random
import re
import string
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from harness import Data, HarnessError, Instance, Reference, Source, Split, derive_rng, scenario
from scenarios._books import FOLDER, books
from scenarios._long_text import Sentences, estimated_tokens

Task = Literal[
    "niah_single_1", "niah_single_2", "niah_single_3", "niah_multikey_1", "niah_multikey_2", "niah_multikey_3",
    "niah_multivalue", "niah_multiquery", "vt", "cwe", "fwe",
]  # fmt: skip

TASK_TITLES = {
    **{task: task.replace("_", " ").replace("niah", "NIAH") for task in get_args(Task)},
    "vt": "variable tracking",
    "cwe": "common words",
    "fwe": "frequent words",
}
COUNT = 100
NOISE = (
    "The grass is green.", "The sky is blue.", "The sun is yellow.", "Here we go.", "There and back again.",
)  # fmt: skip
SENTENCE_END = re.compile(r"(?<=[.!?]) +|\n+")
MAX_TOKENS: Mapping[str, int] = {"vt": 30, "cwe": 120, "fwe": 50}
NEEDLE_TOKENS = 128
HOPS = 4
COMMON, OFTEN, RARELY = 10, 30, 3
"""Words to find, and how often they and the others occur, in ``cwe``."""
ENOUGH = 3000
"""Tokens of a list in which words occur that often; in a shorter one they occur four times, and once."""
EXPONENT, ZETA = 2.0, 1.6449
"""The word of rank r is r ** -EXPONENT / ZETA of the words of ``fwe``."""
CODED_TOKENS = 4
"""Tokens of a word of six random letters, which no tokenizer knows."""
EXAMPLE_TOKENS = 400

_ADJECTIVES = """
able amber ample ancient arctic autumn azure bitter blank bold brave brief bright brisk broad bronze calm candid
careful cheap chief civil clean clever cloudy common cosy crisp curious daily damp daring deep distant dusty eager
early eastern elder empty even exact faint famous fancy fertile fierce firm flat fluent foggy formal fragile frank
fresh frosty gentle giant glad golden grand grassy green handy happy harsh hasty hazy hidden hollow honest humble icy
idle inner ivory jolly keen kind large lazy level light little lively lonely long loud loyal lucky lunar mellow mild
misty modern modest narrow neat noble northern
"""

_NOUNS = """
acorn anchor apple apron arrow badge balcony barrel basket beacon bell bench birch blanket bottle bridge brook broom
bucket button cabin camel candle canoe canyon carpet castle cellar chair chalk cherry circle clock cloud coat comet
copper corner cotton cradle crane cricket crown curtain daisy desert desk dolphin donkey door dragon drum eagle engine
falcon feather fence ferry fiddle field flag flute forest fountain fox garden gate glove goose guitar hammer harbor
hat hill honey island jacket kettle kite ladder lake lantern lemon letter lion maple meadow mirror moon needle nest
oak ocean orchard otter owl
"""


ADJECTIVES, NOUNS = _ADJECTIVES.split(), _NOUNS.split()


@dataclass(frozen=True, slots=True)
class _Problem:
    text: str
    answers: Sequence[str]


def _adapter(*, task: str, **_: Any) -> Mapping[str, Any]:
    return {
        "method": "generation",
        "input_prefix": "",
        "input_suffix": "",
        "output_prefix": " ",
        "output_suffix": "\n",
        "max_train_instances": int(task in ("vt", "cwe")),
        "max_tokens": MAX_TOKENS.get(task, NEEDLE_TOKENS),
        "stop_sequences": [],
    }


@scenario(
    "ruler",
    title="RULER",
    titles={"task": TASK_TITLES},
    source="Hsieh et al. 2024 (arXiv:2404.06654)",
    data=Source(url="https://github.com/NVIDIA/RULER", licence="Apache-2.0; books in the public domain"),
    adapter=_adapter,
    metrics=("reference_in_prediction", "efficiency"),
    main_metric="reference_in_prediction_all",
    taxonomy={
        "task": "long-context retrieval",
        "what": "generated needles in novels, in repeated sentences, or among other needles",
        "who": "a program; novelists",
        "when": "any time",
        "language": "English",
    },
    tags=("long-context",),
    aliases={
        "lm_eval": {
            "{task}": "",
            "ruler_{task}": "",
            "ruler": "task=all",
        },
    },
)
def ruler(data: Data, *, task: Task, length: Annotated[int, Field(ge=1024)] = 4096) -> Iterator[Instance]:
    """A hundred long texts, each with something to find: needles, the variables of a chain, or frequent words.

    The prompts are RULER's; keys, values and places are drawn anew, the same on every machine. A text is as long as
    ``length`` allows together with the question, the example and the answer. Since a scenario does not know the model,
    tokens are estimated: one for each digit, and one for every four other characters. For English that is a little more
    than the usual tokenizers make, so that a window of ``length`` tokens is nearly filled, and seldom exceeded.

    The haystack of ``niah_single_1`` and ``vt`` is five repeated sentences, that of ``niah_multikey_2`` and ``_3``
    other needles, and that of the rest, where RULER takes essays, the novels in ``text_corpus/gutenberg``. The words of
    ``cwe`` are pairs such as "brave-otter". Questions about documents are the scenario ``ruler_squad``.

    Args:
        data: Books, for the tasks that hide needles in them.
        task: RULER's name of the task: a needle in a haystack (``niah``), a chain of variables (``vt``), the common
            words of a list (``cwe``) or the frequent words of a coded text (``fwe``).
        length: Tokens of prompt and answer together.
    """
    make = _maker(data, task)
    room = float(length - MAX_TOKENS.get(task, NEEDLE_TOKENS))
    if task in ("vt", "cwe"):
        example = make(EXAMPLE_TOKENS, derive_rng(0, f"ruler/{task}/example"))
        answer = ", ".join(example.answers)
        yield Instance("train-1", example.text, (Reference(answer, correct=True),), Split.TRAIN)
        room -= estimated_tokens(f"{example.text} {answer}\n\n")
    for number in range(1, COUNT + 1):
        problem = make(room, derive_rng(0, f"ruler/{task}/{length}/{number}"))
        yield Instance(
            id=f"{task}-{length}-{number}",
            input=problem.text,
            references=tuple(Reference(answer, correct=True) for answer in problem.answers),
            split=Split.TEST,
        )


def _maker(data: Data, task: Task) -> Callable[[float, random.Random], _Problem]:
    """Return a function from a number of tokens and a generator to a problem."""
    if task == "cwe":
        return _common_words
    if task == "fwe":
        return _frequent_words
    if task in ("niah_multikey_2", "niah_multikey_3"):
        kind: Kind = "numbers" if task == "niah_multikey_2" else "uuids"
        return lambda tokens, rng: _among_needles(tokens, rng, kind)
    noise = task in ("niah_single_1", "vt")
    hay = Sentences(
        NOISE if noise else [one for _, text in books(data, FOLDER) for one in SENTENCE_END.split(text) if one]
    )
    if task == "vt":
        return lambda tokens, rng: _chain(tokens, rng, hay)
    sizes = {"niah_multikey_1": (4, 1, 1), "niah_multivalue": (1, 4, 1), "niah_multiquery": (4, 1, 4)}
    keys, values, asked = sizes.get(task, (1, 1, 1))
    needles: Kind = "uuids" if task == "niah_single_3" else "numbers"
    return lambda tokens, rng: _needles(tokens, rng, hay, needles, keys, values, asked)


def _sentences(data: Data) -> Iterator[str]:
    for _, text in books(data, FOLDER):
        yield from filter(None, SENTENCE_END.split(text))


# ---------------------------------------------------------------------------------------------------------------
# Needles

Kind = Literal["numbers", "uuids"]


def _needles(
    tokens: float, rng: random.Random, hay: Sentences, kind: Kind, keys: int, values: int, asked: int
) -> _Problem:
    """Hide ``values`` needles of each of ``keys`` keys, and ask for those of ``asked`` keys."""
    named = rng.sample(_keys(), keys)
    hidden = {key: [_value(kind, rng) for _ in range(values)] for key in named}
    needles = [_needle(kind, key, value) for key, found in hidden.items() for value in found]
    rng.shuffle(needles)
    answers = [value for key in named[:asked] for value in hidden[key]]

    def fill(room: float) -> str:
        return _hidden(needles, hay.stretch(room, rng), rng)

    return _asked(kind, named[:asked], answers, fill, " ".join(needles), tokens)


def _among_needles(tokens: float, rng: random.Random, kind: Kind) -> _Problem:
    """Hide one needle among as many others as there is room for."""

    def key() -> str:
        return _value("uuids", rng)

    names = iter(rng.sample(_keys(), len(_keys()))) if kind == "numbers" else iter(key, "")
    asked, answer = next(names), _value(kind, rng)
    needle = _needle(kind, asked, answer)

    def fill(room: float) -> str:
        lines: list[str] = []
        for name in names:
            line = _needle(kind, name, _value(kind, rng))
            room -= estimated_tokens(f"{line}\n")
            if room < 0:
                lines.insert(rng.randrange(len(lines) + 1), needle)
                return "\n".join(lines)
            lines.append(line)
        raise _too_long(len(_keys()))

    return _asked(kind, [asked], [answer], fill, needle, tokens)


def _asked(
    kind: Kind,
    keys: Sequence[str],
    answers: Sequence[str],
    fill: Callable[[float], str],
    needles: str,
    tokens: float,
) -> _Problem:
    """Return the problem whose context ``fill`` makes, from the number of tokens besides the needles."""
    one = len(answers) == 1
    values = kind.removesuffix("s") if one else kind
    query = keys[0] if len(keys) == 1 else f"{', '.join(keys[:-1])}, and {keys[-1]}"
    head = (
        f"{'A special magic ' + values + ' is' if one else 'Some special magic ' + values + ' are'} hidden within the "
        f"following text. Make sure to memorize it. I will quiz you about the {values} afterwards.\n"
    )
    verb, all_of = ("is", "") if one else ("are", "all ")
    end = (
        f"\nWhat {verb} {all_of}the special magic {values} for {query} mentioned in the provided text? "
        f"The special magic {values} for {query} mentioned in the provided text {verb}"
    )
    fixed = estimated_tokens(head + end + needles)
    return _Problem(head + fill(tokens - fixed) + end, answers)


def _hidden(needles: Sequence[str], sentences: list[str], rng: random.Random) -> str:
    """Return the sentences with the needles at random places, in the needles' order."""
    places = sorted(rng.randrange(len(sentences) + 1) for _ in needles)
    for place, needle in reversed(list(zip(places, needles, strict=True))):
        sentences.insert(place, needle)
    return " ".join(sentences)


def _needle(kind: Kind, key: str, value: str) -> str:
    return f"One of the special magic {kind} for {key} is: {value}."


def _keys() -> list[str]:
    return [f"{adjective}-{noun}" for adjective in ADJECTIVES for noun in NOUNS]


def _value(kind: Kind, rng: random.Random) -> str:
    return (
        str(rng.randint(1_000_000, 9_999_999))
        if kind == "numbers"
        else str(uuid.UUID(int=rng.getrandbits(128), version=4))
    )


# ---------------------------------------------------------------------------------------------------------------
# Variables and words


def _chain(tokens: float, rng: random.Random, hay: Sentences) -> _Problem:
    """Hide a chain of assignments: a variable with a value, and four variables that get it from one another."""
    names = ["".join(rng.choices(string.ascii_uppercase, k=5)) for _ in range(HOPS + 1)]
    value = rng.randint(10_000, 99_999)
    steps = [
        f"VAR {names[0]} = {value}",
        *(f"VAR {new} = VAR {old}" for old, new in pairwise(names)),
    ]
    head = "Memorize and track the chain(s) of variable assignment hidden in the following text.\n\n"
    end = (
        f"\nQuestion: Find all variables that are assigned the value {value} in the text above. Answer: According to "
        f"the chain(s) of variable assignment in the text above, {len(names)} variables are assigned the value "
        f"{value}, they are:"
    )
    room = tokens - estimated_tokens(head + end + ". ".join(steps))
    return _Problem(head + _hidden([f"{step}." for step in steps], hay.stretch(room, rng), rng) + end, names)


def _common_words(tokens: float, rng: random.Random) -> _Problem:
    """List words, ten of which occur more often than all others."""
    head = (
        "Below is a numbered list of words. In these words, some appear more often than others. Memorize the ones that "
        "appear most often.\n"
    )
    end = (
        f"\nQuestion: What are the {COMMON} most common words in the above list? Answer: The top {COMMON} words that "
        "appear most often in the list are:"
    )
    room = tokens - estimated_tokens(head + end)
    vocabulary = rng.sample(_keys(), len(_keys()))
    often, rarely = (OFTEN, RARELY) if room > ENOUGH else (4, 1)
    words: list[str] = []
    for place, word in enumerate(vocabulary):
        times = often if place < COMMON else rarely
        numbers = range(len(words) + 1, len(words) + times + 1)
        room -= sum(estimated_tokens(f"{number}. {word} ") for number in numbers)
        if room < 0:
            break
        words += [word] * times
    else:
        raise _too_long(len(vocabulary))
    rng.shuffle(words)
    listed = " ".join(f"{number}. {word}" for number, word in enumerate(words, start=1))
    return _Problem(head + listed + end, vocabulary[:COMMON])


def _frequent_words(tokens: float, rng: random.Random) -> _Problem:
    """Mix words of six random letters, whose frequencies follow a power law; the most frequent is a row of dots."""
    head = (
        "Read the following coded text and track the frequency of each coded word. Find the three most frequently "
        "appeared coded words. "
    )
    end = (
        "\nQuestion: Do not provide any explanation. Please ignore the dots '....'. What are the three most frequently "
        "appeared words in the above coded text? Answer: According to the coded text above, the three most frequently "
        "appeared words are:"
    )
    count = int((tokens - estimated_tokens(head + end)) / CODED_TOKENS)
    words: list[str] = []
    answers: list[str] = []
    for rank in range(1, count + 1):
        word = "...." if rank == 1 else "".join(rng.choices(string.ascii_lowercase, k=6))
        times = round(count * rank**-EXPONENT / ZETA)
        if not times:
            break
        words += [word] * times
        if 1 < rank <= 4:
            answers.append(word)
    rng.shuffle(words)
    return _Problem(head + " ".join(words) + end, answers)


def _too_long(count: int) -> HarnessError:
    return HarnessError(f"there are {count} words, too few for so long a text. Set a smaller length.")
