"""Muon: momentum whose update is made orthogonal (Jordan et al. 2024), for the matrices of a small network.

It needs about half of AdamW's steps here. torch's own computes in bfloat16, which is slow on processors without it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

# The quintic whose iteration drives singular values towards 1, and the number of iterations (Jordan et al. 2024).
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
ITERATIONS = 5


class Muon:
    """Nesterov momentum on matrices, each update orthogonalised and scaled to the root mean square of an Adam update.

    Args:
        matrices: Parameters of two dimensions.
        momentum: Decay of the gradients' moving average.
        weight_decay: Share of a weight that a step at learning rate 1 takes away.
    """

    def __init__(
        self, matrices: Sequence[torch.nn.Parameter], *, momentum: float = 0.95, weight_decay: float = 0.01
    ) -> None:
        import torch

        self.matrices = list(matrices)
        self.momentum, self.weight_decay = momentum, weight_decay
        self._averages = [torch.zeros_like(matrix) for matrix in self.matrices]

    def step(self, rate: float) -> None:
        """Move the matrices against their gradients, and drop the gradients."""
        import torch

        with torch.no_grad():
            for matrix, average in zip(self.matrices, self._averages, strict=True):
                if matrix.grad is None:
                    continue
                average.lerp_(matrix.grad, 1 - self.momentum)
                update = orthogonalised(matrix.grad.lerp(average, self.momentum))
                # 0.2 is the root mean square of Adam's updates in practice (Liu et al. 2025, equation 4).
                scale = 0.2 * math.sqrt(max(matrix.shape))
                matrix.mul_(1 - rate * self.weight_decay).add_(update, alpha=-rate * scale)
                matrix.grad = None


def orthogonalised(matrix: torch.Tensor) -> torch.Tensor:
    """Return the nearest semi-orthogonal matrix, roughly: its singular values lie between about 0.7 and 1.2."""
    a, b, c = COEFFICIENTS
    wide: torch.Tensor = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    wide = wide / (wide.norm() + 1e-7)
    for _ in range(ITERATIONS):
        gram = wide @ wide.T
        wide = a * wide + (b * gram + c * gram @ gram) @ wide
    return wide if matrix.shape[0] <= matrix.shape[1] else wide.T
