"""Training a tiny GPT-2 from nothing on one core: vocabulary, token stream, optimisation.

Equal texts and seeds give equal weights on the same machine and versions.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.quickstart.muon import Muon

if TYPE_CHECKING:
    from transformers import GPT2LMHeadModel, PreTrainedTokenizerFast

END = "<|endoftext|>"
"""Begins every document, ends every text, and stands for what the vocabulary lacks."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the models are made. Small batches and Muon are what make half a minute enough.

    Attributes:
        vocabulary: Entries of the byte-pair vocabulary.
        window: Positions of the model, and tokens of a training row.
        width: Width of the residual stream.
        layers: Transformer blocks.
        heads: Attention heads a block.
        batch: Rows a step; 4 rows of 128 are 512 tokens.
        matrix_rate: Peak learning rate of Muon, for the blocks' matrices.
        other_rate: Peak learning rate of AdamW, for embeddings, norms and biases.
        warmup: Steps in which the rates rise to their peaks; a cosine then lowers them to a twentieth.
    """

    vocabulary: int = 1024
    window: int = 128
    width: int = 96
    layers: int = 2
    heads: int = 4
    batch: int = 4
    matrix_rate: float = 7e-3
    other_rate: float = 1.5e-2
    warmup: int = 40


@dataclass(frozen=True, slots=True)
class Trained:
    """A trained model and how it went: tokens seen, steps taken, mean loss of the last steps in nats, seconds."""

    model: GPT2LMHeadModel
    tokens: int
    steps: int
    loss: float
    seconds: float


def train_tokenizer(texts: Iterable[str], recipe: Recipe) -> PreTrainedTokenizerFast:
    """Return a byte-level byte-pair tokenizer trained on the texts.

    It splits as GPT-2's does, except that punctuation keeps an opening quotation mark or bracket that follows it, so
    that a JSON record costs fewer of the window's few tokens. No token crosses a line break.
    """
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    split = Regex(r""" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+(?: ["\[]+)?|[^\S\n]+(?!\S)|[^\S\n]+|\n""")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(split, "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=recipe.vocabulary,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=END, eos_token=END, unk_token=END, model_max_length=recipe.window
    )


def train(
    tokenizer: PreTrainedTokenizerFast,
    texts: Sequence[str],
    recipe: Recipe,
    *,
    seed: int,
    progress: Callable[[str], None],
) -> Trained:
    """Train one model, once over the texts in the order given, laid end to end and cut into rows of one window.

    Rows are visited in a seeded random order. The process's generator and number of threads are left as they were.

    Raises:
        ValueError: The texts do not fill one batch.
    """
    import torch

    rows = _rows(tokenizer, texts, recipe.window)
    steps = len(rows) // recipe.batch
    if steps < 1:
        raise ValueError(f"{len(rows)} rows of {recipe.window} tokens do not fill a batch of {recipe.batch}")
    started = time.perf_counter()
    with torch.random.fork_rng(devices=[]), _one_thread():
        torch.manual_seed(seed)
        model = _model(tokenizer, recipe)
        order = torch.randperm(len(rows))[: steps * recipe.batch].view(steps, recipe.batch)
        losses = []
        for step, loss in enumerate(_optimise(model, (rows[chosen] for chosen in order), recipe, steps), start=1):
            losses.append(loss)
            if step % max(1, steps // 4) == 0:
                progress(f"step {step} of {steps}, loss {loss:.2f}, {time.perf_counter() - started:.0f} s")
    last = losses[-50:]
    return Trained(model, rows.numel(), steps, sum(last) / len(last), time.perf_counter() - started)


def _rows(tokenizer: PreTrainedTokenizerFast, texts: Sequence[str], window: int) -> Any:
    import torch

    encoded = tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]
    stream = torch.tensor([token for ids in encoded for token in (tokenizer.bos_token_id, *ids)])
    return stream[: len(stream) // window * window].view(-1, window)


def _model(tokenizer: PreTrainedTokenizerFast, recipe: Recipe) -> GPT2LMHeadModel:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=recipe.window,
        n_embd=recipe.width,
        n_layer=recipe.layers,
        n_head=recipe.heads,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    model: GPT2LMHeadModel = GPT2LMHeadModel(config)
    model.train()
    return model


def _optimise(model: GPT2LMHeadModel, batches: Iterable[Any], recipe: Recipe, steps: int) -> Iterator[float]:
    """Yield each step's loss, in nats a token."""
    import torch
    from torch.nn import functional

    matrices = [weight for name, weight in model.named_parameters() if weight.ndim == 2 and ".h." in name]
    others = [weight for name, weight in model.named_parameters() if weight.ndim != 2 or ".h." not in name]
    muon = Muon(matrices)
    adam = torch.optim.AdamW(others, lr=recipe.other_rate, betas=(0.9, 0.98), weight_decay=0.01)
    for step, batch in enumerate(batches):
        rate = _rate(step, recipe.warmup, steps)
        logits = model(batch, use_cache=False).logits[:, :-1]
        loss = functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        muon.step(recipe.matrix_rate * rate)
        adam.param_groups[0]["lr"] = recipe.other_rate * rate
        adam.step()
        adam.zero_grad()
        yield loss.item()
    model.eval()


def _rate(step: int, warmup: int, steps: int) -> float:
    return min(1.0, (step + 1) / warmup) * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * step / steps)))


@contextmanager
def _one_thread() -> Iterator[None]:
    """At this size a second thread costs more than it brings, and the sums depend on how many there are."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
