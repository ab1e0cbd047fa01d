"""A study: a questionnaire and the blinded answers it is asked about, kept in a folder next to the ratings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from harness.annotation.questionnaire import Questionnaire, Value
from harness.errors import DataError, StorageError
from harness.leaderboard.model_names import model_names, model_of
from harness.seeds import derive_rng
from harness.storage.durable import make_folder, write_whole, writing
from harness.storage.example_files import read_examples
from harness.storage.results import RUN_FILE, RunRecord, is_hidden, read_run

STUDY_FILE = "study.json"
RATINGS_FILE = "ratings.jsonl"


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Answer(_Stored):
    """An answer and who gave it; raters see only the text."""

    model: str
    """The model's name for people; empty for a gold item."""
    run: str
    """The run, ``suite/name``; empty for a gold item."""
    text: str
    """The answer."""

    @property
    def key(self) -> tuple[str, str]:
        """What equal answers share."""
        return self.model, self.text


class Item(_Stored):
    """What a rater judges at a time: one answer, or two."""

    id: str
    """Its name in the ratings, which says nothing about the model."""
    scenario: str
    """The scenario; empty for a gold item."""
    instance: str
    """The instance's id; items of one instance share it."""
    input: str
    """What was asked."""
    references: tuple[str, ...] = ()
    """The correct answers."""
    answers: tuple[Answer, ...]
    """One answer, or two."""
    expected: dict[str, list[Value]] = {}
    """For a gold item the right values of some questions."""

    @property
    def cluster(self) -> tuple[str, str]:
        """What items about one instance share."""
        return self.scenario, self.instance


class Study(_Stored):
    """A questionnaire and the items it is asked about."""

    questionnaire: Questionnaire
    """What is asked."""
    seed: int
    """The seed of the order in which raters see items and pairs."""
    items: tuple[Item, ...]
    """The items, gold ones included."""

    @property
    def by_id(self) -> dict[str, Item]:
        """The items by id."""
        return {item.id: item for item in self.items}

    def order(self, rater: str) -> list[str]:
        """Return the ids of the items in the order in which a rater sees them."""
        ids = [item.id for item in self.items]
        derive_rng(self.seed, f"order/{rater}").shuffle(ids)
        return ids

    def sides(self, rater: str, item: Item) -> tuple[int, ...]:
        """Return which answers of an item a rater sees, from left to right."""
        places = list(range(len(item.answers)))
        derive_rng(self.seed, f"sides/{item.id}/{rater}").shuffle(places)
        return tuple(places)


def find_records(paths: Sequence[Path]) -> list[RunRecord]:
    """Return the runs with examples in some folders, each the folder of a run, of a suite or of results.

    Raises:
        DataError: A folder holds no finished run, or no run has examples.
    """
    found: dict[Path, RunRecord] = {}
    for path in paths:
        places = sorted(file.parent for file in path.rglob(RUN_FILE) if not is_hidden(file.relative_to(path)))
        if not places:
            raise DataError(f"{path} holds no finished run. Name a run's folder, results/<suite>/<run>, or a suite's.")
        found |= {place.resolve(): read_run(place) for place in places}
    usable = [run for run in found.values() if run.examples is not None]  # a run that failed may have none
    if not usable:
        raise DataError(f"the runs in {', '.join(map(str, paths))} kept no examples, so there are no answers to judge.")
    return usable


def make_study(
    questionnaire: Questionnaire, records: Sequence[RunRecord], instances: int | None = None, seed: int = 0
) -> Study:
    """Return a study of the answers of some runs.

    Args:
        questionnaire: What is asked.
        records: The runs. Of each scenario, the instances that all of its runs have are used.
        instances: At most this many instances of each scenario, drawn at random; None for all.
        seed: The seed of the draw, of the order of items and of the sides of pairs.

    Raises:
        DataError: Runs have no examples, or no instance in common, or there is only one model where two are compared.
    """
    names = model_names(records)
    by_scenario: dict[str, list[RunRecord]] = {}
    for record in records:
        by_scenario.setdefault(record.spec.scenario.label, []).append(record)
    items: list[Item] = []
    for scenario, runs in sorted(by_scenario.items()):
        answers = [_answers(run, model_of(run, names), questionnaire, scenario) for run in runs]
        common = sorted(set.intersection(*(set(found) for found in answers)))
        if not common:
            raise DataError(f"the {len(runs)} runs of {scenario} have no instance in common.")
        if instances is not None and instances < len(common):
            common = sorted(derive_rng(seed, f"instances/{scenario}").sample(common, instances))
        for name in common:
            items += _items([found[name] for found in answers], questionnaire)
    if not items:
        raise DataError("the questionnaire compares two models, but each scenario has runs of only one.")
    items += [
        Item(
            id="",
            scenario="",
            instance=f"gold-{number}",
            input=gold.input,
            answers=tuple(Answer(model="", run="", text=text) for text in gold.answers),
            expected={name: values if isinstance(values, list) else [values] for name, values in gold.expected.items()},
        )
        for number, gold in enumerate(questionnaire.gold, start=1)
    ]
    derive_rng(seed, "ids").shuffle(items)
    named = [item.model_copy(update={"id": f"i{number:05}"}) for number, item in enumerate(items, start=1)]
    return Study(questionnaire=questionnaire, seed=seed, items=tuple(named))


def _answers(run: RunRecord, model: str, questionnaire: Questionnaire, scenario: str) -> dict[str, list[Item]]:
    """Return an item without an id for each answer of a run to an original instance, by instance."""
    found: dict[str, list[Item]] = {}
    for example, _, _ in read_examples(run):
        instance = example.instance
        if instance.perturbation is not None or example.trial:
            continue
        texts = [example.prediction]
        if questionnaire.completions == "all":
            texts = [*(example.predictions or texts)]
        elif instance.id in found:
            continue
        found.setdefault(instance.id, []).extend(
            Item(
                id="",
                scenario=clean(scenario),
                instance=clean(instance.id),
                input=clean(instance.input),
                references=tuple(clean(reference.text) for reference in instance.correct),
                answers=(Answer(model=clean(model), run=f"{run.suite}/{run.name}", text=clean(text)),),
            )
            for text in texts
        )
    return found


def clean(text: str) -> str:
    """Return a text with halves of surrogate pairs, which JSON readers refuse, as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def _items(runs: Sequence[Sequence[Item]], questionnaire: Questionnaire) -> list[Item]:
    """Return the items of one instance from each run's answers to it.

    What a model answered alike in two runs, such as with and without perturbations, is asked about once.
    """
    first: dict[str, Item] = {}
    kept: list[Item] = []
    for answers in runs:
        kept += [item for item in answers if all(item.answers[0].key != one.answers[0].key for one in kept)]
        for item in answers:
            first.setdefault(item.answers[0].model, item)
    if questionnaire.answers == "one":
        return kept
    return [
        one.model_copy(update={"answers": (*one.answers, *other.answers)})
        for one, other in combinations([first[model] for model in sorted(first)], 2)
    ]


def keep_study(study: Study, folder: Path) -> None:
    """Write a study to its folder, unless it is there already.

    Raises:
        StorageError: The folder holds another study, or cannot be written.
    """
    file = folder / STUDY_FILE
    if file.exists():
        if read_study(folder) != study:
            raise StorageError(
                f"{folder} holds a study with other questions, answers or seed. Name another folder with --output."
            )
        return
    with writing(file):
        make_folder(folder)
        text = study.model_dump_json(indent=1)
        write_whole(file, text.encode("utf-8", "backslashreplace"))


def read_study(folder: Path) -> Study:
    """Read the study of a folder.

    Raises:
        DataError: There is none, or its file is damaged.
    """
    file = folder / STUDY_FILE
    try:
        return Study.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        raise DataError("there is no study here. `harness annotate` makes one.", file=file) from None
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error}).", file=file) from error
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(map(str, problem["loc"])) or "the file"
        raise DataError(f"not a study ({where}: {problem['msg']}).", file=file) from error


def is_complete(study: Study, values: Mapping[str, object]) -> bool:
    """Return True if a rater has answered every question that an item needs, or said that it cannot be judged."""
    return bool(values.get("skip")) or all(
        question.id in values for question in study.questionnaire.questions if question.needed
    )
