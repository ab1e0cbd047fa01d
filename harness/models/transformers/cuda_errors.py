"""CUDA errors after which a process can no longer use its GPU."""

from __future__ import annotations

STICKY = (
    "device-side assert",
    "illegal memory access",
    "illegal address",
    "illegal instruction",
    "misaligned address",
    "invalid address space",
    "invalid program counter",
    "hardware stack error",
    "unspecified launch failure",
    "launch timed out",
    "uncorrectable ECC error",
    "uncorrectable NVLink error",
)
"""Errors of which the CUDA runtime says that the process must be ended and started again to go on using CUDA.

NVIDIA, CUDA Runtime API, ``cudaError``: https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html
"""

NEW_PROCESS_NOTE = ". After this error a process cannot use its GPU, so the rest runs in a new process."
"""Added to messages after CUDA's own words."""

_lost = False


def is_sticky(error: BaseException) -> bool:
    """Return whether every further call of CUDA in the process that raised an error will fail too."""
    text = str(error)
    return "CUDA" in text and any(words in text for words in STICKY)


def reason(error: BaseException) -> str:
    """Return CUDA's own words: the error's first line, without what was said around it."""
    words = str(error)
    words = words[words.index("CUDA") :]
    return words.partition("\n")[0].partition(NEW_PROCESS_NOTE)[0]


def cuda_lost() -> bool:
    """Return whether this process can no longer use CUDA."""
    return _lost


def lose_cuda() -> None:
    """Remember that this process can no longer use CUDA."""
    global _lost
    _lost = True
