"""Who may know whom: what the import contracts in pyproject.toml cannot say.

Layers, and the rule that plugins know the public API alone, are import-linter's (``lint-imports``).
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

import harness
from harness import answers, backends, contamination, judging, statistics
from harness.contracts.plugins import CATEGORIES, Kind
from harness.plugins.registry import default_registry

ROOT = Path(__file__).parent.parent
HEAVY = {
    "numpy",
    "torch",
    "transformers",
    "tokenizers",
    "datasets",
    "scipy",
    "sklearn",
    "sacrebleu",
    "pandas",
    "pyarrow",
    "nltk",
}


def imported(tree: ast.AST, package: str) -> Iterator[str]:
    """Yield the modules that a syntax tree names in its imports, at any depth."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            yield ".".join([*parts, *([node.module] if node.module else [])])


def trespasses(source: str, module: str) -> list[str]:
    """Return what a backend's module imports of the engine beside the public API and its own folder."""
    named = imported(ast.parse(source), module.rpartition(".")[0])
    public = re.compile(r"harness\.(backends\Z|models\b)")
    return sorted({name for name in named if name.startswith("harness.") and not public.match(name)})


MODELS = ROOT / "harness" / "models"


@pytest.mark.parametrize("file", sorted(MODELS.rglob("*.py")), ids=lambda file: str(file.relative_to(MODELS)))
def test_backends_know_the_public_api_and_each_other_alone(file: Path) -> None:
    module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
    assert trespasses(file.read_text(encoding="utf-8"), module) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from harness import Response", []),
        ("from harness.backends import Decline", []),
        ("from harness.models.tokens.windows import windows", []),
        ("from .windows import windows", []),
        ("from harness.inference.cache import Cache", ["harness.inference.cache"]),
        ("def load():\n    import harness.plugins.registry", ["harness.plugins.registry"]),
        ("from ..cache import Cache", ["harness.cache"]),
    ],
)
def test_a_trespass_is_seen(source: str, expected: list[str]) -> None:
    assert trespasses(source, "harness.models.example") == expected


@pytest.mark.parametrize(
    "code",
    [
        "import harness",
        "import harness.cli",
        "from harness.cli import main",
        "from harness.plugins.registry import default_registry; from harness.contracts.plugins import Kind\n"
        "registry = default_registry(); assert all(registry.all(kind) for kind in Kind) and not registry.problems",
        "import harness.cli.run, harness.cli.check, harness.cli.plugins, harness.cli.results, harness.cli.quickstart",
        "import harness.runs.runner, harness.sweeps.load, harness.quickstart",
        "import harness; harness.run, harness.evaluate, harness.Results",
    ],
)
def test_heavy_libraries_are_imported_where_they_are_used(code: str) -> None:
    loaded = _modules_after(code)
    assert "harness" in loaded
    assert loaded & HEAVY == set()


def test_a_plugin_is_imported_when_it_is_used_and_no_other_is() -> None:
    find = "from harness.plugins.registry import default_registry; from harness.contracts.plugins import Kind\n"
    find += "registry = default_registry(); assert registry.names(Kind.METRIC)"
    used = "registry.get(Kind.METRIC, 'exact_match')"
    assert {"scenarios", "adapters", "metrics"}.isdisjoint(_modules_after(find))
    loaded = _modules_after(f"{find}; {used}", top=False)
    assert "metrics.exact_match" in loaded
    assert {"metrics.bleu", "metrics.judges.llm", "adapters", "harness.models.transformers.huggingface"}.isdisjoint(
        loaded
    )


def _modules_after(code: str, *, top: bool = True) -> set[str]:
    """Return the modules that a fresh interpreter holds after running the code, by default the top-level ones."""
    name = "name.partition('.')[0]" if top else "name"
    report = f"import json, sys; print(json.dumps(sorted({{{name} for name in sys.modules}})))"
    ran = subprocess.run([sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
    return set(json.loads(ran.stdout.splitlines()[-1]))


def test_the_public_names_stay_few_and_none_is_given_twice() -> None:
    assert len(harness.__all__) <= 70
    assert len(backends.__all__) <= 32
    names = [
        *harness.__all__,
        *backends.__all__,
        *answers.__all__,
        *judging.__all__,
        *statistics.__all__,
        *contamination.__all__,
    ]
    assert {name for name in names if names.count(name) > 1} <= {"holm"}
    assert "harness.statistics" not in _modules_after("import harness.backends; harness.Instance", top=False)


def test_docstrings_of_fields_are_read_when_they_are_shown() -> None:
    """Pydantic would read them whenever a module is imported, which takes longer than looking up finished runs."""
    files = [
        file for folder in ("harness", "adapters", "metrics", "scenarios") for file in (ROOT / folder).rglob("*.py")
    ]
    assert [str(file) for file in files if "use_attribute_docstrings" in file.read_text("utf-8")] == []


PRINTS = {"click.echo", "click.secho", "print", "sys.stdout.write", "sys.stderr.write", "Console"}
MAY_PRINT = {"terminal.py", "console.py"}


def test_everything_printed_passes_through_the_escaping() -> None:
    direct = [
        f"{file.relative_to(ROOT)}:{node.lineno} {ast.unparse(node.func)}"
        for file in sorted((ROOT / "harness").rglob("*.py"))
        if file.name not in MAY_PRINT
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in PRINTS
    ]
    assert [place for place in direct if "sys.stderr.write" not in place or "cli/__init__" not in place] == []


COUNTED = {"prompt_tokens", "completion_tokens", "seconds", "queries", "tokens_per_second"}

NAMED = {
    **dict.fromkeys(CATEGORIES, "a category of metrics"),
    **dict.fromkeys(COUNTED, "a field of a response or of a run's efficiency"),
    "bold": "a style of text",
    "drop": "how much worse perturbed copies score than their originals",
    "generation": "a tag of chat templates",
    "next_example": "a part of a test's settings and details",
    "ratings": "a command, and a number of ratings",
}
"""Names of built-in plugins and stats that the engine may use, since they also mean something else to it."""

SHOWING = {"help", "examples"}

FOREIGN = ("harness/imports/", "harness/exports/", "harness/sweeps/foreign_names.py", "harness/quickstart/")
"""Tables of other programs' names, and the demonstration's own sweep."""


def built_in_names() -> set[str]:
    """Return the names of all built-in scenarios, adapters, metrics, and of the stats that metrics declare."""
    registry = default_registry()
    names = {name for kind in (Kind.SCENARIO, Kind.ADAPTER, Kind.METRIC) for name in registry.names(kind)}
    for metric in registry.names(Kind.METRIC):
        names.update(getattr(registry.get(Kind.METRIC, metric).details, "gives", ()))
    return {name for name in names if "*" not in name}


def named(source: str, names: Collection[str]) -> list[tuple[int, str]]:
    """Return the line and the text of each string in a module's code that is a name, alone or before a colon.

    Docstrings, help texts and examples may show names.
    """
    tree = ast.parse(source)
    shown = [node.value for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg in SHOWING]
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    documentation |= {id(node) for each in shown for node in ast.walk(each)}
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation
        if re.split(r"[:,@ ]", node.value, maxsplit=1)[0] in names
    ]


def test_the_engine_names_no_plugin() -> None:
    names = built_in_names() - NAMED.keys()
    found = [
        f"{path}:{line} {text!r}"
        for file in sorted((ROOT / "harness").rglob("*.py"))
        if not (path := str(file.relative_to(ROOT))).startswith(FOREIGN)
        for line, text in named(file.read_text(encoding="utf-8"), names)
    ]
    assert found == []


def test_a_named_plugin_is_seen() -> None:
    source = (
        '"""exact_match"""\n'
        'option(help="mmlu:subject=anatomy")\n'
        'if name == "exact_match" or f"mmlu:{subject}" or "other":\n'
        "    pass\n"
    )
    assert named(source, {"exact_match", "mmlu"}) == [(3, "exact_match"), (3, "mmlu:")]


def test_every_exception_is_needed() -> None:
    names = built_in_names()
    files = (ROOT / "harness").rglob("*.py")
    used = {text for file in files for _, text in named(file.read_text(encoding="utf-8"), names)}
    assert {name for name in NAMED.keys() - set(CATEGORIES) if name not in used} == set()


def test_every_file_of_adapters_and_metrics_is_a_plugin_or_lies_in_a_private_folder() -> None:
    registry = default_registry()
    plugins = [registry.get(kind, name) for kind in Kind for name in registry.names(kind)]
    known = {plugin.file for plugin in plugins} | {Path(plugin.origin.rpartition(":")[0]) for plugin in plugins}
    files = [file for folder in ("adapters", "metrics") for file in (ROOT / folder).rglob("*.py")]
    public = [file for file in files if not any(part.startswith("_") for part in file.relative_to(ROOT).parts)]
    assert [str(file.relative_to(ROOT)) for file in public if file not in known] == []
