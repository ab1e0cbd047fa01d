"""``harness serve``: show the site of a results folder in a browser while a sweep runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from harness.cli import options
from harness.output.terminal import say


@click.command("serve")
@click.argument("results", type=options.EXISTING_FOLDER, default=Path("results"))
@click.option("--suite", "suites", multiple=True, help="Show only this suite. Repeatable.")
@click.option(
    "--host", default="127.0.0.1", help="Address to listen on; the default is reachable from this machine only."
)
@click.option("--port", type=click.IntRange(0, 65535), default=8000, help="Port to listen on; 0: any free port.")
@click.option("--output", type=options.FOLDER, help="Folder for the site (default: RESULTS/site).")
@options.ratings
def serve_command(
    results: Path, suites: tuple[str, ...], host: str, port: int, output: Path | None, ratings: tuple[Path, ...]
) -> None:
    """Serve the site of RESULTS to browsers, and update it while sweeps run and people rate.

    Only the site's files are served, read-only. With any other --host, anyone who can reach this machine can see all
    results, prompts and answers.
    """
    from harness.annotation.people import people_sections, ratings_files
    from harness.leaderboard.site.builder import build_site
    from harness.leaderboard.site.live import LiveSite
    from harness.leaderboard.site.reading import ReadRun
    from harness.leaderboard.site.server import SiteServer, is_loopback

    earlier: dict[Path, ReadRun] = {}

    def build(results_dir: Path, output: Path, suites: Sequence[str] | None) -> Path:
        sections = people_sections(results_dir, ratings)
        return build_site(results_dir, output, suites, sections=sections, earlier=earlier)

    folder = output or results / "site"
    site = LiveSite(results, folder, build, suites or None, further=lambda: ratings_files(results, ratings))
    with SiteServer(folder, site.state, host, port) as server:
        site.start()
        if not is_loopback(host):
            say("Anyone who can reach this machine can read the results.", err=True)
        say(f"{server.url} shows {results}. Stop with Ctrl-C.", err=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say("Stopped.", err=True)
        finally:
            site.stop()
