"""The command line: one file a group of commands, loaded when its command is called."""

from __future__ import annotations

import importlib
import io
import sys

import click

from harness.cli.interrupts import Terminated
from harness.errors import HarnessError
from harness.output.terminal import make_diagnostics_safe, say
from harness.sweeps.foreign_names import OPTIONS

# Command → the module that defines it as a function of the same name (``-`` and Python's words avoided). Modules are
# imported only when their command runs, so that help and completion answer at once.
COMMANDS = {
    "quickstart": ("harness.cli.quickstart", "Train two tiny models and evaluate them: the product in miniature."),
    "run": ("harness.cli.run", "Run a sweep, or single runs, and write a JSON per run."),
    "validate": ("harness.cli.check", "Check a sweep, and report every mistake in it."),
    "preview": ("harness.cli.check", "Show the exact prompts of a sweep's first instances."),
    "schema": ("harness.cli.check", "Print the JSON Schema of sweeps, for editors."),
    "list": ("harness.cli.plugins", "List scenarios, adapters, metrics, perturbations and backends."),
    "show": ("harness.cli.plugins", "Show a plugin's definition, source, parameters and defaults."),
    "new": ("harness.cli.new", "Write a working starting point for a scenario or a metric."),
    "score": ("harness.cli.results", "Compute a run's statistics again from its examples."),
    "stats": ("harness.cli.results", "Show every statistic of a run."),
    "contamination": (
        "harness.cli.contamination",
        "Prove what models have seen, by the order it was published in.",
    ),
    "leaderboard": ("harness.cli.results", "Compare the models of a results folder."),
    "lab": ("harness.cli.lab", "Train models that have seen chosen test sets, and measure what a test finds."),
    "serve": ("harness.cli.serve", "Show the results in a browser while a sweep runs."),
    "import": ("harness.cli.imports", "Import results of HELM and of lm-evaluation-harness."),
    "compare": ("harness.cli.compare", "Compare two runs or models on the same instances, with tests."),
    "cache": ("harness.cli.cache", "Look after the response cache: stats, prune, export, import."),
}


class _Lazy(click.Group):
    """A group that knows its commands' names and help lines without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found = getattr(importlib.import_module(COMMANDS[cmd_name][0]), f"{cmd_name}_command")
        return found if isinstance(found, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from harness.errors import did_you_mean

            ctx.fail(f"there is no command {args[0]!r}. {did_you_mean(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="holistic-harness", prog_name="harness")
def group() -> None:
    """Evaluate language models holistically, from YAML sweeps to a leaderboard.

    Start with `harness quickstart`, which needs neither network nor data.
    """


def main() -> None:
    """Run the command line; a user's mistake is one message on standard error and exit code 2."""
    make_diagnostics_safe()
    try:
        group(standalone_mode=False)
    except HarnessError as error:
        say(str(error), err=True)
        sys.exit(2)
    except click.ClickException as error:
        buffer = io.StringIO()
        error.show(buffer)
        say(buffer.getvalue(), err=True, newline=False)
        if isinstance(error, click.NoSuchOption) and error.option_name in OPTIONS:
            say(OPTIONS[error.option_name], err=True)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort) as error:
        # Click turns an interrupt into an Abort, with the interrupt as its cause.
        terminated = isinstance(error.__cause__ or error, Terminated)
        sys.stderr.write("Terminated.\n" if terminated else "Interrupted.\n")
        sys.exit(143 if terminated else 130)
    except BrokenPipeError:
        # The reader of our output has gone, for example `head`: no error of ours.
        sys.stderr.close()
        sys.exit(141)
