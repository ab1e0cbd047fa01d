"""Muon: orthogonal updates that lower a loss."""

from __future__ import annotations

import pytest
import torch

from harness.contamination.lab.muon import Muon, orthogonalised


@pytest.mark.parametrize("shape", [(8, 8), (8, 32), (32, 8)])
def test_an_orthogonalised_matrix_has_singular_values_near_one_and_the_same_directions(shape: tuple[int, int]) -> None:
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    result = orthogonalised(matrix)
    assert result.shape == matrix.shape
    values = torch.linalg.svdvals(result)
    assert float(values.min()) > 0.3
    assert float(values.max()) < 1.3
    left, _, right = torch.linalg.svd(matrix, full_matrices=False)
    nearest = left @ right
    assert float((result * nearest).sum() / (result.norm() * nearest.norm())) > 0.95


def test_a_step_has_the_root_mean_square_of_an_adam_step() -> None:
    weight = torch.nn.Parameter(torch.zeros(64, 64))
    weight.grad = 1000 * torch.randn(64, 64, generator=torch.Generator().manual_seed(0))
    Muon([weight], weight_decay=0.0).step(1.0)
    assert float(weight.detach().square().mean().sqrt()) == pytest.approx(0.2, rel=0.25)
    assert weight.grad is None


def test_it_fits_a_linear_map() -> None:
    generator = torch.Generator().manual_seed(0)
    inputs, target = torch.randn(64, 16, generator=generator), torch.randn(16, 8, generator=generator)
    weight = torch.nn.Parameter(torch.zeros(16, 8))
    optimiser = Muon([weight])
    losses = []
    for step in range(200):
        loss = (inputs @ (weight - target)).square().mean()
        loss.backward()
        optimiser.step(0.1 * (1 - step / 200))
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 100


def test_a_matrix_without_a_gradient_stays() -> None:
    weight = torch.nn.Parameter(torch.ones(4, 4))
    Muon([weight]).step(1.0)
    assert torch.equal(weight.detach(), torch.ones(4, 4))
