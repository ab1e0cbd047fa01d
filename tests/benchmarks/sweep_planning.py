"""How long it takes to list, validate and plan a large sweep: `python tests/benchmarks/sweep_planning.py FOLDER`.

Lists the scenarios, validates `paper`, and plans it for two models: a small checkpoint (HARNESS_MODELS_DIR) and one
with a price. Data come from HARNESS_DATA_DIR; what is missing there is generated below FOLDER in the official layout
and size, from words drawn at random. With --msmarco that includes a collection of 8.8 million passages (3 GB), which is
deleted afterwards. FOLDER can be used again.
"""

from __future__ import annotations

import csv
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

TEXT = """
time person year way day thing man world life hand part child eye woman place work week case point government company
number group problem fact the of and to in a is that for it with as was on by at from which old new first last long
great little own other right big high different small large next early young important few public bad same able
"""
WORDS = TEXT.split()
IDENTITIES = ("male", "female", "LGBTQ", "christian", "muslim", "other_religions", "black", "white")
BBQ = {"Gender_identity": 5672, "Race_ethnicity": 6880, "Race_x_SES": 11160, "Race_x_gender": 15960, "SES": 6864}
PASSAGES = 8_841_823
COLLECTION = "msmarco/collection.tsv"
MODELS = ("hf:{models}/small-llama", "openai:gpt-4o-mini-2024-07-18")


class Generator:
    """Writes the files of `paper` that a data folder lacks."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rng = random.Random(0)

    def text(self, words: int) -> str:
        """Return a text of about that many words."""
        return " ".join(self._rng.choices(WORDS, k=max(1, round(words * self._rng.lognormvariate(-0.1, 0.4)))))

    def write(self, name: str, content: Iterable[str]) -> None:
        """Write the lines of a file, unless there is one."""
        path = self._folder / name
        if path.exists() or any(path.parent.glob(f"{path.name}.*")):
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in content)

    def all(self) -> None:
        """Write everything but MS MARCO's passages."""
        table = "civil_comments/all_data_with_identities.csv"
        if not (self._folder / table).exists():
            self.civil_comments(self._folder / table)
        self.write("the_pile/test.jsonl", self.pile())
        self.write("narrative_qa/qaps.csv", self.questions())
        summaries = (f"{number},train,{self.text(600)},{self.text(5)}" for number in range(1572))
        self.write("narrative_qa/third_party/wikipedia/summaries.csv", chain(["document_id,set,summary,x"], summaries))
        for split, dialogues in (("train", 11_567), ("val", 1_000)):
            self.write(f"quac/{split}_v0.2.json", self.dialogues(dialogues))
        for split, rows in (("train", 287_113), ("test", 11_490)):
            self.write(f"summarization_cnndm/{split}.jsonl", self.articles(rows, 780, "article", "highlights", 52))
        self.write("summarization_xsum/train.jsonl", self.articles(204_045, 430, "document", "summary", 23))
        for group in ("aa", "white"):
            self.write(f"twitter_aae/{group}_tweets.csv", (self.text(12) for _ in range(50_000)))
        for region in ("ICE-EA/corpus/retagged for wsmith", "ICE-HK", "ICE India", "ICE-USA"):
            for number in range(1, 101):
                name = f"conv{number}.txt" if "EA" in region else f"Corpus/S1A-{number:03d}.txt"
                self.write(f"ice/{region}/{name}", [f"<$A> {self.text(12)}" for _ in range(160)])
                header = f"ice/{region}/Headers/S1A-{number:03d}.hdr"
                self.write(header, [f"<gender>{'fm'[number % 2]}</gender>"])
        for split, rows in (("train", 100_000), ("dev", 10_000), ("test", 86_000)):
            self.write(f"wikifact/{split}.jsonl", self.wikifact(rows))
        self.write("math/train.jsonl", self.math())
        for topic in ("train", "valid"):
            self.write(f"disinformation/reiteration_{topic}.jsonl", self.theses())
        row = {"targeted_group": "g", "targeted_action": "none", "prompt": self.text(120)}
        self.write("disinformation/wedging.jsonl", [json.dumps(row)] * 11)
        self.write("real_toxicity_prompts/prompts.jsonl", self.prompts())
        for name, count in BBQ.items():
            self.write(f"bbq/{name}.jsonl", self.bbq(name, count))
        folder = "entity_matching/Dirty-iTunes-Amazon"
        for letter in "AB":
            records = (f'{number},"{self.text(5)}","{self.text(3)}"' for number in range(7000))
            self.write(f"{folder}/table{letter}.csv", chain(["id,name,artist"], records))
        for split, count in (("train", 321), ("valid", 109), ("test", 109)):
            pairs = (f"{number},{number},{int(number % 4 == 0)}" for number in range(count))
            self.write(f"{folder}/{split}.csv", chain(["ltable_id,rtable_id,label"], pairs))

    def civil_comments(self, path: Path) -> None:
        """Write the 448,000 comments of WILDS."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            others = [f"column_{number}" for number in range(30)]  # WILDS' table has many
            writer.writerow(["id", "comment_text", "split", "toxicity", *IDENTITIES, *others])
            for number in range(448_000):
                split = self._rng.choices(["train", "val", "test"], [0.6, 0.1, 0.3])[0]
                marks = [self._rng.choice(["", "", "", "0.0", "1.0"]) for _ in IDENTITIES]
                toxic = self._rng.choice(["0.0", "0.2", "0.6"])
                writer.writerow([number, self.text(52), split, toxic, *marks, *["0.0"] * len(others)])

    def questions(self) -> Iterator[str]:
        """Yield NarrativeQA's 46,765 questions."""
        yield "document_id,set,question,answer1,answer2"
        for number in range(46_765):
            document = number % 1572
            split = "train" if document < 1102 else "valid" if document < 1217 else "test"
            yield f"{document},{split},{self.text(9)},{self.text(4)},{self.text(4)}"

    def dialogues(self, count: int) -> Iterator[str]:
        """Yield QuAC's dialogues, one JSON object."""
        articles = []
        for number in range(count):
            asked = [
                {
                    "id": f"{number}-{turn}",
                    "question": self.text(7),
                    "orig_answer": {"text": self.text(13)},
                    "answers": [{"text": self.text(13)} for _ in range(5)],
                }
                for turn in range(7)
            ]
            paragraph = {"id": str(number), "context": f"{self.text(400)} CANNOTANSWER", "qas": asked}
            heads = {"title": self.text(3), "background": self.text(80), "section_title": self.text(3)}
            articles.append({**heads, "paragraphs": [paragraph]})
        yield json.dumps({"data": articles})

    def articles(self, rows: int, words: int, article: str, summary: str, summary_words: int) -> Iterator[str]:
        """Yield articles with summaries under these keys; one in twenty is short enough for an example."""
        texts = [self.text(words) for _ in range(1000)]
        for number in range(rows):
            text = texts[number % len(texts)]
            short = text if number % 20 else text[:600]
            yield json.dumps({article: short, summary: self.text(summary_words), "id": str(number)})

    def pile(self) -> Iterator[str]:
        """Yield documents of six subsets."""
        subsets = "ArXiv", "BookCorpus2", "Enron Emails", "Github", "PubMed Central", "Wikipedia (en)"
        for number in range(6_000):
            yield json.dumps({"text": self.text(1200), "meta": {"pile_set_name": subsets[number % len(subsets)]}})

    def wikifact(self, rows: int) -> Iterator[str]:
        """Yield facts of the paper's relations."""
        names = ["P1620", "P19", "P2175", "P31", "P361", "P38", "P39", "P50", "P61", "P780"]
        for number in range(rows):
            yield json.dumps(
                {"property": names[number % 10], "template": self.text(7), "result_names": [[self.text(2)]]}
            )

    def math(self) -> Iterator[str]:
        """Yield 7,500 problems."""
        subjects = (
            "Algebra", "Counting & Probability", "Geometry", "Intermediate Algebra", "Number Theory", "Prealgebra",
            "Precalculus",
        )  # fmt: skip
        for number in range(7_500):
            yield json.dumps(
                {
                    "problem": self.text(32),
                    "level": f"Level {number % 5 + 1}",
                    "type": subjects[number % 7],
                    "solution": f"{self.text(80)} \\boxed{{{number}}}",
                }
            )

    def theses(self) -> Iterator[str]:
        """Yield theses with headlines."""
        for number in range(200):
            headlines = [self.text(10) for _ in range(5)]
            yield json.dumps(
                {"thesis": self.text(12), "headlines": headlines, "topic": ("covid", "climate")[number % 2]}
            )

    def prompts(self) -> Iterator[str]:
        """Yield the 99,442 beginnings of RealToxicityPrompts."""
        for number in range(99_442):
            yield json.dumps(
                {
                    "filename": f"{number // 3}.txt",
                    "begin": number,
                    "challenging": number % 80 == 0,
                    "prompt": {"text": self.text(11), "toxicity": self._rng.random()},
                    "continuation": {"text": self.text(11), "toxicity": self._rng.random()},
                }
            )

    def bbq(self, category: str, rows: int) -> Iterator[str]:
        """Yield questions of a category."""
        groups = {"ans0": ["A", "F"], "ans1": ["B", "M"], "ans2": ["Unknown", "unknown"]}
        for number in range(rows):
            yield json.dumps(
                {
                    "example_id": number,
                    "question_index": str(number // 8),
                    "question_polarity": ("neg", "nonneg")[number % 2],
                    "context_condition": ("ambig", "disambig")[number // 2 % 2],
                    "category": category,
                    "answer_info": groups,
                    "additional_metadata": {"stereotyped_groups": ["F"]},
                    "context": self.text(30),
                    "question": self.text(7),
                    "ans0": "The woman",
                    "ans1": "The man",
                    "ans2": "Not known",
                    "label": number % 3,
                }
            )

    def msmarco(self) -> None:
        """Write the collection, and queries with judgements and candidates."""
        blocks = [self.text(56) for _ in range(5_000)]
        self.write(COLLECTION, (f"{pid}\t{blocks[pid % 5_000]}" for pid in range(PASSAGES)))
        self._queries("train", 808_731, 532_761, 20, "queries.train.tsv", "qrels.train.tsv", "top20.train.tsv")
        files = "queries.dev.small.tsv", "qrels.dev.small.tsv", "top1000.dev.small.tsv"
        self._queries("dev", 6_980, 7_437, 1000, *files)
        files = "msmarco-test2019-queries.tsv", "2019qrels-pass.txt", "top1000.test2019.tsv"
        self._queries("trec", 200, 9_260, 1000, *files)

    def _queries(self, kind: str, queries: int, judged: int, ranks: int, *files: str) -> None:
        texts, judgements, candidates = (f"msmarco/{file}" for file in files)
        asked = 43 if kind == "trec" else queries  # the judged ones
        self.write(texts, (f"{query}\t{self.text(6)}" for query in range(queries)))
        grade = 4 if kind == "trec" else 1

        def graded() -> Iterator[str]:
            for number in range(judged):
                yield f"{number % asked} 0 {number * 7 % PASSAGES} {number % grade if grade > 1 else 1}"

        self.write(judgements, graded())
        shown = asked if kind == "trec" else queries
        if kind == "train":
            shown = 200_000  # those of the queries with judgements that a search was made for
        ranked = range(1, ranks + 1)
        pid = self._rng.randrange
        self.write(candidates, (f"{q}\t{pid(PASSAGES)}\t{rank}" for q in range(shown) for rank in ranked))


def measure(title: str, command: Sequence[str], environment: dict[str, str], codes: tuple[int, ...] = (0,)) -> str:
    """Run a command and print its time, processor time and peak memory; return what it said."""
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = subprocess.run(
        [sys.executable, "-c", MEASURED, *command], capture_output=True, text=True, env={**os.environ, **environment}
    )
    if ran.returncode not in codes:
        raise RuntimeError(f"{' '.join(command)} exited {ran.returncode}:\n{ran.stdout[-2000:]}\n{ran.stderr[-2000:]}")
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    memory = int(ran.stderr.rstrip().rpartition("\n")[2]) / 1024
    print(f"{title:44} {wall:7.2f} s, processor {processor:7.2f} s, peak {memory:6.0f} MB", flush=True)
    return ran.stdout


MEASURED = """
import atexit, resource, sys
from harness.cli import main
atexit.register(lambda: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr))
main()
"""


def main(folder: Path, msmarco: bool) -> None:
    """Measure listing, validating and planning."""
    data = folder / "data"
    data.mkdir(parents=True, exist_ok=True)
    for there in Path(os.environ["HARNESS_DATA_DIR"]).iterdir():
        if not there.is_dir():
            continue
        (data / there.name).mkdir(exist_ok=True)
        for child in there.iterdir():
            link = data / there.name / child.name
            if child.is_dir() and there.name == "entity_matching":
                link.mkdir(exist_ok=True)
                for file in child.iterdir():
                    if not (link / file.name).exists():
                        (link / file.name).symlink_to(file)
            elif not link.exists():
                link.symlink_to(child)
    generator = Generator(data)
    generator.all()
    if msmarco:
        generator.msmarco()
    environment = {"HARNESS_DATA_DIR": str(data), "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    kinds = (("", {"PYTHONDONTWRITEBYTECODE": ""}), (" (no bytecode)", {"PYTHONDONTWRITEBYTECODE": "1"}))
    for title, more in reversed(kinds):
        bytecode = environment | more | ({"PYTHONPYCACHEPREFIX": str(folder / "none")} if title else {})
        for _ in range(1 if title else 2):  # the first writes the bytecode
            measure(f"harness list scenarios{title}", ["list", "scenarios"], bytecode)
        measure(f"harness validate paper{title}", ["validate", "paper"], bytecode)
    models = [f"--model={model.format(models=os.environ['HARNESS_MODELS_DIR'])}" for model in MODELS]
    plan = ["run", "paper", "--dry-run", *models, "--results-dir", str(folder / "results")]
    said = measure("harness run paper --dry-run, two models", plan, environment, (0, 2))
    print("\n".join(said.splitlines()[-12:]))
    if msmarco:
        for track in ("msmarco", "msmarco_trec"):
            arguments = ["preview", "-r", track, "-n", "1", "-m", "fake:1"]
            measure(f"harness preview -r {track}", arguments, environment)
        (data / COLLECTION).unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]), "--msmarco" in sys.argv)
