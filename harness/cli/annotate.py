"""``harness annotate`` and ``harness ratings``: have people judge answers, and show what they say."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli import options
from harness.output.display import counted
from harness.output.terminal import say


@click.command("annotate")
@click.argument("questionnaire")
@click.argument("runs", nargs=-1, required=True, type=options.EXISTING_FOLDER)
@click.option("-n", "--instances", type=options.POSITIVE, help="At most this many instances of each scenario.")
@options.seed
@click.option(
    "--host", default="127.0.0.1", help="Address to listen on; the default is reachable from this machine only."
)
@click.option("--port", type=click.IntRange(0, 65535), default=8000, help="Port to listen on; 0: any free port.")
@click.option("--token", help="Token that the address must contain (default: none on 127.0.0.1, else a random one).")
@click.option(
    "-o",
    "--output",
    type=options.FOLDER,
    help="Folder for the study and its ratings (default: annotation/NAME in the results folder).",
)
@click.option(
    "--export", type=options.FILE, help="Write the items to this CSV file for a crowd platform, and serve no page."
)
def annotate_command(
    questionnaire: str,
    runs: tuple[Path, ...],
    instances: int | None,
    seed: int,
    host: str,
    port: int,
    token: str | None,
    output: Path | None,
    export: Path | None,
) -> None:
    """Have people judge the answers of RUNS by a QUESTIONNAIRE, on a page in their browser.

    QUESTIONNAIRE is a YAML file, or one of those that come with the harness: pairwise, pairwise_strengths,
    disinformation_reiteration, disinformation_wedging. RUNS are folders of runs, results/<suite>/<run>, or of whole
    suites. Raters see the answers in random order, without the models' names. Each choice is saved immediately; to
    continue a study, start the command again.
    """
    import secrets

    from harness.annotation.exchange import items_csv
    from harness.annotation.people import STUDIES
    from harness.annotation.questionnaire import read_questionnaire
    from harness.annotation.ratings import RatingsFile
    from harness.annotation.server import AnnotationServer
    from harness.annotation.study import RATINGS_FILE, find_records, keep_study, make_study
    from harness.leaderboard.site.server import is_loopback
    from harness.storage.durable import writing

    asked, records = read_questionnaire(questionnaire), find_records(runs)
    study = make_study(asked, records, instances, seed)
    folder = output or records[0].directory.parent.parent / STUDIES / asked.name
    keep_study(study, folder)
    about = f"{counted(len(study.items), 'item')} in {folder}"
    if export is not None:
        with writing(export):
            export.write_text(items_csv(study), encoding="utf-8")
        say(f"{about}; {export} has a row for each.")
        return
    if token is None:
        token = "" if is_loopback(host) else secrets.token_urlsafe(16)
    if not token and not is_loopback(host):
        raise click.UsageError(
            "with an empty --token, anyone who can reach this machine can rate; leave out --token for a random one."
        )
    ratings = RatingsFile(folder / RATINGS_FILE, study)
    with ratings, AnnotationServer(study, ratings, host, port, token) as server:
        if not is_loopback(host):
            say("Anyone who has the address can read the answers and rate them.", err=True)
        say(f"{about}. Raters open {server.url}. Stop with Ctrl-C.", err=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say(f"Stopped. `harness ratings {folder}` shows the ratings.", err=True)


@click.command("ratings")
@click.argument("study", type=options.EXISTING_FOLDER)
@options.table_format
@click.option(
    "--min-gold",
    type=click.FloatRange(0, 1),
    help="Leave out raters whose share of right gold ratings is below this.",
)
@click.option("--import", "crowd", type=options.EXISTING_FILE, help="First add the ratings of this CSV file.")
@click.option("--labels", metavar="QUESTION", help="Write the ratings of this question as a judge's labels instead.")
@click.option("--model", help="The model whose answers --labels is about, as the table names it.")
@click.option(
    "-o",
    "--output",
    type=options.FILE,
    help="Write to this file, in the format of its suffix unless --format is given.",
)
def ratings_command(
    study: Path,
    format_: str,
    min_gold: float | None,
    crowd: Path | None,
    labels: str | None,
    model: str | None,
    output: Path | None,
) -> None:
    """Show what raters say in the folder STUDY: models by questions, and how well the raters agree.

    Means and standard deviations are over ratings, 95 % intervals over instances. Agreement is Krippendorff's alpha.
    """
    from harness.annotation.exchange import judge_labels, read_crowd_csv
    from harness.annotation.ratings import RatingsFile, read_ratings
    from harness.annotation.study import RATINGS_FILE, read_study
    from harness.annotation.table import ratings_table
    from harness.cli.results import put_table
    from harness.storage.durable import writing

    if (labels is None) != (model is None):
        raise click.UsageError("--labels and --model go together.")
    found = read_study(study)
    if crowd is not None:
        added = read_crowd_csv(crowd, found)
        with RatingsFile(study / RATINGS_FILE, found) as file:
            file.add(added)
        say(f"{counted(len(added), 'rating')} added from {crowd}.", err=True)
    ratings = read_ratings(study / RATINGS_FILE, found)
    if labels is not None and model is not None:
        text = judge_labels(found, ratings, labels, model, min_gold)
        if output is None:
            say(text, newline=False)
            return
        with writing(output):
            output.write_text(text, encoding="utf-8")
        say(f"{counted(text.count(chr(10)), 'label')} in {output}.", err=True)
        return
    put_table(ratings_table(found, ratings, min_gold), format_, output)
