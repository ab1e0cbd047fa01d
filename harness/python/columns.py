"""The columns of each data frame: their types, and what they hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Type = Literal["text", "texts", "whole", "number", "flag", "time"]
"""``text``; ``texts``, a list of texts; ``whole``, an integer; ``number``, a float; ``flag``, a boolean; ``time``, a
moment in UTC."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a data frame; any of its values may be missing."""

    type: Type
    """The type of its values."""
    meaning: str
    """What they are."""


Columns = Mapping[str, Column]


def _columns(type_: Type, **meanings: str) -> dict[str, Column]:
    return {name: Column(type_, meaning) for name, meaning in meanings.items()}


_PLACE = _columns("text", suite="Suite.", run="Name of the run, which is also its folder's.")
_ESTIMATE = _columns(
    "number",
    mean="Mean.",
    stderr="Standard error.",
    low="Lower end of the 95 % interval.",
    high="Upper end of the 95 % interval.",
)
_TRAINING = {
    **_columns("text", series="Training of which the model is a checkpoint; missing for other models."),
    **_columns("whole", step="Optimizer steps of the training before the checkpoint."),
}
_DIRECTION = _columns("flag", higher_is_better="True if higher is better, False if lower is; missing for neither.")

RUNS: Columns = {
    **_PLACE,
    **_columns(
        "text",
        status="`ok` or `failed`.",
        error="Why it failed.",
        no_value="Why it has no mean although it did not fail.",
        model="Model, as tables show it.",
        model_id="Model with its settings, as sweeps name it.",
        scenario="Scenario with its parameters.",
        method="Adaptation method.",
        metric="Main metric; the numbers are of it, on the unperturbed instances.",
    ),
    **_DIRECTION,
    **_ESTIMATE,
    **_columns(
        "whole",
        count="Number of instances.",
        examples="Number of examples: instances, perturbed copies, all trials and samples.",
        declined="Number of examples that the model declined to answer.",
        prompt_tokens="Tokens of all prompts.",
        completion_tokens="Tokens of all completions.",
        computed_tokens="Prompt and completion tokens that were computed, without cached answers and shared prefixes.",
    ),
    **_columns("number", seconds="Time that the run took, in seconds.", money="Price of its tokens, in `currency`."),
    **_columns("text", currency="Currency of `money`."),
    **_TRAINING,
    **_columns("text", determinism="Determinism grade: `exact`, `float32`, `batched`, `provider` or `unknown`."),
    **_columns("flag", sample="True for the small samples that come with the harness, which measure nothing."),
    **_columns("time", started="When it started.", finished="When it ended."),
    **_columns("text", folder="Folder of the run."),
}

LEADERBOARD: Columns = {
    **_columns(
        "whole",
        rank="Rank by mean win rate.",
        rank_first="Best rank that the data allow.",
        rank_last="Worst rank that the data allow.",
    ),
    **_columns("text", model="Model, as tables show it.", model_id="Model with its settings, as sweeps name it."),
    **_TRAINING,
    **_columns(
        "number",
        mean_win_rate="Mean win rate.",
        mean_win_rate_low="Lower end of its 95 % interval.",
        mean_win_rate_high="Upper end of its 95 % interval.",
    ),
    **_columns(
        "whole",
        win_rate_columns="Number of columns that count in the model's mean win rate.",
        win_rate_columns_of="Number of columns that could count.",
    ),
    **_columns(
        "text",
        column="Title of the leaderboard's column.",
        scenario="Scenario, or name of a composite score.",
        parameters="The scenario's parameters, as JSON.",
        method="Adaptation method.",
        split="Split that is evaluated.",
        metric="Metric.",
    ),
    **_DIRECTION,
    **_columns("text", settings="Settings that tell the column from others of the scenario, as JSON."),
    **_columns(
        "flag",
        sample="True for sample data.",
        primary="True for the scenario's column that counts in the mean win rate.",
    ),
    **_columns("text", status="`complete`, `partial`, `failed`, or why there is no mean, such as `not testable`."),
    **_ESTIMATE,
    **_columns(
        "whole",
        count="Number of instances.",
        missing="Number of examples without a value.",
        declined="Number of examples that the model declined to answer.",
    ),
    **_columns("text", declined_kinds="How it declined them."),
    **_columns("whole", runs_have="Number of runs with a result.", runs_of="Number of runs of the column."),
    **_columns("flag", best="True if tied with the best of the column."),
    **_columns(
        "whole",
        column_rank_first="Best rank in the column that the data allow.",
        column_rank_last="Worst rank in the column that the data allow.",
    ),
    **_columns(
        "text",
        runs="The runs, `suite/run`, with spaces between them.",
        no_value="Why runs have no mean although they did not fail.",
        errors="Why runs failed.",
        damaged="What is wrong with files of examples.",
    ),
}

CURVES: Columns = {
    **_columns("text", series="Training of which the model is a checkpoint."),
    **_columns("whole", step="Training step of the checkpoint."),
    **_columns(
        "text",
        model="Model, as tables show it.",
        model_id="Model with its settings, as sweeps name it.",
        column="Title of the leaderboard's column.",
        scenario="Scenario, or name of a composite score.",
        parameters="The scenario's parameters, as JSON.",
        method="Adaptation method.",
        metric="Main metric.",
    ),
    **_DIRECTION,
    **_ESTIMATE,
    **_columns("whole", count="Number of instances."),
    **_columns("flag", sample="True for sample data."),
}

SIGNAL: Columns = {
    **_columns(
        "text",
        series="Training.",
        column="Title of the leaderboard's column.",
        scenario="Scenario.",
        parameters="The scenario's parameters, as JSON.",
        method="Adaptation method.",
        metric="Main metric.",
    ),
    **_DIRECTION,
    **_columns(
        "whole",
        checkpoints="Number of checkpoints with a result.",
        first_step="Step of the first.",
        last_step="Step of the last.",
    ),
    **_columns("number", first="Score of the first.", last="Score of the last."),
    **_columns("whole", count="Number of instances."),
    **_columns(
        "number",
        signal="Typical true change between neighbours: root mean square, without sampling error.",
        noise="Typical standard error of a change.",
        signal_to_noise="Signal over noise.",
    ),
    **_columns(
        "whole",
        pairs="Number of neighbouring pairs of checkpoints.",
        told_apart="Number of these that are shown to differ (5 %, Holm's correction).",
    ),
    **_columns("number", could_show="Smallest true change that is shown with a power of 0.8 (median of the pairs)."),
    **_columns("whole", needed="Instances with which a typical change is shown with a power of 0.8."),
    **_columns("flag", paired="True if the same instances are compared."),
    **_columns(
        "number",
        training_signal="Largest difference between the last checkpoints of the trainings.",
        training_noise="Standard deviation of the last five checkpoints, mean over the trainings.",
        training_signal_to_noise="The former over the latter (Heineman et al. 2025).",
    ),
    **_columns("flag", sample="True for sample data."),
}

PROMPTS: Columns = {
    **_columns(
        "text",
        model="Model, as tables show it.",
        model_id="Model with its settings, as sweeps name it.",
        column="Title of the leaderboard's column.",
        scenario="Scenario.",
        parameters="The scenario's parameters, as JSON.",
        method="Adaptation method.",
        metric="Main metric.",
    ),
    **_DIRECTION,
    **_columns("text", prompt="The changes of the prompt in words, or `unchanged`."),
    **_columns("flag", unchanged="True for the unchanged prompt."),
    **_columns("number", prompt_mean="Mean over the instances that were scored with every prompt."),
    **_columns("flag", best="True for the best prompt.", worst="True for the worst."),
    **_columns("whole", prompts="Number of prompts."),
    **_columns(
        "number",
        mean="Mean over instances and prompts.",
        stderr="Its standard error, over instances and prompts.",
        low="Lower end of its 95 % interval.",
        high="Upper end of its 95 % interval.",
        stderr_instances="Standard error over instances, for these prompts.",
        deviation_prompts="Standard deviation of the prompts' true means, truncated at 0.",
    ),
    **_columns("whole", count="Number of instances."),
    **_columns("flag", sample="True for sample data."),
}

STATS: Columns = {
    **_PLACE,
    **_columns("text", model="Model with its settings, as sweeps name it."),
    **_TRAINING,
    **_columns(
        "text",
        scenario="Scenario with its parameters.",
        metric="Name of the score.",
        category="Category of the metric; of perturbed copies, the perturbation's.",
        split="Split of the instances.",
        perturbation="Perturbation, or a category of perturbations.",
        computed_on="`original`, `perturbed`, `worst` (of an instance and its copies) or `drop`.",
        group="`key=value` of the instances' meta data, or `key: gap`.",
    ),
    **_columns("whole", count="Number of instances."),
    **_ESTIMATE,
    **_columns("number", min="Smallest value of an instance.", max="Largest value of an instance."),
    **_DIRECTION,
    **_columns(
        "whole",
        missing="Number of examples without a value.",
        clusters="Number of clusters that the error is over.",
    ),
    **_columns("text", note="Notes on the interval."),
}

COMPARISON: Columns = {
    **_columns(
        "text",
        first_name="First model or run.",
        second_name="Second model or run.",
        first_id="First model with its settings.",
        second_id="Second model with its settings.",
        scenario="Scenario with its parameters.",
        adapter="Adaptation method.",
        metric="Score that is compared.",
    ),
    **_DIRECTION,
    **_columns("whole", count="Number of instances that both answered."),
    **_columns(
        "number",
        first="Mean of the first.",
        second="Mean of the second.",
        difference="First − second.",
        stderr="Standard error of the difference.",
        low="Lower end of its 95 % interval.",
        high="Upper end of its 95 % interval.",
    ),
    **_columns("text", test="`mcnemar`, `permutation` or `crossed` (over variants of a prompt)."),
    **_columns("number", p="The test's p-value, two-sided."),
    **_columns(
        "whole",
        differing="Number of instances whose scores differ.",
        first_higher="Number of these in which the first's is higher.",
    ),
    **_columns("flag", binary="True if every score is 0 or 1."),
    **_columns("number", variance="Variance of an instance's difference."),
    **_columns("whole", units="Number of independent clusters, or of instances."),
    **_columns("number", widest="Largest possible difference."),
    **_columns(
        "whole",
        only_first="Number of instances that only the first answered.",
        only_second="Number of instances that only the second answered.",
        undefined="Number of instances without the score in one of them.",
        changed="Number of instances whose text or references differ.",
    ),
    **_columns(
        "number",
        p_holm="p-value adjusted for all comparisons by Holm's method.",
        p_bh="p-value adjusted by Benjamini and Hochberg's method.",
        could_show="Smallest true difference that is shown with a power of 0.8 after Holm's correction.",
    ),
    **_columns(
        "text",
        title="The scenario's title.",
        settings="Settings that tell the comparison from others of the scenario.",
        notes="Notes for the reader.",
    ),
}

SAMPLES: Columns = {
    **_PLACE,
    **_columns("text", model="Model, as tables show it."),
    **_TRAINING,
    **_columns(
        "text",
        scenario="Scenario with its parameters.",
        id="Id of the instance, the same in every run.",
        split="Split of the instance.",
        perturbation="Perturbation that changed it; missing for an original.",
    ),
    **_columns("whole", trial="Train trial, from 0.", sample="Sample, from 0, where several are drawn."),
    **_columns("text", input="Input of the instance."),
    **_columns("texts", references="Its references.", correct="Its correct references."),
    **_columns(
        "text",
        meta="Its meta data, as JSON.",
        prompt="Prompt of the first request; a conversation as JSON.",
        prediction="What the metrics scored.",
    ),
    **_columns("texts", completions="Every text that the model generated."),
    **_columns("number", probability="The model's probability of its prediction."),
    **_columns("flag", truncated="True if the input was cut.", unread="True if no answer could be read."),
    **_columns("text", declined="How the model declined to answer.", error="Why there is no answer, or no score."),
    **_columns("whole", prompt_tokens="Tokens of its prompts.", completion_tokens="Tokens of its completions."),
}
"""A column for each score follows: ``score_`` and the score's name."""

TABLES: Mapping[str, Columns] = {
    "runs": RUNS,
    "leaderboard": LEADERBOARD,
    "prompts": PROMPTS,
    "curves": CURVES,
    "signal": SIGNAL,
    "stats": STATS,
    "compare": COMPARISON,
    "samples": SAMPLES,
}
"""The columns by the method of ``harness.Results`` that returns them."""
