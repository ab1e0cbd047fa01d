"""Checkpoints with random weights in the shapes of real models, for checks of a device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

LLAMA: dict[str, dict[str, Any]] = {
    "tiny": {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
             "num_key_value_heads": 2, "vocab_size": 512},
    "0.5B": {"hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24, "num_attention_heads": 14,
             "num_key_value_heads": 2, "vocab_size": 151_936},
    "1B": {"hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 32,
           "num_key_value_heads": 8, "vocab_size": 128_256},
    "8B": {"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
           "num_key_value_heads": 8, "vocab_size": 128_256},
}  # fmt: skip
"""Qwen2-0.5B, Llama-3.2-1B and Llama-3-8B, from the configurations on their pages."""

WINDOW = 8192
LOGIT = 30.0
"""About the largest logits of trained models, which decide how far 16 bits round."""


def config(shape: str, kind: str = "llama") -> Any:
    """Return a configuration: ``llama``, with as many heads of keys as of queries (``mha``), ``mistral`` with a sliding
    window, or ``gpt2``.
    """
    import transformers

    sizes = LLAMA[shape]
    if kind == "gpt2":
        return transformers.GPT2Config(
            vocab_size=sizes["vocab_size"], n_embd=sizes["hidden_size"], n_layer=sizes["num_hidden_layers"],
            n_head=sizes["num_attention_heads"], n_positions=WINDOW, bos_token_id=0, eos_token_id=0,
        )  # fmt: skip
    settings: dict[str, Any] = {**sizes, "max_position_embeddings": WINDOW, "bos_token_id": 0, "eos_token_id": 0}
    if kind == "mistral":
        return transformers.MistralConfig(**settings, sliding_window=1024)
    if kind == "mha":
        settings["num_key_value_heads"] = settings["num_attention_heads"]
    return transformers.LlamaConfig(**settings, tie_word_embeddings=False)


def write_checkpoint(folder: Path, shape: str, kind: str, dtype: str, device: str) -> Path:
    """Write a checkpoint whose largest logits are about those of trained models, with a tokenizer of characters."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

    vocabulary = {token: index for index, token in enumerate(["<|end|>", *sorted(pre_tokenizers.ByteLevel.alphabet())])}
    tokenizer = Tokenizer(models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = dict.fromkeys(("bos_token", "eos_token"), "<|end|>")
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(folder)
    torch.manual_seed(0)
    with torch.device(device):
        torch.set_default_dtype(getattr(torch, dtype))
        try:
            model = AutoModelForCausalLM.from_config(config(shape, kind))
        finally:
            torch.set_default_dtype(torch.float32)
    with torch.inference_mode():
        largest = model(torch.arange(64, device=device)[None]).logits.abs().max().float()
    with torch.no_grad():
        model.get_output_embeddings().weight.mul_(LOGIT / float(largest))
    model.save_pretrained(folder)
    return folder
