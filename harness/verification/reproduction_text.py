"""The result of reproducing a run, as text."""

from __future__ import annotations

from collections.abc import Iterator

from harness.output.display import brief, counted
from harness.verification.differences import Difference
from harness.verification.reasons import MODEL
from harness.verification.reproduction import Reproduction

MOST_SHOWN = 10
"""Changed questions that are listed; the JSON has all of them."""


def reproduction_lines(found: Reproduction) -> Iterator[str]:
    """Yield the lines of a report."""
    asked = f"{found.sample:,} of {counted(found.population, 'question')}"
    yield f"{brief(found.run, 200)}: asked {asked} again (seed {found.seed}), without the response cache."
    yield from _prompts(found)
    low, high = found.interval
    interval = f"95 % interval of the run's share: {100 * low:.1f} % to {100 * high:.1f} %"
    yield f"Changed: {found.changed} of {found.sample} ({interval})."
    if found.changed:
        kinds = ("answer", "score", "log-probability", "prompt", "instance", "error", "missing")
        yield "  " + ", ".join(f"{kind}: {found.count(kind)}" for kind in kinds if found.count(kind))
    logs = found.logprobs.to_json()
    if logs["compared"]:
        rounding = f"differences up to {found.tolerance:g} count as rounding"
        yield (
            f"Log-probabilities: {logs['compared']:,} compared, {logs['equal']:,} equal to the last bit; "
            f"difference at most {logs['max']:.2g}, median {logs['median']:.2g} ({rounding})."
        )
    yield from _scores(found)
    for statistic in found.statistics[:MOST_SHOWN]:
        yield (
            f"Statistic {brief(statistic.name, 60)}: {_mean(statistic.recorded)} in run.json, "
            f"{_mean(statistic.computed)} from the run's own answers."
        )
    if len(found.statistics) > MOST_SHOWN:
        yield f"  … and {counted(len(found.statistics) - MOST_SHOWN, 'more statistic')}; --json has all of them."
    for difference in found.differences[:MOST_SHOWN]:
        yield f"  {_line(difference)}"
    if len(found.differences) > MOST_SHOWN:
        yield f"  … and {counted(len(found.differences) - MOST_SHOWN, 'more question')}; --json has all of them."
    if found.reasons:
        yield "Why answers may differ:" if not found.same else "What has changed, or may vary from run to run:"
        yield from (f"  {reason}" for reason in found.reasons)
    yield _verdict(found)


def _scores(found: Reproduction) -> Iterator[str]:
    """Yield the main metric's scores, and those that changed."""
    same = 0
    for name, change in sorted(found.scores.items()):
        value = change.to_json()
        if not change.changed and name != found.main_metric:
            same += 1
        elif value["compared"]:
            means = f"{value['before']:.6g} before, {value['after']:.6g} now"
            yield f"Score {brief(name, 60)}: {means}; {value['changed']} of {value['compared']} changed."
        else:
            yield f"Score {brief(name, 60)}: {value['changed']} changed; it was undefined before or is undefined now."
    if same:
        yield f"The scores of {counted(same, 'more metric')} are the same."


def _mean(value: float | None) -> str:
    return "nothing" if value is None else f"{value:.6g}"


def _verdict(found: Reproduction) -> str:
    if not found.same:
        return "NOT the same."
    same = "Same up to rounding" if any(found.logprobs.values) else "Same"
    others = [reason.what for reason in found.reasons if reason.then and reason.what.startswith(MODEL)]
    return f"{same}, although the model has changed." if others else f"{same}."


def _prompts(found: Reproduction) -> Iterator[str]:
    rebuilt = found.rebuilt
    if not (rebuilt.prompts or rebuilt.instances or rebuilt.missing or rebuilt.added):
        yield f"Prompts: all {rebuilt.count:,} are the same."
        return
    changes = {
        "prompts changed": len(rebuilt.prompts),
        "instances changed": len(rebuilt.instances),
        "questions missing": len(rebuilt.missing),
        "questions new": rebuilt.added,
    }
    said = ", ".join(f"{what}: {count:,}" for what, count in changes.items() if count)
    yield f"Prompts: {said} (of {rebuilt.count:,} compared)."


def _line(difference: Difference) -> str:
    where = brief(difference.instance, 40)
    if difference.perturbation is not None:
        where += f" ({brief(difference.perturbation, 30)})"
    if difference.trial:
        where += f", trial {difference.trial}"
    what = " and ".join(difference.changed)
    if "error" in difference.changed:
        return f"{where}: {what}: {brief(difference.after, 200)}"
    if difference.before != difference.after:
        return f"{where}: {what}: {brief(difference.before, 60)!r} → {brief(difference.after, 60)!r}"
    return f"{where}: {what}" + ("" if difference.logprob is None else f" (by {difference.logprob:.2g})")
