"""Logic grids that a model fills in as JSON: whole grids, single cells, and readable answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from json import JSONDecoder
from typing import Any

from harness import Estimate, Example, MetricError, RunMetric, StrictJsonError, metric, parse_json
from harness.statistics import PROPORTION, InstanceTable, mean_estimate, ratio_estimate

_PUZZLES, _CELLS, _PARSED = "grid_puzzle_accuracy", "grid_cell_accuracy", "grid_parsed"
_DECODER = JSONDecoder()
_MOST_FAILURES = 1000
"""Number of braces that begin no object, so that no text takes long to read."""


@metric(
    "grid_accuracy",
    title={
        "grid_accuracy": "Grid accuracy",
        "grid_puzzle_accuracy": "Puzzle accuracy",
        "grid_cell_accuracy": "Cell accuracy",
        "grid_parsed": "Answers that can be read",
    },
    short={"grid_puzzle_accuracy": "Puzzles", "grid_cell_accuracy": "Cells", "grid_parsed": "Readable"},
    category="accuracy",
    scale={_PUZZLES: "proportion", _CELLS: "bounded", _PARSED: "proportion"},
    gives=(_PUZZLES, _CELLS, _PARSED),
    source="Lin et al. 2025 (ZebraLogic, arXiv:2502.01100), section 3.2",
)
class GridAccuracy(RunMetric):
    """The share of grids that are right (``grid_puzzle_accuracy``), of cells, and of answers that can be read.

    A correct reference is a JSON object of rows, each an object of columns:
    ``{"House 1": {"Name": "Eric", "Drink": "tea"}, …}``, or an object with such a one under the key ``solution``. The
    answer is the last of these in the prediction that is not part of another. A cell is right if both texts are equal
    without case and surrounding whitespace; of a list the first element counts. Numbers are compared as texts.

    ``grid_puzzle_accuracy`` is the share of grids all of whose cells are right; ``grid_cell_accuracy`` the number of
    right cells of all grids divided by the number of their cells, with the interval of a ratio of sums; ``grid_parsed``
    the share of predictions with a grid. An answer that cannot be read has no right cell. All lie between 0 and 1, and
    higher is better.
    """

    def __init__(self) -> None:
        self._table = InstanceTable()

    def add(self, example: Example) -> None:
        """Compare a prediction with the grid of the first correct reference.

        Raises:
            MetricError: The reference is not a grid.
        """
        expected = _reference(example)
        given = _answer(example.prediction)
        cells = [(row, column) for row, columns in expected.items() for column in columns]
        right = sum(_cell(expected, *cell) == _cell(given, *cell) for cell in cells)
        row = self._table.row(example.instance.id)
        for name, value in (
            (_PUZZLES, float(right == len(cells))),
            (_PARSED, float(given is not None)),
            ("right", right),
            ("cells", len(cells)),
        ):
            self._table.add(row, name, value)

    def estimates(self) -> Mapping[str, Estimate]:
        if not self._table.instances():
            return {}
        found = {name: mean_estimate(self._table.means(name), PROPORTION) for name in (_PUZZLES, _PARSED)}
        return {
            **found,
            _CELLS: ratio_estimate(self._table.sums("right"), self._table.sums("cells"), low=0.0, high=1.0),
        }

    def instance_scores(self) -> Mapping[str, Mapping[str, float]]:
        return {name: self._table.by_instance(name) for name in (_PUZZLES, _PARSED) if name in self._table}


def _reference(example: Example) -> Mapping[str, Mapping[str, Any]]:
    """Return the grid of the first correct reference.

    Raises:
        MetricError: There is none, or it has no cells, or an empty one.
    """
    wanted = 'a JSON object of rows that are objects of columns, {"House 1": {"Name": "Eric"}}'
    if not example.correct:
        raise MetricError(f"there is no correct reference; it must be {wanted}.")
    try:
        found = parse_json(example.correct[0].text)
    except StrictJsonError as error:
        raise MetricError(f"the correct reference must be {wanted}: {error}") from error
    grid = found.get("solution", found) if isinstance(found, dict) else {}
    if not isinstance(grid, dict) or not grid or not all(isinstance(row, dict) and row for row in grid.values()):
        raise MetricError(f"the correct reference must be {wanted}.")
    cells = ((row, column) for row, columns in grid.items() for column in columns)
    empty = next((f"{row}: {column}" for row, column in cells if _cell(grid, row, column) is None), None)
    if empty is not None:
        raise MetricError(f"the correct reference has no text for {empty}.")
    return grid


def _answer(text: str) -> Mapping[str, Any] | None:
    """Return the last grid in a text; None without one."""
    grids = [grid for found in _objects(text) if _is_grid(grid := found.get("solution", found))]
    return grids[-1] if grids else None


def _is_grid(value: object) -> bool:
    return isinstance(value, dict) and any(isinstance(row, dict) for row in value.values())


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a text that are not parts of others."""
    place, failures = text.find("{"), 0
    while place >= 0 and failures < _MOST_FAILURES:
        try:
            value, end = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):  # also an integer of too many digits
            failures += 1
            place = text.find("{", place + 1)
            continue
        yield value
        place = text.find("{", end)


def _cell(grid: Any, row: str, column: str) -> str | None:
    """Return the text of a cell as it is compared; None if there is none."""
    columns = grid.get(row) if isinstance(grid, dict) else None
    value = columns.get(column) if isinstance(columns, dict) else None
    if isinstance(value, list):
        value = value[0] if value else None
    if value is None or isinstance(value, bool | dict | list):
        return None
    return str(value).strip().lower() or None
