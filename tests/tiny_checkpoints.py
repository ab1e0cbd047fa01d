"""Tiny checkpoints with random weights: every architecture's ways, in a second and without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

SMALL: dict[str, Any] = {
    "vocab_size": 320,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "pad_token_id": None,
    "initializer_range": 0.4,
}
LLAMA_LIKE: dict[str, Any] = {
    **SMALL,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 64,
}


def config_of(kind: str) -> Any:
    """Return the configuration of a tiny model of an architecture."""
    import transformers

    if kind == "gpt2":
        return transformers.GPT2Config(**SMALL, n_embd=32, n_layer=2, n_head=4, n_positions=64)
    if kind == "llama":
        return transformers.LlamaConfig(**LLAMA_LIKE)
    if kind == "gemma2":
        # Caps its logits after the output layer, and attends to a sliding window in every other layer.
        return transformers.Gemma2Config(**LLAMA_LIKE, final_logit_softcapping=3.0, sliding_window=16)
    if kind == "mistral":
        return transformers.MistralConfig(**LLAMA_LIKE, sliding_window=16)
    if kind == "granite":
        return transformers.GraniteConfig(**LLAMA_LIKE, logits_scaling=4.0)
    if kind == "mamba":
        return transformers.MambaConfig(**SMALL, hidden_size=32, num_hidden_layers=2, state_size=4)
    raise ValueError(kind)


def tokenizer() -> Any:
    """Return a byte-level BPE tokenizer of 320 tokens, trained on a few sentences."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(
        ["the answer is the answer to the question", "Answer: A Answer: B\nQuestion:"], trainer
    )
    special = dict.fromkeys(("bos_token", "eos_token"), "<|end|>")
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)


def write_checkpoint(folder: Path, kind: str, tokenizer: Any) -> None:
    """Write a checkpoint of an architecture; the same weights every time."""
    import torch
    import transformers

    with torch.random.fork_rng():
        torch.manual_seed(7)
        model = transformers.AutoModelForCausalLM.from_config(config_of(kind))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
