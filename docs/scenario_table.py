"""The table of all scenarios: boards, data that they were tested on, file, main metric and method."""

from __future__ import annotations

import inspect
import typing
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from docs.markdown import table
from harness.contracts.plugins import Plugin, ScenarioDetails
from harness.plugins.parameters import PROMPT, parameters_of

ROOT = Path(__file__).parent.parent
BOARDS = {
    "helm-classic": ("HELM Classic", 42),
    "helm-lite": ("HELM Lite", 10),
    "helm-capabilities": ("HELM Capabilities", 5),
    "helm-safety": ("HELM Safety", 5),
    "open-llm-v1": ("Open LLM Leaderboard v1", 6),
    "open-llm-v2": ("Open LLM Leaderboard v2", 6),
}
"""The leaderboards that scenarios are tagged with: title, and number of scenarios."""
SEEN = {
    "full": "official",
    "part": "part of the official",
    "stand-in": "stand-in",
    "generated": "generated",
    "written": "written by hand",
    "sample": "sample",
}
"""What the data that a scenario was tested on are called in the table."""

INTRODUCTION = """## All of them

What each scenario was tested on: the *official* evaluation split, whole or in *part*; a *stand-in*, that is, other text
in the same form; *generated* data, which need no files; or rows *written by hand* in the official layout, where the
data were not available. Look closely at the first prompts of these before you trust their results. *Sample* data come
with the harness, and *yours* are in a file that you name. In parentheses: instances of the evaluation split."""


def scenario_table(plugins: Sequence[Plugin]) -> str:
    """Return the table, preceded by what is in it of each leaderboard."""
    rows = yaml.safe_load((ROOT / "tests" / "scenarios" / "rows.yaml").read_text("utf-8"))
    seen = {plugin.name: seen_data(plugin, rows) for plugin in plugins}
    totals = []
    for tag, (title, size) in BOARDS.items():
        members = [plugin.name for plugin in plugins if tag in _details(plugin).tags]
        counts = Counter(seen[name] for name in members)
        totals.append((title, f"{len(members)} of {size}", *(str(counts[kind]) for kind in SEEN if kind != "sample")))
    counts = Counter(seen.values())
    totals.append(("all scenarios", str(len(plugins)), *(str(counts[kind]) for kind in SEEN if kind != "sample")))
    headings = ["leaderboard", "here", *(text for kind, text in SEEN.items() if kind != "sample")]
    scenarios = [_row(plugin, seen[plugin.name], rows.get(plugin.name, {})) for plugin in plugins]
    columns = ("scenario", "leaderboards", "tested on", "file", "lines", "main metric", "method")
    return "\n\n".join([INTRODUCTION, table(headings, totals), table(columns, scenarios)])


def seen_data(plugin: Plugin, rows: Mapping[str, Any]) -> str:
    """Return the kind of data that a scenario was tested on: a key of SEEN, or "yours"."""
    data = _details(plugin).data
    if data.anywhere:
        return "yours"
    if data.sample:
        return "sample"
    return rows[plugin.name]["data"] if plugin.name in rows else "written"


def _row(plugin: Plugin, seen: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
    details = _details(plugin)
    target: Any = plugin.target
    file = details.file or Path(inspect.getsourcefile(inspect.unwrap(target)) or "")
    boards = ", ".join(title for tag, (title, _) in BOARDS.items() if tag in details.tags)
    return (
        f"[{plugin.name}](#{plugin.name.lower()})",
        boards,
        f"{SEEN.get(seen, seen)}{_share(details, seen, entry)}",
        f"`{file.relative_to(ROOT)}`",
        str(len(file.read_text("utf-8").splitlines())),
        f"`{details.main_metric}`",
        f"`{_method(plugin)}`",
    )


def _share(details: ScenarioDetails, seen: str, entry: Mapping[str, Any]) -> str:
    """Return how many instances of the evaluation split were read, in parentheses."""
    split = str(details.eval_split)
    count = sum(case[split]["rows"] for case in entry.get("cases", ()) if split in case)
    if not count:
        return ""
    official = entry["official"].get(split)
    return f" ({count:,} of {official:,})" if seen == "part" and official else f" ({count:,})"


def _method(plugin: Plugin) -> str:
    adapter = _details(plugin).adapter
    if not callable(adapter):
        return str(adapter["method"])
    fields = parameters_of(plugin).model_fields
    given = {
        name: next(iter(typing.get_args(field.annotation)), "") if field.is_required() else field.default
        for name, field in fields.items()
        if name != PROMPT
    }
    return str(adapter(**given)["method"])


def _details(plugin: Plugin) -> ScenarioDetails:
    return typing.cast(ScenarioDetails, plugin.details)
