"""Draws the figure of ``contamination.md``: how likely a model finds the published order and shuffled ones.

    harness lab paper table1 --data-dir DATA --seed 1 --output lab
    python docs/contamination_figure.py lab/models/table1-tiny-1 DATA/test_set_contamination/piqa.jsonl

The first 40 examples of the file were copied fifty times into the text that the model was trained on, and the next 40
not. Both are scored in shards of five examples, as the tests do; the shuffled orders are shuffled within the shards.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

from harness.contamination.lab.injections import read_examples

OUTPUT = Path(__file__).with_name("contamination.svg")
ORDERS, SHARD, EXAMPLES, BINS = 300, 5, 40, 26
WIDTH, PANEL, MARGIN = 760, 120, 20


def log_probabilities(model: Any, tokenizer: Any, examples: list[str]) -> list[float]:
    """Return the log-probability of the examples in the published order, in nats, then in each shuffled order."""
    tokens = [tokenizer(f"{example}\n", add_special_tokens=False, verbose=False)["input_ids"] for example in examples]
    shards = [list(range(start, start + SHARD)) for start in range(0, len(examples), SHARD)]
    rng = random.Random(0)  # noqa: S311
    totals = []
    for order in range(ORDERS + 1):
        texts = []
        for shard in shards:
            places = rng.sample(shard, len(shard)) if order else shard
            texts.append([tokenizer.bos_token_id, *(token for place in places for token in tokens[place])])
        totals.append(_log_probability(model, texts))
    return totals


def _log_probability(model: Any, texts: list[list[int]]) -> float:
    """Return the log-probability of texts, in windows of the model's length that overlap by half."""
    import torch

    length = model.config.max_position_embeddings
    windows, counted = [], []
    for text in texts:
        for start in range(0, max(1, len(text) - length // 2), length // 2):
            window = text[start : start + length]
            windows.append(window + [0] * (length - len(window)))
            first = 1 if start == 0 else length // 2
            counted.append([first <= place < len(window) for place in range(1, length)])
    rows, mask = torch.tensor(windows), torch.tensor(counted)
    with torch.inference_mode():
        scores = model(rows).logits[:, :-1].log_softmax(-1).gather(-1, rows[:, 1:, None])[..., 0]
    return float(scores[mask].sum())


def panel(top: int, title: str, totals: list[float]) -> str:
    """Return the histogram of one model and data set as SVG, with a line at the published order."""
    published, shuffled = totals[0], totals[1:]
    middle = sum(shuffled) / len(shuffled)
    reach = 1.15 * max(abs(value - middle) for value in totals)
    scale = (WIDTH - 2 * MARGIN) / (2 * reach)

    def x(value: float) -> float:
        return MARGIN + (value - middle + reach) * scale

    counts = [0] * BINS
    for value in shuffled:
        counts[min(BINS - 1, int((value - middle + reach) / (2 * reach) * BINS))] += 1
    wide, base = (WIDTH - 2 * MARGIN) / BINS, top + PANEL
    bars = [
        f'<rect x="{MARGIN + place * wide + 1:.1f}" y="{base - count / max(counts) * 70:.1f}" width="{wide - 2:.1f}" '
        f'height="{count / max(counts) * 70:.1f}" fill="#8da0cb"/>'
        for place, count in enumerate(counts)
        if count
    ]
    better = sum(value >= published for value in shuffled)
    said = (
        f"{better} of {ORDERS} shuffled orders are as likely"
        if better
        else f"likelier than all {ORDERS} shuffled orders"
    )
    at = x(published)
    anchor, shift = ("end", -8) if at > WIDTH * 0.6 else ("start", 8)
    return "\n".join(
        [
            f'<text x="{MARGIN}" y="{top + 14}" font-weight="600">{title}</text>',
            *bars,
            f'<line x1="{MARGIN}" y1="{base}" x2="{WIDTH - MARGIN}" y2="{base}" stroke="#808080"/>',
            f'<line x1="{at:.1f}" y1="{top + 26}" x2="{at:.1f}" y2="{base}" stroke="#d95f02" stroke-width="2.5"/>',
            f'<text x="{at + shift:.1f}" y="{top + 38}" text-anchor="{anchor}" fill="#b34700">'
            f"published order: {said}</text>",
        ]
    )


def main(model: str, file: str) -> None:
    """Write the figure."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    loaded, tokenizer = AutoModelForCausalLM.from_pretrained(model), AutoTokenizer.from_pretrained(model)
    examples = read_examples(Path(file))
    titles = ("Examples that were in the training text fifty times", "Examples that were not in it")
    seen, unseen = (
        panel(
            place * (PANEL + 40), title, log_probabilities(loaded, tokenizer, examples[place * EXAMPLES :][:EXAMPLES])
        )
        for place, title in enumerate(titles)
    )
    height = 2 * PANEL + 80
    axis = "log-probability of all 40 examples, from less likely to likelier →"
    OUTPUT.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
        f'font-size="13" role="img" aria-label="Log-probabilities of shuffled orders and of the published one">\n'
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>\n{seen}\n{unseen}\n'
        f'<text x="{WIDTH / 2}" y="{height - 14}" text-anchor="middle" fill="#555555">{axis}</text>\n</svg>\n',
        "utf-8",
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
