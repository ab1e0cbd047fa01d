"""Follows a page of the documentation from top to bottom in an empty folder, so that what it shows is known to work.

- A block after a line that ends in a file's name and a colon, such as "`sweep.yaml`:", is written to that file. A YAML
  block without a name must be a valid part of a sweep.
- In a ``console`` block every command is run, and every line shown below it must be in its output; runs of spaces are
  equal to one.
- ``pycon`` blocks are one session of Python, after all commands: what each line prints must be what is shown.
- The commands of a ``bash`` block need what a test may lack, such as a GPU; their names and options are checked.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import yaml

from docs.write_reference import commands
from harness.sweeps.keys import SweepKeys
from tests.docs.preloaded import harness, preload

ROOT = Path(__file__).parent.parent.parent
BLOCK = re.compile(r"(?P<before>[^\n]*)\n+```(?P<language>\w+)\n(?P<text>.*?)```", re.DOTALL)
NAME = re.compile(r"`([\w./-]+\.(?:ya?ml|jsonl?|toml|py|md|csv))`:$")
preload()
COMMANDS = {context.command_path: context.command for context in commands()}


def normalized(text: str) -> str:
    return " ".join(text.split())


def run(folder: Path, line: str) -> str:
    """Run a line of a console block; return what it printed."""
    arguments, exit_code = shlex.split(line, comments=True), re.search(r"# exits with (\d)", line)
    expected = int(exit_code[1]) if exit_code else 0
    if arguments[0] == "harness":
        code, printed = harness(folder, *arguments[1:])
    else:
        assert arguments[0] == "ls", line
        done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False)
        code, printed = done.returncode, done.stdout
    assert code == expected, f"{line}\n{printed}"
    return printed


def check_options(line: str) -> None:
    """Check that a command line names a command and options that exist."""
    words = shlex.split(line, comments=True)
    if words[0] == "make":
        assert f"\n{words[1]}:" in (ROOT / "Makefile").read_text("utf-8"), line
    if words[0] != "harness":
        return
    path = max((path for path in COMMANDS if words[: len(path.split())] == path.split()), key=len, default="")
    assert path, f"no such command: {line}"
    known = {name for option in COMMANDS[path].params if isinstance(option, click.Option) for name in option.opts}
    assert {word.split("=")[0] for word in words if re.match("-[a-z-]", word)} <= known, line


def follow(page: Path, folder: Path) -> None:
    """Do what a page says."""
    session: list[str] = []
    for before, language, text in BLOCK.findall(page.read_text("utf-8")):
        named = NAME.search(before.strip())
        if named:
            (folder / named[1]).parent.mkdir(parents=True, exist_ok=True)
            (folder / named[1]).write_text(text, "utf-8")
        if language == "yaml" and not named:
            check_fragment(folder, text)
        elif language == "python":
            compile(text, str(page), "exec")
        elif language == "pycon":
            session.append(text)
        elif language == "bash":
            for line in text.splitlines():
                check_options(line)
        elif language == "console":
            printed = ""
            for line in text.splitlines():
                if line.startswith("$ "):
                    printed = normalized(run(folder, line[2:]))
                else:
                    assert normalized(line) in printed, f"{line!r} is not in:\n{printed}"

    if session:
        check_session(folder, "\n".join(session))


def check_session(folder: Path, text: str) -> None:
    """Run a session of Python in a folder."""
    (folder / "session.txt").write_text(text, "utf-8")
    command = [sys.executable, "-m", "doctest", "-o", "NORMALIZE_WHITESPACE", "-o", "ELLIPSIS", "session.txt"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def check_fragment(folder: Path, text: str) -> None:
    """Check a part of a sweep by filling in the rest."""
    sweep = {"suite": "fragment", "models": ["fake:0"], "runs": ["sample_reading"]} | yaml.safe_load(text)
    assert sweep.keys() <= set(SweepKeys.model_fields), f"neither a file nor a part of a sweep:\n{text}"
    (folder / "fragment.yaml").write_text(yaml.safe_dump(sweep), "utf-8")
    run(folder, "harness validate fragment.yaml")
