"""Reports and diagnoses of the published order, as tables for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from harness.cli.contamination_names import short_labels, short_model, with_folded_names
from harness.contamination.statistics.testable import rejecting, why_not_testable
from harness.contamination.statistics.verdict import Verdict
from harness.output.console import plain_table, print_note
from harness.output.display import counted, visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from harness.contamination.failed_tests import FailedTest
    from harness.contamination.order_tests import JudgedTest
    from harness.contamination.report import Report, TestFamily

_MANY = 10
"""Number of tests above which a family's settled tests get no line of their own below the table."""

_IN_TABLE = {
    "depends on the published order": "depends",
    "no dependence found": "no dependence",
    "re-test of the same order": "re-test",
}
"""Verdicts in the table, where others are shown up to their colon."""


_PARTS = {"neighbours": "pairs", "next_example": "next"}
"""Tests that only some runs include, and their columns."""

_HINT = ". See `harness contamination diagnose`"


def show_report(report: Report, console: Console) -> None:
    """Print a report for people."""
    for family in report.families:
        _show_family(family, console)
    if not any(family.tests for family in report.families):
        return
    console.print(
        "t test: the published sharded test; exact: the published order of each shard against shuffled ones; pairs: "
        "the published order of neighbours against their other orders; next: which example follows; p: these tests "
        "combined by Bonferroni, without the t test. Holm, BH and BY: p corrected for the tests that count in the "
        "table: all but controls (c) and re-tests (r), which repeat the order of an earlier test. depends: on the "
        "published order, at the level after Holm. in doubt: a control depends on its order too, so nothing is "
        "claimed. not testable: there are too few examples for any p-value below the level, or the text alone shows "
        "that the order is not exchangeable; no model was asked. A dependence on the published order does not show "
        "how much a score gained by it. If no dependence is found, that shows nothing. computed: tokens that the "
        "model computed, so not those of answers from the response cache or of prefixes that it had already read for "
        "another request.",
        style="dim",
    )


def show_diagnostics(label: str, description: Mapping[str, Any], console: Console) -> None:
    """Print the text-only diagnostics of one data set, and which repair was made and why."""
    console.print(f"{label}: {counted(description['n_used'], 'example')}", style="bold", soft_wrap=True)
    wrong = ", ".join(rejecting(description["diagnostics"]))
    for line in description["repairs"]:
        print_note(console, f"{visible(line)}, because the text shows an order: {wrong}")
    table = plain_table("", "statistic", "z", "p", "Holm")
    for test, found in (description["repaired_diagnostics"] or description["diagnostics"]).items():
        table.add_row(
            test, f"{found['statistic']:.4g}", f"{found['z']:+.1f}", f"{found['p']:.3f}", f"{found['p_holm']:.3f}"
        )
    console.print(table)
    if reason := why_not_testable(description):
        word = f"{Verdict.NOT_TESTABLE}: {reason}"
    elif description["repairs"]:
        word = "no evidence against exchangeability after repair"
    else:
        word = "no evidence against exchangeability"
    print_note(console, word)


def _show_family(family: TestFamily, console: Console) -> None:
    from rich.measure import Measurement

    from harness.contamination.p_values import shown_p

    labels = _labels(family)
    console.print(_heading(family), style="bold", soft_wrap=True)
    table = _tests(family, labels, str)
    if Measurement.get(console, console.options.update(width=1000), table).maximum > console.width:
        table = with_folded_names(partial(_tests, family, labels, brief=True), console)
    console.print(table)
    for line in failure_notes((labels[test], test.reason) for test in family.failed):
        print_note(console, line)
    settled = len(family.tests) > _MANY
    for test in family.tests:
        for line in _notes(test, every=not settled):
            print_note(console, f"{labels[test]}: {visible(line)}")
    if not family.shared_order and (spent := _cost_line(family.tests)):
        print_note(console, spent)
    if family.log10_fisher is not None:
        combined = {
            "pooled relabelling": family.log10_pooled,
            "Fisher": family.log10_fisher,
            "Cauchy": family.log10_cauchy,
        }
        shown = ", ".join(f"{name} {shown_p(value)}" for name, value in combined.items() if value is not None)
        untestable = any(not test.testable and not test.control for test in family.tests)
        print_note(console, f"all {'testable ones ' if untestable else ''}together, p: {shown}")
    console.print()


def _cost_line(tests: Iterable[JudgedTest]) -> str:
    """Return the requests and tokens of a family's tests, and the tokens computed; '' if nothing was asked."""
    asked = [test for test in tests if (test.found.get("cost") or {}).get("requests")]
    if not asked:
        return ""
    costs = [test.found["cost"] for test in asked]
    told = counted(sum(cost["requests"] for cost in costs), "request")
    if any(cost.get("tokens") is None for cost in costs):
        return f"cost: {told}"
    told += f" for {counted(sum(cost['tokens'] for cost in costs), 'token')}"
    computed = [test.computed_tokens for test in asked]
    if all(tokens is not None for tokens in computed):
        told += f"; {sum(tokens or 0 for tokens in computed):,} computed"
    return f"cost: {told}"


def _heading(family: TestFamily) -> str:
    what = "model" if family.shared_order else "file" if family.benchmark else "data set"
    name = f"{family.name}, {family.benchmark}" if family.benchmark else family.name
    number = len(family.targets) + len(family.benchmarks)
    untestable = sum(not test.testable and not test.control for test in family.tests)
    parts = []
    if untestable:
        every = counted(number + untestable, what)
        parts.append(f"{number} of {every} tested" if number else f"{every}, not testable")
    elif number:
        parts.append(counted(number, what))
    others = {
        "re-test": sum(test.retest_of is not None for test in family.tests),
        "control": sum(test.control and test.retest_of is None for test in family.tests),
        "failed test": len(family.failed),
    }
    parts += [counted(count, noun) for noun, count in others.items() if count]
    if levels := sorted({f"{test.alpha:g}" for test in family.tests}):
        parts.append(f"level {' or '.join(levels)}")
    return f"{visible(name)}: {', '.join(parts)}"


def failure_notes(failures: Iterable[tuple[str, str]]) -> list[str]:
    """Return a line for each reason why tests failed, with the names of the tests, given both for each test."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in failures:
        by_reason.setdefault(reason, []).append(name)
    return [f"{_few(names)} failed: {visible(reason)}" for reason, names in by_reason.items()]


def _few(names: Sequence[str]) -> str:
    """Return names with commas, only the first three of more than five."""
    return ", ".join(names if len(names) <= 5 else [*names[:3], f"and {len(names) - 3} more"])


def _labels(family: TestFamily) -> dict[JudgedTest | FailedTest, str]:
    """Return what each test is called: its model or data set, and its rows."""
    rows: dict[JudgedTest | FailedTest, str | None] = {test: test.found.get("rows") for test in family.tests}
    rows |= {test: test.rows for test in family.failed}
    shown = short_labels(test.scenario for test in rows)
    names = {test: short_model(test.model) if family.shared_order else shown[test.scenario] for test in rows}
    return {test: f"{names[test]} [{rows[test]}]" if rows[test] else names[test] for test in rows}


def _tests(
    family: TestFamily,
    labels: Mapping[JudgedTest | FailedTest, str],
    written: Callable[[str], str],
    *,
    brief: bool = False,
) -> Table:
    """Return a family's tests as a table; ``written`` breaks names into lines. Where brief, p-values have one digit."""
    from harness.contamination.p_values import shown_p

    corrected = "BY" if family.shared_order else "BH"
    shown = partial(shown_p, brief=brief)
    parts = [name for name in _PARTS if any(test.found.get(name) for test in family.tests)]
    headings = ("", "n", "t test", "exact", *(_PARTS[name] for name in parts), "p", "Holm", corrected, "")
    table = plain_table(*headings, numeric=slice(1, -1), pad_edge=False, padding=(0, 1, 0, 0))
    table.columns[0].overflow = "fold"
    for column in table.columns[1:]:
        column.no_wrap = True
    for test in family.tests:
        found: Mapping[str, Any] = test.found if test.testable else {"n_used": test.found.get("n_used")}
        adjusted = test.log10_q_by if family.shared_order else test.log10_q_bh
        table.add_row(
            written(f"{'c ' if test.control else ''}{'r ' if test.retest_of else ''}{labels[test]}"),
            str(found.get("n_used") or "–"),
            shown(found.get("log10_p_t")),
            shown(found.get("log10_p_exact")),
            *(shown((found.get(name) or {}).get("log10_p")) for name in parts),
            shown(test.log10_p if test.testable else None),
            shown(test.log10_p_holm) if test.counts else "",
            shown(adjusted) if test.counts else "",
            in_table(str(test.verdict)),
        )
    for one in family.benchmarks:
        p_values = map(shown, (one.log10_p, one.log10_p_holm, one.log10_q_bh))
        name = f"{one.name}: {len(one.files)} of {counted(len(one.files) + one.not_testable, 'file')}"
        table.add_row(written(name), str(one.used), "", "", *[""] * len(parts), *p_values, in_table(str(one.verdict)))
    for failure in family.failed:
        name = f"{'c ' if failure.control else ''}{labels[failure]}"
        table.add_row(written(name), *["–"] * (4 + len(parts)), "", "", "failed")
    return table


def in_table(verdict: str) -> str:
    """Return a verdict in the few words that a table has room for."""
    return _IN_TABLE.get(verdict, verdict.partition(":")[0])


def _notes(test: JudgedTest, *, every: bool) -> Iterator[str]:
    """Yield what a reader must know of a test; how it was made only if ``every`` test is to have that line."""
    from harness.contamination.p_values import shown_p

    found = test.found
    if reason := test.why_not_testable:
        yield f"{Verdict.NOT_TESTABLE}: {reason}{'' if found.get('exchangeable', True) else _HINT}"
        return
    for line in found.get("repairs") or ():
        wrong = ", ".join(rejecting(found.get("diagnostics") or {}))
        yield f"repaired: {line}, because the text shows an order: {wrong}"
    if (longer := found.get("examples_longer_than_context")) and "context" in found:
        yield f"{counted(longer, 'example')} longer than the context of {found['context']} tokens; read in windows"
    if found.get("t_undefined"):
        yield f"no t-test: {found['t_undefined']}"
    if (simple := found.get("p_permutation")) is not None:
        orders = counted(found["permutations"], "order")
        yield f"simple permutation test of the whole data set: p = {simple:.3g}, {orders}"
    if looks := found.get("looks"):
        yield from _look_notes(looks, found.get("cost") or {}, every=every)
    if found.get("shuffles") and (spread := test.spread):
        low, high = map(shown_p, spread)
        shards = f"{counted(len(found['shard_scores']), 'shard')} with {counted(found['shuffles'], 'shuffle')} each"
        if every or test.unsettled:
            more = "; more --shuffles would settle it" if test.unsettled else ""
            yield f"{shards}; other shuffles would give exact p from {low} to {high}, about 8 times in 10{more}"


def _look_notes(looks: Mapping[str, Any], cost: Mapping[str, Any], *, every: bool) -> Iterator[str]:
    """Yield what was spent on the first and the second look at a data set."""
    from harness.contamination.p_values import shown_p

    first = f"exact: first look p = {shown_p(looks['first_log10_p'])} (with {looks['share']:g} of this test's level)"
    if looks["second"]:
        more = looks.get("second_cost") or {}
        spent = f"{_tokens(cost)} requested in all, {_tokens(more)} for the second look"
        yield f"{first}, second look p = {shown_p(looks.get('second_log10_p'))}: {spent}"
    elif every:
        yield f"{first}, no second look needed; {_tokens(cost)} requested in all"


def _tokens(cost: Mapping[str, Any]) -> str:
    if cost.get("tokens") is None:
        return counted(cost.get("requests", 0), "request")
    return counted(cost["tokens"], "token")
