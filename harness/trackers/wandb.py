"""Weights & Biases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from harness import FinishedRun, HarnessError, Listener, install_advice, listener
from harness.trackers._tracker_runs import STEP, TrackerRun, file_name, sample_table, sent_record, tracker_run

if TYPE_CHECKING:
    from wandb import Run


@listener("wandb", source="https://docs.wandb.ai", needs="wandb", install=install_advice("wandb"))
class WandbListener(Listener):
    """Send results to Weights & Biases: metrics, tables of samples, and run.json as an artifact.

    There is a run for each model of a suite, whose summary has each metric. Checkpoints of one training share a run,
    with the training step as the axis. In the mode ``offline``, everything is written to a folder, which
    ``wandb sync`` sends later. Log in with ``wandb login`` or ``WANDB_API_KEY``.

    Args:
        project: The project.
        entity: The user or team (default: your own).
        mode: ``online`` or ``offline`` (default: ``WANDB_MODE``, else ``online``).
        folder: Folder for its files (default: ``WANDB_DIR``, else the current folder).
        samples: Maximum number of samples in a run's table; 0 for none.
    """

    def __init__(
        self,
        *,
        project: str = "harness",
        entity: str | None = None,
        mode: Literal["online", "offline"] | None = None,
        folder: str | None = None,
        samples: Annotated[int, Field(ge=0)] = 100,
    ) -> None:
        import wandb

        self._project, self._entity, self._folder, self._samples = project, entity, folder, samples
        self._mode: Literal["online", "offline"] = mode or _mode(wandb.setup().settings.mode)
        if self._mode == "online" and not wandb.login(prompt=False, verify=False):
            raise HarnessError(
                "the listener wandb has no API key: run `wandb login`, set WANDB_API_KEY, or write mode=offline."
            )
        self._runs: dict[str, Run] = {}

    def run_ended(self, run: FinishedRun) -> None:
        import wandb

        place = tracker_run(run)
        there = self._runs.get(place.key) or self._open(place, run.suite)
        failed = f"{run.title}/error" if run.step is None else f"{run.title}/error/{run.step}"
        summary: Any = there.summary
        if run.error is not None or summary.get(failed):
            summary[failed] = run.error or ""
        if run.error is not None:
            return
        metrics: dict[str, Any] = dict(run.metrics())
        if self._samples:
            columns, rows = sample_table(run, self._samples)
            metrics[f"samples/{run.title}"] = wandb.Table(
                columns=list[str | int](columns), data=rows, allow_mixed_types=True
            )
        there.log(metrics | ({STEP: run.step} if run.step is not None else {}))
        artifact = wandb.Artifact(file_name(run.name), type="harness-run")
        with artifact.new_file("run.json", encoding="utf-8") as file:
            file.write(sent_record(run))
        there.log_artifact(artifact)

    def close(self) -> None:
        for key in list(self._runs):
            self._runs.pop(key).finish()

    def _open(self, place: TrackerRun, suite: str) -> Run:
        import wandb

        opened: Run = wandb.init(
            project=self._project,
            entity=self._entity,
            mode=self._mode,
            dir=self._folder,
            id=place.key,
            name=place.name,
            group=suite,
            config=place.settings,
            resume="allow" if self._mode == "online" else None,
            reinit="create_new",
            settings=wandb.Settings(console="off", silent=True, disable_code=True, disable_git=True),
        )
        opened.define_metric(STEP, hidden=True)
        opened.define_metric("*", step_metric=STEP)
        self._runs[place.key] = opened
        return opened


def _mode(setting: str) -> Literal["online", "offline"]:
    """Return the mode of Weights & Biases's own setting.

    Raises:
        HarnessError: The setting turns it off.
    """
    if setting == "disabled":
        raise HarnessError("the listener wandb is turned off by WANDB_MODE=disabled: unset it, or write mode=offline.")
    return "offline" if setting in ("offline", "dryrun") else "online"
