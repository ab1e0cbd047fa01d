"""TensorBoard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from harness import FinishedRun, Listener, install_advice, listener
from harness.trackers._tracker_runs import file_name, sample_table, sent_record, tracker_run

if TYPE_CHECKING:
    from tensorboardX import SummaryWriter


@listener(
    "tensorboard",
    source="https://www.tensorflow.org/tensorboard",
    needs="tensorboardX",
    install=install_advice("tensorboard"),
)
class TensorboardListener(Listener):
    """Write results for TensorBoard: metrics as scalars, and samples and run.json as texts.

    There is a folder for each model of a suite; checkpoints of one training share a folder, with the training step as
    the step. ``tensorboard --logdir FOLDER`` shows them.

    Args:
        folder: Folder for the event files.
        samples: Maximum number of samples of a run; 0 for none.
    """

    def __init__(self, *, folder: str = "tensorboard", samples: Annotated[int, Field(ge=0)] = 20) -> None:
        import tensorboardX  # noqa: F401 - it may import PyTorch, which no thread should do beside a model

        self._folder, self._samples = Path(folder), samples
        self._writers: dict[str, SummaryWriter] = {}

    def run_ended(self, run: FinishedRun) -> None:
        from tensorboardX import SummaryWriter
        from tensorboardX.proto.summary_pb2 import Summary

        place = tracker_run(run)
        writer = self._writers.get(place.key)
        if writer is None:
            folder = self._folder / file_name(run.suite) / f"{file_name(place.name)}-{place.key[:6]}"
            writer = self._writers[place.key] = SummaryWriter(str(folder))
        step = run.step or 0
        if run.error is not None:
            writer.add_text(f"{run.title}/error", _verbatim(run.error), step)
            return
        for name, value in run.metrics().items():
            # TensorBoard takes any text as a name, but add_scalar, unlike add_text, replaces characters such as spaces.
            writer.file_writer.add_summary(Summary(value=[Summary.Value(tag=name, simple_value=value)]), step)
        writer.add_text(f"{run.title}/run.json", _verbatim(sent_record(run)), step)
        columns, rows = sample_table(run, self._samples) if self._samples else ([], [])
        for place_in_run, row in enumerate(rows):
            shown = {column: value for column, value in zip(columns, row, strict=True) if value not in (None, "")}
            text = json.dumps(shown, ensure_ascii=False, indent=2)
            writer.add_text(f"{run.title}/samples/{place_in_run}", _verbatim(text), step)

    def close(self) -> None:
        for key in list(self._writers):
            self._writers.pop(key).close()


def _verbatim(text: str) -> str:
    """Return a text as Markdown that shows it as it is, whatever it holds."""
    return "\n".join(f"    {line}" for line in text.splitlines())
