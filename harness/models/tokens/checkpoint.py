"""Finding, identifying and loading a transformers checkpoint, by folder or by name on the Hub."""

from __future__ import annotations

import gc
import importlib.util
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any

from harness import CheckpointSource, ModelError, install_advice
from harness.backends import models_are_asked, reraise_interrupt
from harness.models.tokens.checkpoint_files import files_read, folder_digest, weights_held
from harness.models.tokens.model_card import CARD, card_in_folder, facts_of_card

if TYPE_CHECKING:
    import torch

INSTALL = install_advice("hf")
ADAPTER_CONFIG = "adapter_config.json"
MERGE_ADAPTER = "Merge the adapter into the model's weights (merge_and_unload) and save both as one checkpoint."
PICKLE_ADVICE = (
    "is a Python pickle that holds more than tensors: reading it could run any code, so it is refused. Use a version "
    "of the model in safetensors. To make one from a pickle that you trust, load the model in the program that wrote "
    "it and save it with save_pretrained, which writes model.safetensors."
)
MANY_LAYERS = 1000
"""Layers up to which a configuration is believed without a check; no published model comes near."""
MOST_WEIGHTS_A_BYTE = 64
"""Upper bound on the weights that a quantisation packs into a byte."""
LOADING = threading.RLock()
"""Held while anything is loaded with transformers, whose modules cannot be imported by two threads at once: prompts are
made on one thread while answers are given on another, and either may be the first to need them.
"""
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint that exists, as far as could be checked without reading it."""

    name: str
    """``backend:identifier`` as the user wrote it."""
    location: str
    """A folder, or a name on the Hub."""
    local: bool
    """True for a folder."""
    revision: str | None
    """The revision on the Hub that was asked for."""
    remote_code: bool
    """True if code that comes with the checkpoint may run."""
    card: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """The front matter of the model card that the Hub gave with the commit; empty for a folder, or without the Hub."""

    def files(self) -> Mapping[str, Path]:
        """Return the files that loading reads from a folder, by their paths within it (:func:`files_read`)."""
        return files_read(Path(self.location), self.name, remote_code=self.remote_code)

    def digest(self, *, weights: bool = True) -> str:
        """Return what identifies the content: a digest of a folder's files, or the name and commit on the Hub."""
        if not self.local:
            return f"{self.location}@{self.revision}"
        return folder_digest(Path(self.location), self.name, remote_code=self.remote_code, weights=weights)


def checkpoints(
    identifier: str, *, revision: str | None = None, trust_remote_code: bool = False, **_: object
) -> list[CheckpointSource]:
    """Return the checkpoint that a model's name and parameters name, for ``@backend(checkpoints=…)``."""
    return [CheckpointSource(identifier, revision, remote_code=trust_remote_code)]


def find_checkpoint(name: str, revision: str | None = None, remote_code: bool = False) -> Checkpoint:
    """Return the checkpoint that ``backend:identifier`` names, a folder before a Hub name; nothing is downloaded.

    Raises:
        ModelError: The folder does not exist or holds no checkpoint, or the name cannot be one on the Hub.
    """
    prefix, _, identifier = name.partition(":")
    path = Path(os.path.expanduser(identifier))
    if path.is_dir():
        if not (path / "config.json").is_file():
            if (path / ADAPTER_CONFIG).is_file():
                raise ModelError(f"{name}: the folder holds an adapter without its model. {MERGE_ADAPTER}")
            raise ModelError(
                f"{name}: the folder has no config.json, so it is not a transformers checkpoint. "
                "It needs the files that save_pretrained writes for a model and for its tokenizer."
            )
        if (path / ADAPTER_CONFIG).is_file() and importlib.util.find_spec("peft") is None:
            raise ModelError(
                f"{name}: the folder holds an adapter ({ADAPTER_CONFIG}), and the package peft, which would apply "
                f"it, is not installed: the model would be evaluated without it. Install peft, or: {MERGE_ADAPTER}"
            )
        if revision is not None:
            raise ModelError(f"{name}: a folder has no revision; 'revision: {revision}' is for names on the Hub.")
        return Checkpoint(name, str(path), True, None, remote_code)
    if path.exists():
        raise ModelError(f"{name}: this is a file; name the folder that holds config.json and the weights.")
    if identifier.startswith((".", "/", "~")) or HUB_NAME.fullmatch(identifier) is None:
        raise ModelError(
            f"{name}: there is no such folder. Name a folder that holds a transformers checkpoint, "
            f"or a model on the Hub, for example {prefix}:openai-community/gpt2."
        )
    return Checkpoint(name, identifier, False, revision, remote_code)


def resolve_commit(checkpoint: Checkpoint) -> Checkpoint:
    """Return a Hub checkpoint with its revision resolved to a commit, from the Hub or else from the local cache.

    Raises:
        ModelError: The Hub has no such model or revision, or it cannot be reached and the cache does not have it.
    """
    if checkpoint.local:
        return checkpoint
    with _installed():
        from huggingface_hub import HfApi, try_to_load_from_cache
        from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError
    name, revision = checkpoint.location, checkpoint.revision
    here, folder = checkpoint.name, f"./{name.rpartition('/')[2]}"
    try:
        info = HfApi().model_info(name, revision=revision, timeout=10)
        commit, card = info.sha, _card_of(info)
    except GatedRepoError:
        raise ModelError(
            f"{here}: the model is gated. Accept its terms at https://huggingface.co/{name} and log in "
            "with `hf auth login`, or name a folder with a copy."
        ) from None
    except RevisionNotFoundError:
        raise ModelError(f"{here}: the Hub has the model, but no revision {revision!r}.") from None
    except RepositoryNotFoundError:
        raise ModelError(
            f"{here}: there is no such folder, and no such public model on the Hub. Check the spelling; "
            "a private model needs `hf auth login`."
        ) from None
    except Exception as error:
        cached = try_to_load_from_cache(name, "config.json", revision=revision)
        if not isinstance(cached, str):
            raise ModelError(
                f"{here}: there is no such folder, and the Hub cannot be reached ({_first_line(error)}). "
                f"Where there is a network, `hf download {name} --local-dir {folder}` makes a folder; copy it here and "
                f"name it: {here.partition(':')[0]}:{folder}."
            ) from None
        commit = Path(cached).parent.name
        readme = try_to_load_from_cache(name, CARD, revision=commit)
        card = card_in_folder(Path(readme).parent) if isinstance(readme, str) else {}
    return Checkpoint(checkpoint.name, name, False, commit, checkpoint.remote_code, card)


def card_facts(checkpoint: Checkpoint) -> dict[str, str]:
    """Return what a checkpoint's model card states: licence, base model, library."""
    return facts_of_card(card_in_folder(Path(checkpoint.location)) if checkpoint.local else checkpoint.card)


def _card_of(info: Any) -> Mapping[str, Any]:
    """Return the front matter of the model card in the Hub's answer about a model."""
    card = getattr(info, "card_data", None)
    return dict(card.to_dict()) if card is not None else {}


def load_config(checkpoint: Checkpoint) -> Any:
    """Return the checkpoint's transformers configuration.

    Raises:
        ModelError: It cannot be read.
    """
    config = _load(checkpoint, "configuration", _auto_class("AutoConfig").from_pretrained)
    if checkpoint.local:
        _check_size(checkpoint, config)
    return config


def _check_size(checkpoint: Checkpoint, config: Any) -> None:
    """Refuse a configuration that cannot be of the model whose weights are there; building it would take hours.

    Raises:
        ModelError: It has thousands of layers and fewer tensors, or an embedding larger than all weights.
    """
    text = config.get_text_config()
    known = {key: getattr(text, key, None) for key in ("num_hidden_layers", "hidden_size", "vocab_size")}
    layers, width, vocabulary = (value if isinstance(value, int) else 0 for value in known.values())
    tensors, size = weights_held(checkpoint.files())
    if layers > MANY_LAYERS and layers > tensors:
        found = f"num_hidden_layers is {layers:,}, and the weights hold {tensors:,} tensors"
    elif size and width * vocabulary > MOST_WEIGHTS_A_BYTE * size:
        found = f"an embedding of {vocabulary:,} tokens by {width:,} does not fit the {size:,} bytes of weights"
    else:
        return
    raise ModelError(f"{checkpoint.name}: config.json does not match the weights in its folder: {found}.")


def load_tokenizer(checkpoint: Checkpoint) -> Any:
    """Return the checkpoint's tokenizer.

    Raises:
        ModelError: It has none, or it cannot be read.
    """
    tokenizer = _load(checkpoint, "tokenizer", _auto_class("AutoTokenizer").from_pretrained)
    # transformers makes an empty tokenizer where the files are missing.
    if not tokenizer("The answer is 42.", add_special_tokens=False)["input_ids"]:
        raise ModelError(
            f"{checkpoint.name}: its tokenizer has no vocabulary. Save the tokenizer next to the model "
            "(tokenizer.json, or the files of the model's own tokenizer)."
        )
    return tokenizer


def load_weights(checkpoint: Checkpoint, dtype: str, device_map: str | Mapping[str, str] | None = None) -> Any:
    """Return the checkpoint as a causal language model in evaluation mode.

    Raises:
        ModelError: The weights are missing, incomplete or not those of a causal language model.
    """
    if checkpoint.local:
        checkpoint.files()  # an index that names files elsewhere is refused
    options: dict[str, Any] = {}
    if device_map is not None:
        if importlib.util.find_spec("accelerate") is None:
            raise ModelError(
                f"{checkpoint.name}: a model that is quantised, or spread by device_map, needs accelerate: "
                f"{install_advice('hf-large')}"
            )
        options["device_map"] = device_map
    load = _auto_class("AutoModelForCausalLM").from_pretrained
    _silence_progress()
    model, info = _load(checkpoint, "weights", load, dtype=dtype, output_loading_info=True, **options)
    missing = sorted(info.get("missing_keys", ()))
    if missing:
        shown = ", ".join(missing[:3])
        raise ModelError(
            f"{checkpoint.name}: the checkpoint lacks {len(missing)} of the model's weights ({shown}…), "
            "which would be filled with random numbers. Is it a language model with its output layer?"
        )
    fuse_activations(model)
    return model.eval()


def count_parameters(checkpoint: Checkpoint, config: Any) -> int | None:
    """Return the model's number of parameters, tied ones counted once, without reading its weights.

    None if the architecture cannot be built without them.
    """
    import torch

    build = _auto_class("AutoModelForCausalLM").from_config
    try:
        with _no_collections(), torch.device("meta"):
            return int(build(config, trust_remote_code=checkpoint.remote_code).num_parameters())
    except BaseException as error:  # the model's own code may run here
        reraise_interrupt(error)
        return None


def fuse_activations(model: torch.nn.Module) -> None:
    """Compute GPT-2's activation in one kernel instead of transformers' seven steps; equal up to rounding."""
    import torch
    from transformers.activations import NewGELUActivation

    for module in list(model.modules()):
        for name, child in module.named_children():
            if type(child) is NewGELUActivation:
                setattr(module, name, torch.nn.GELU(approximate="tanh"))


def _load(checkpoint: Checkpoint, what: str, load: Callable[..., Any], **options: Any) -> Any:
    try:
        # Loading imports the model's own modules.
        with LOADING, _no_collections():
            return load(
                checkpoint.location,
                revision=checkpoint.revision,
                trust_remote_code=checkpoint.remote_code,
                # A folder that has just been deleted is not a repository; only its own code may be elsewhere.
                **({"local_files_only": True} if checkpoint.local and not checkpoint.remote_code else {}),
                **options,
            )
    except ImportError as error:
        raise ModelError(f"{checkpoint.name}: its {what} needs another package: {_first_line(error)}") from error
    except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
        if "trust_remote_code" in str(error):
            raise ModelError(
                f"{checkpoint.name}: the checkpoint contains Python code, which is not run unless "
                "you allow it. If you trust it, write {name: " + f'"{checkpoint.name}"' + ", trust_remote_code: true}."
            ) from None
        raise ModelError(f"{checkpoint.name}: its {what} cannot be loaded: {_first_line(error)}") from error
    except UnpicklingError:
        raise ModelError(f"{checkpoint.name}: {_pickles(checkpoint)} {PICKLE_ADVICE}") from None
    except BaseException as error:
        reraise_interrupt(error)
        foreign = type(error).__module__.startswith(("safetensors", "tokenizers", "pyo3_runtime"))
        if foreign or type(error) is Exception:
            raise ModelError(f"{checkpoint.name}: its {what} is damaged: {_first_line(error)}") from error
        raise


def _pickles(checkpoint: Checkpoint) -> str:
    """Return the names of the checkpoint's pickled weights."""
    files = [f"{checkpoint.location}'s weights"]
    if checkpoint.local:
        files = [path for path in checkpoint.files() if path.endswith(".bin")] or files
    return ", ".join(files[:3]) + (", …" if len(files) > 3 else "")


def _silence_progress() -> None:
    from transformers.utils import logging

    logging.disable_progress_bar()


def _auto_class(name: str) -> Any:
    with LOADING, _installed(), _no_collections():
        first = "transformers" not in sys.modules
        if models_are_asked() or "torch" in sys.modules:
            import torch  # noqa: F401 - transformers imports without it, and fails later and less clearly
            import transformers
        else:
            with _without_torch():
                import transformers

        # What was imported stays, and looking through it takes a quarter of a second each time. Frozen objects are not
        # freed at the end, though, and triton, which is imported next, then lists each of its own as leaked.
        if first and "triton" not in sys.modules:
            gc.freeze()
        return getattr(transformers, name)


@contextmanager
def _without_torch() -> Iterator[None]:
    """Let transformers find no torch: to tokenize, it then needs a third of the time and a sixth of the memory."""
    advice = "TRANSFORMERS_NO_ADVISORY_WARNINGS"
    before = os.environ.get(advice)
    sys.modules["torch"], os.environ[advice] = None, "1"  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["torch"], os.environ[advice]
        if before is not None:
            os.environ[advice] = before


@contextmanager
def _installed() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise ModelError(f"hf: models need torch and transformers ({error}): {INSTALL}") from error


@contextmanager
def _no_collections() -> Iterator[None]:
    """Switch garbage collection off: imports make a million objects that stay, and collecting takes a tenth longer."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
