"""Numbers and options as models write them, phrasing by phrasing, and properties that hold for all of them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.answers import final_number, first_number, read_option, whole_number
from harness.answers.options import read_options

LETTERS = tuple("ABCD")
CITIES = ("London", "Paris", "Rome", "Berlin")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", "12"),
        ("-1,234.5", "-1234.5"),
        ("1.234,56", "1234.56"),
        ("-1.234.567,8", "-1234567.8"),
        ("\u221212", "-12"),
        (".5", "0.5"),
        ("12,34,567", "1234567"),
        ("٣٤", "34"),
        ("1e3", "1000"),
        ("1.5e3", "1500"),
        ("1.5E-3", "0.0015"),
        ("-2e+2", "-200"),
        ("3 × 10^8", "3E8"),
        ("3x10^8", "3E8"),
        ("3*10**8", "3E8"),
        (r"3.2 \times 10^{-4}", "0.00032"),
        ("6.02·10²³", "6.02E23"),
        ("10⁻³", "0.001"),
        ("5^2", "25"),
        ("5**2", "25"),
        ("5²", "25"),
        ("5^{-2}", "0.04"),
        ("-2^2", "-4"),
        ("2^100", str(2**100)),
        ("1/2", "0.5"),
        ("3/4", "0.75"),
        ("-3/4", "-0.75"),
        ("1⁄8", "0.125"),
        ("½", "0.5"),
        ("2½", "2.5"),
        ("2 ½", "2.5"),
        ("2 1/2", "2.5"),
        ("-2½", "-2.5"),
        (r"\frac{3}{4}", "0.75"),
        (r"-\dfrac{1}{4}", "-0.25"),
        ("5.", "5"),
        # Not a number.
        ("", None),
        ("x^2", None),
        ("x^{12}", None),
        ("1/0", None),
        ("9^9999", None),
        ("ten", None),
    ],
)
def test_a_number_is_read_as_it_is_written(text: str, number: str | None) -> None:
    expected = None if number is None else Decimal(number)
    assert whole_number(text) == first_number(text) == final_number(text) == expected


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("10-5", "10", "5"),
        ("(4)-3", "4", "3"),
        ("3/4/2020", "3", "2020"),
        ("12 5/4", "12", "1.25"),
        ("1 + 1/2 = 3/2", "1", "1.5"),
        ("5^2 = 25 and x^2", "25", "25"),
        ("1e3b", "1", "3"),
        ("0x1e3", "0", "3"),
        ("5 12", "5", "12"),
        ("4 m² and 3 m²", "4", "3"),
        ("$1,000/month, 1/2 of it", "1000", "0.5"),
        ("version 1.5.3", "1.5", "0.3"),
        ("about 1e3.", "1000", "1000"),
        ("the 2nd of 3", "2", "3"),
    ],
)
def test_numbers_in_a_text(text: str, first: str, last: str) -> None:
    assert (first_number(text), final_number(text)) == (Decimal(first), Decimal(last))
    assert whole_number(text) is None or first == last


WHOLE = st.integers(0, 10**12)
SIGNS = st.sampled_from([("", 1), ("-", -1), ("\u2212", -1)])


@given(SIGNS, WHOLE, st.integers(0, 9999), st.booleans())
def test_decimals_are_themselves(sign: tuple[str, int], whole: int, part: int, thousands: bool) -> None:
    written = f"{sign[0]}{whole:{',' if thousands else ''}}.{part:04}"
    assert whole_number(written) == sign[1] * (whole + Decimal(part) / 10_000)


@given(SIGNS, WHOLE, st.integers(-99, 99))
def test_exponents_are_powers_of_ten(sign: tuple[str, int], number: int, exponent: int) -> None:
    value = sign[1] * Decimal(number).scaleb(exponent)
    for written in (f"{number}e{exponent}", f"{number}E{exponent:+}", f"{number} × 10^{{{exponent}}}"):
        assert whole_number(sign[0] + written) == value


@given(SIGNS, st.integers(0, 999), st.integers(0, 1023), st.sampled_from([2, 4, 8, 16, 1024]))
def test_fractions_are_quotients(sign: tuple[str, int], whole: int, top: int, bottom: int) -> None:
    assert whole_number(f"{sign[0]}{top}/{bottom}") == sign[1] * Decimal(top) / bottom
    if top < bottom:
        assert whole_number(f"{sign[0]}{whole} {top}/{bottom}") == sign[1] * (whole + Decimal(top) / bottom)


@given(st.text(alphabet="0123456789.,-/^e×½² {}xfrac\\*", max_size=60))
def test_no_text_is_too_strange_for_a_number(text: str) -> None:
    first, last, whole = first_number(text), final_number(text), whole_number(text)
    assert (first is None) == (last is None)
    assert whole is None or whole == first == last


@pytest.mark.parametrize(
    "text",
    [
        "9" * 100_000,
        "1 " + "9" * 50_000 + "/3",
        "1," * 50_000,
        "1/" * 50_000,
        "9^" * 50_000,
        "1e" * 50_000,
        " " * 99_999,
    ],
)
def test_long_texts_take_no_time(text: str) -> None:
    final_number(text)
    read_option(text, LETTERS, CITIES)
    read_option(f"The answer is{text}", LETTERS, CITIES)


@pytest.mark.parametrize(
    "text",
    [
        "B",
        " B\n",
        "b",
        "B.",
        "(B)",
        "[B]",
        "(b)",
        "**B**",
        "`B`",
        '"B"',
        "B)",
        "B:",
        "Option B.",
        "option b",
        "Answer B",
        "Definitely B",
        "Probably B.",
        "<answer>B</answer>",
        "<answer>(B)</answer>",
        "<answer>\nB\n</answer>",
        r"\boxed{B}",
        r"$\boxed{\text{B}}$",
        r"Hence \boxed{(B)}.",
        "B) Paris",
        "(B) Paris",
        "B. Paris",
        "B: Paris",
        "B - Paris",
        "B – Paris",
        "B Paris",
        "**B) Paris**",
        "**B**: Paris",
        "Option B: Paris",
        "B, Paris",
        "B, because it is the capital",
        "B) since it is on the Seine",
        "(B) is on the Seine",
        "B is the correct answer.",
        "B is correct",
        "(B) is correct.",
        "Option B is right.",
        "B is the right choice: it's on the Seine, not A.",
        "B is the best answer",
        "B would be the correct option.",
        "I think it's B",
        "I think it is B.",
        "I think B.",
        "I believe it's (B)",
        "I'd say B.",
        "I would go with B, since it is on the Seine",
        "I'm going with option B.",
        "I choose B",
        "I pick (B).",
        "It's B!",
        "it must be B",
        "It's probably B.",
        "The answer is B",
        "The answer is (B).",
        "The answer is: B",
        "The answer is **B**.",
        "The answer is B) Paris",
        "The answer is B Paris",
        "The correct answer is B, not A.",
        "The correct answer is most likely B.",
        "The correct option is [B]",
        "The answer is option B.",
        "My answer: B",
        "Answer: B",
        "**Answer:** B",
        "**Answer: B**",
        "Answer: **B**",
        "Answer = B",
        "Final answer: B",
        "The best choice would be B.",
        "The answer is Paris (B).",
        "Paris (B)",
        "It is on the Seine.\nB",
        "It is on the Seine.\n(B)",
        "It is on the Seine.\n**B.**",
        "The answer is (A). Wait, no: the answer is (B).",
        "It's not A. It's B.",
        "It is not clear, but I think it's B",
        "If it rained, it's C. It didn't, so the answer is B.",
        "B\n\nQuestion: Where is the Colosseum?\nAnswer: C",
        "B) Paris\n\nQuestion: Where is the Colosseum?\nA. Rome\nAnswer: A",
        "Paris",
        "paris.",
        ' "Paris" ',
    ],
)
def test_b_is_read(text: str) -> None:
    assert read_option(text, LETTERS, CITIES) == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "?",
        "E",
        "(E)",
        "AB",
        "none",
        "None of the above.",
        "A or B",
        "A/B",
        "A, B",
        "A and B",
        "(A) or (B)",
        "B or maybe C",
        "Either A or B",
        "Both (A) and (B)",
        "Neither A nor B",
        "A or B is correct",
        "The answer is A or B",
        "The answer is B or C.",
        "The answer is (B) or (C).",
        "The answer is B, C.",
        "I think it's B or C",
        "B\nC",
        "A) London\nB) Paris",
        "not B",
        "It's not B",
        "I don't think it's B",
        "I doubt that the answer is B",
        "The answer is not B.",
        "If the answer is B, then it rained.",
        "B is wrong",
        "I think B is wrong",
        "B-cells",
        "Boron",
        "The answer is B-cells.",
        "The answer is Boron.",
        "The answer is I'm not sure.",
        "The answer is A good one.",
        "It's A good question",
        "A cold day",
        "I think so",
        "Paris or London",
        "The city of Paris",
        "A. B. C. D.",
        "A. One B. Two C. Three D. Four",
    ],
)
def test_no_option_is_read(text: str) -> None:
    assert read_option(text, LETTERS, CITIES) is None


@pytest.mark.parametrize(
    ("text", "labels", "position"),
    [
        ("2", ("1", "2", "3"), 1),
        ("2)", ("1", "2", "3"), 1),
        ("The answer is 2.", ("1", "2", "3"), 1),
        ("The answer is 2.5", ("1", "2", "3"), None),
        ("It's 2 degrees", ("1", "2", "3"), None),
        ("The answer is 2 apples", ("1", "2", "3"), None),
        ("a", ("a", "b"), 0),
        ("a", ("A", "a"), 1),
        ("(A12)", ("A1", "A12"), 1),
        ("The answer is I.", tuple("ABCDEFGHI"), 8),
        ("B, I think", tuple("ABCDEFGHI"), 1),
        ("ب", ("أ", "ب"), 1),
    ],
)
def test_other_labels(text: str, labels: tuple[str, ...], position: int | None) -> None:
    assert read_option(text, labels) == position


def test_of_options_with_the_same_text_none_is_named_by_it() -> None:
    assert read_option("yes", ("A", "B", "C"), ("yes", "Yes", "no")) is None
    assert read_option("no", ("A", "B", "C"), ("yes", "Yes", "no")) == 2


FRAMES = ["{}", "({})", "{}.", "The answer is {}.", "I think it's {}.", "{} is the correct answer.", "\\boxed{{{}}}"]


@given(st.sampled_from(FRAMES), st.integers(1, 25), st.integers(0, 25))
def test_every_letter_is_read_in_every_frame_if_it_was_shown(frame: str, last: int, letter: int) -> None:
    labels = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: last + 1])
    written = frame.format("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[letter])
    assert read_option(written, labels) == (letter if letter <= last else None)


@given(st.sampled_from(FRAMES), st.sampled_from([" or ", " and ", ", ", "/"]), st.permutations("BCDE"))
def test_two_options_are_no_answer(frame: str, between: str, order: list[str]) -> None:
    assert read_option(frame.format(between.join(order[:2])), tuple("BCDE")) is None


@given(st.text(alphabet="answeri ABC:()*\n#=.5orIt's<>/\\boxed{}"))
def test_no_text_is_too_strange_for_an_option(text: str) -> None:
    assert read_option(text, LETTERS, CITIES) in {None, 0, 1, 2, 3}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A.\nB.\nC.\nD.", ()),
        ("(A)\n\n(B)\n(C)\n(D)", ()),
        ("A\nC", (0, 2)),
        ("A.\nB.\nA.", (0, 1)),
        ("A, C\nD", (0, 2, 3)),
        ("A and C\nBoth are red.", (0, 2)),
        ("A, B, C and D", (0, 1, 2, 3)),
    ],
)
def test_several_options_on_lines_of_their_own(text: str, expected: tuple[int, ...]) -> None:
    assert read_options(text, "ABCD") == expected
