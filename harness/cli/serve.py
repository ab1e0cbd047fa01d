"""``harness serve``: the site of a results folder in the browser, while a sweep runs."""

from __future__ import annotations

from pathlib import Path

import click

from harness.output.terminal import say


@click.command("serve")
@click.argument("results", type=click.Path(path_type=Path, exists=True, file_okay=False), default=Path("results"))
@click.option("--suite", "suites", multiple=True, help="Only this suite. Repeatable.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen; this machine alone by default.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0: any that is free.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="The site's folder; RESULTS/site by default.",
)
def serve_command(results: Path, suites: tuple[str, ...], host: str, port: int, output: Path | None) -> None:
    """Show the site of RESULTS in a browser, with the progress of sweeps that run; it is brought up to date as they go.

    Only files of the site are served, read-only. With another --host, whoever reaches this machine sees all results,
    prompts and answers.
    """
    from harness.leaderboard.site.builder import build_site
    from harness.leaderboard.site.live import LiveSite
    from harness.leaderboard.site.server import SiteServer, is_loopback

    folder = output or results / "site"
    site = LiveSite(results, folder, build_site, suites or None)
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
