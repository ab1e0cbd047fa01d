"""The command line: one file per group of commands, loaded when one of them is called."""

from __future__ import annotations

import importlib
import io
import re
import shlex
import sys

import click

from harness.cli.logs import log_options
from harness.errors import HarnessError, did_you_mean
from harness.executors.interrupts import Terminated
from harness.output.terminal import make_diagnostics_safe, say
from harness.sweeps.foreign_names import OPTIONS

SECTIONS = {
    "Evaluate models": {
        "quickstart": ("harness.cli.quickstart", "Train two tiny models, evaluate them, and compare them."),
        "run": ("harness.cli.run", "Run a sweep, or single runs, and write the results."),
        "watch": ("harness.cli.watch", "Evaluate the checkpoints of a training as they appear."),
        "plan": ("harness.cli.plan", "Show how many instances a sweep needs to detect a difference between models."),
        "validate": ("harness.cli.check", "Check a sweep and report every error in it."),
        "preview": ("harness.cli.check", "Show the exact prompts of a sweep's first instances."),
        "data": ("harness.cli.data", "Show which data sets and models a sweep needs, and download them ahead of time."),
        "cache": ("harness.cli.cache", "Manage the response cache."),
        "schema": ("harness.cli.check", "Print the JSON Schema of sweep files, for editors."),
    },
    "See and compare results": {
        "leaderboard": ("harness.cli.results", "Compare all models in a results folder."),
        "compare": ("harness.cli.compare", "Compare two runs or two models on the same instances."),
        "stats": ("harness.cli.results", "Show every statistic of a run."),
        "checkpoints": ("harness.cli.results", "Show which checkpoints of a training each scenario can tell apart."),
        "prompts": ("harness.cli.results", "Show how much scores depend on the prompt."),
        "serve": ("harness.cli.serve", "Show the results in a browser, updated while a sweep runs."),
        "score": ("harness.cli.results", "Recompute the statistics of runs from their examples."),
        "annotate": ("harness.cli.annotate", "Have people judge answers, on a page in their browser."),
        "ratings": ("harness.cli.annotate", "Show what people's ratings say, and how well the raters agree."),
    },
    "Test for contamination": {
        "contamination": ("harness.cli.contamination", "Test whether models were trained on a data set."),
        "seal": ("harness.cli.seal", "Prepare a data set so that models can be tested for it after it is published."),
        "lab": ("harness.cli.lab", "Train models on known test sets, to measure the power of contamination tests."),
    },
    "Check results": {
        "reproduce": ("harness.cli.reproduce", "Ask a sample of a run's questions again, and show what changed."),
        "lock": ("harness.cli.lock", "Record the environment of results, or check whether it has changed."),
        "sign": ("harness.cli.sign", "Sign a results folder with your key."),
        "verify": ("harness.cli.sign", "Check that a results folder has not changed since it was signed."),
    },
    "Work with other tools": {
        "track": ("harness.cli.track", "Send finished runs to an experiment tracker."),
        "import": ("harness.cli.imports", "Import results of other programs and archives."),
        "export": ("harness.cli.export", "Write results in the formats of other programs and archives."),
        "publish": ("harness.cli.publish", "Upload results to the Hugging Face Hub."),
    },
    "Plugins": {
        "list": ("harness.cli.plugins", "List scenarios, adapters, metrics, perturbations and other plugins."),
        "show": ("harness.cli.plugins", "Show a plugin's definition, source, parameters and defaults."),
        "new": ("harness.cli.new", "Write a working example of a scenario or a metric, to start from."),
    },
}
"""The commands by section of the help: for each the module that defines it, imported when the command is called, and
its line in the help."""

COMMANDS = {name: command for section in SECTIONS.values() for name, command in section.items()}
"""The commands of all sections."""

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 110, "show_default": True}


class _Lazy(click.Group):
    """A group that shows its commands in the help without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(COMMANDS[cmd_name][0]), f"{cmd_name}_command")
        _add_log_options(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, (_, text) in commands.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"there is no command {args[0]!r}. {did_you_mean(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)


def _add_log_options(command: click.Command) -> None:
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            _add_log_options(inner)
    elif not any(parameter.name == "log_level" for parameter in command.params):
        command.params += log_options()


@click.group(cls=_Lazy, context_settings=SETTINGS)
@click.version_option(package_name="holistic-harness", prog_name="harness")
def group() -> None:
    """Evaluate language models holistically, from YAML sweeps to a leaderboard.

    Start with `harness quickstart`, which needs neither network nor data.
    """


def _foreign_option(error: click.NoSuchOption) -> str:
    """Return what to write for another program's option; '' if it is none, or if the command lacks ours as well."""
    hint = OPTIONS.get(error.option_name, "")
    known = {name for parameter in error.ctx.command.params for name in parameter.opts} if error.ctx else set()
    return hint if known.issuperset(re.findall(r"--[a-z][a-z-]*", hint)) else ""


def _suite_as_option(error: click.NoSuchOption) -> str:
    """Return advice if --suite was given to a command that takes suites as arguments; '' for other commands."""
    arguments = [one.name for one in error.ctx.command.params if isinstance(one, click.Argument)] if error.ctx else []
    if error.ctx is None or error.option_name != "--suite" or "suites" not in arguments:
        return ""
    named = re.search(r"(?:^|\0)--suite[=\0]([^\0]+)", "\0".join(sys.argv[1:]))
    suite = shlex.quote(named[1]) if named else "SUITE"
    return f"Name the suite without --suite: {error.ctx.command_path} {suite}"


def main() -> None:
    """Run the command line; an error of the user's is one message on standard error, and exit code 2."""
    make_diagnostics_safe()
    try:
        group(standalone_mode=False)
    except HarnessError as error:
        say(str(error), err=True)
        sys.exit(2)
    except click.ClickException as error:
        hint = (_suite_as_option(error) or _foreign_option(error)) if isinstance(error, click.NoSuchOption) else ""
        if isinstance(error, click.NoSuchOption) and hint:
            error = click.NoSuchOption(error.option_name, ctx=error.ctx)  # the nearest option would mislead
        buffer = io.StringIO()
        error.show(buffer)
        say(buffer.getvalue(), err=True, newline=False)
        if hint:
            say(hint, err=True)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort) as error:
        # Click turns an interrupt into an Abort, with the interrupt as its cause.
        terminated = isinstance(error.__cause__ or error, Terminated)
        sys.stderr.write("Terminated.\n" if terminated else "Interrupted.\n")
        sys.exit(143 if terminated else 130)
    except BrokenPipeError:
        # The reader of our output has ended, as `head` does: not an error of ours.
        sys.stderr.close()
        sys.exit(141)
