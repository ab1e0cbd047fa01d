"""Training a small GPT-2 or Llama from scratch: vocabulary, rows of tokens, optimisation.

Equal rows and seeds give equal weights on the same machine and versions; on one core they do so exactly.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from harness.contamination.lab.muon import Muon

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerFast

END = "<|endoftext|>"
"""Begins every document, ends every text, and replaces what the vocabulary lacks."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Architecture and training settings. Thanks to small batches and Muon, half a minute trains the smallest model."""

    architecture: Literal["gpt2", "llama"] = "gpt2"
    """GPT-2, or Llama with as many key-value heads as heads."""
    vocabulary: int = 1024
    """Size of the byte-pair vocabulary."""
    window: int = 128
    """Context of the model, and length of a training row, in tokens."""
    width: int = 96
    """Width of the residual stream."""
    layers: int = 2
    """Number of transformer blocks."""
    heads: int = 4
    """Number of attention heads in a block."""
    batch: int = 4
    """Rows per step; 4 rows of 128 are 512 tokens."""
    rows_at_once: int = 32
    """Rows of a step that are in memory at once; gradients accumulate over them."""
    matrix_rate: float = 7e-3
    """Peak learning rate of Muon, for the blocks' matrices."""
    other_rate: float = 1.5e-2
    """Peak learning rate of AdamW, for embeddings, norms and biases."""
    warmup: int = 40
    """Steps in which the rates rise to their peaks; they then decay to a twentieth along a cosine."""


@dataclass(frozen=True, slots=True)
class Trained:
    """A trained model, with the tokens and steps of its training, mean loss of the last steps (nats), and seconds."""

    model: Any
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

    Raises:
        ValueError: The texts do not fill one batch.
    """
    import torch

    encoded = tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]
    stream = torch.tensor([token for ids in encoded for token in (tokenizer.bos_token_id, *ids)])
    rows = stream[: len(stream) // recipe.window * recipe.window].view(-1, recipe.window)
    return train_rows(rows, recipe, tokenizer=tokenizer, seed=seed, progress=progress)


def train_rows(
    rows: torch.Tensor,
    recipe: Recipe,
    *,
    tokenizer: PreTrainedTokenizerFast,
    seed: int,
    progress: Callable[[str], None],
    device: str = "cpu",
) -> Trained:
    """Train one model, once over rows of tokens in a seeded random order.

    The process's generator and number of threads are left as they were. On a CPU one thread computes; on a GPU, in
    bfloat16 with float32 weights.

    Args:
        rows: Tokens, ``(rows, window)``; a memory-mapped tensor is read as it is needed.
        recipe: The model and how it is trained.
        tokenizer: The tokenizer of the rows.
        seed: Seeds the initial weights and the order.
        progress: Called with a line of text now and then.
        device: torch's device.

    Raises:
        ValueError: The rows do not fill one batch.
    """
    import torch

    steps = len(rows) // recipe.batch
    if steps < 1:
        raise ValueError(f"{len(rows)} rows of {recipe.window} tokens do not fill a batch of {recipe.batch}")
    started = time.perf_counter()
    forked = [torch.device(device)] if device.startswith("cuda") else []
    with torch.random.fork_rng(devices=forked), _one_thread(device):
        torch.manual_seed(seed)
        model = _model(tokenizer, recipe).to(device)
        order = torch.randperm(len(rows))[: steps * recipe.batch].view(steps, recipe.batch)
        batches = (rows[chosen].long().split(recipe.rows_at_once) for chosen in order)
        losses: list[float] = []
        for step, loss in enumerate(_optimise(model, batches, recipe, steps), start=1):
            losses = [*losses[-49:], loss]
            if step % max(1, steps // 4) == 0:
                progress(f"step {step} of {steps}, loss {loss:.2f}, {time.perf_counter() - started:.0f} s")
    return Trained(model.cpu(), rows.numel(), steps, sum(losses) / len(losses), time.perf_counter() - started)


def _model(tokenizer: PreTrainedTokenizerFast, recipe: Recipe) -> Any:
    from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

    ends = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    model: Any
    if recipe.architecture == "llama":
        model = LlamaForCausalLM(
            LlamaConfig(
                vocab_size=len(tokenizer),
                max_position_embeddings=recipe.window,
                hidden_size=recipe.width,
                # Three matrices of this size hold as many weights as GPT-2's two of four widths.
                intermediate_size=recipe.width * 8 // 3,
                num_hidden_layers=recipe.layers,
                num_attention_heads=recipe.heads,
                **ends,
            )
        )
    else:
        model = GPT2LMHeadModel(
            GPT2Config(
                vocab_size=len(tokenizer),
                n_positions=recipe.window,
                n_embd=recipe.width,
                n_layer=recipe.layers,
                n_head=recipe.heads,
                resid_pdrop=0.0,
                embd_pdrop=0.0,
                attn_pdrop=0.0,
                **ends,
            )
        )
    model.train()
    return model


def _optimise(model: Any, steps: Iterable[Sequence[torch.Tensor]], recipe: Recipe, count: int) -> Iterator[float]:
    """Yield each step's loss, in nats a token."""
    import torch
    from torch.nn import functional

    matrices = [weight for name, weight in model.named_parameters() if weight.ndim == 2 and _in_a_block(name)]
    others = [weight for name, weight in model.named_parameters() if weight.ndim != 2 or not _in_a_block(name)]
    muon = Muon(matrices)
    adam = torch.optim.AdamW(others, lr=recipe.other_rate, betas=(0.9, 0.98), weight_decay=0.01)
    device = model.device
    for step, parts in enumerate(steps):
        rate, total = _rate(step, recipe.warmup, count), 0.0
        size = sum(map(len, parts))
        for part in parts:
            tokens = part.to(device, non_blocking=True)
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                logits = model(tokens, use_cache=False).logits[:, :-1]
            loss = functional.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten()) * (len(part) / size)
            loss.backward()
            total += loss.item()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        muon.step(recipe.matrix_rate * rate)
        adam.param_groups[0]["lr"] = recipe.other_rate * rate
        adam.step()
        adam.zero_grad()
        yield total
    model.eval()


def _in_a_block(name: str) -> bool:
    return ".h." in name or ".layers." in name


def _rate(step: int, warmup: int, steps: int) -> float:
    return min(1.0, (step + 1) / warmup) * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * step / steps)))


@contextmanager
def _one_thread(device: str) -> Iterator[None]:
    """Use one thread on a CPU: more are slower at this size, and the sums depend on their number."""
    import torch

    before = torch.get_num_threads()
    if device == "cpu":
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
