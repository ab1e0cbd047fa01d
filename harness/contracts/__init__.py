"""The types that all stages of a run share, and the interface of each kind of plugin.

Scenario → Instance → Perturbation → Instance → Adapter → Request → Model → Response → Example → Metric → Stat.
Of the harness, nothing here imports anything but the errors.
"""

from harness.contracts.adapters import Adapted, Adapter, Example, Prediction, PromptChange
from harness.contracts.determinism import Determinism
from harness.contracts.instances import Instance, Reference, Split, short_key
from harness.contracts.messages import ROLES, Message, Prompt, Role, Tool, ToolCall
from harness.contracts.metrics import (
    BatchMetric,
    BestOf,
    Estimate,
    ExampleMetric,
    Judge,
    JudgeFinder,
    Judgement,
    RunMetric,
    Stat,
    Unjudged,
    stat_of_reading,
)
from harness.contracts.models import JudgeModel, Ledger, Model, ModelFinder, NoticeBoard, Tokenization
from harness.contracts.requests import (
    DECLINES,
    FINISH_REASONS,
    Completion,
    Decline,
    Effort,
    FinishReason,
    GenerateRequest,
    Origin,
    Reasoning,
    Request,
    Response,
    ScoreRequest,
    SequenceRequest,
    Served,
)
from harness.contracts.scales import BOUNDED, COUNT, PROPORTION, SCALES, SIGNED, SMOOTH, Scale, ScaleName

__all__ = [
    "BOUNDED",
    "COUNT",
    "DECLINES",
    "FINISH_REASONS",
    "PROPORTION",
    "ROLES",
    "SCALES",
    "SIGNED",
    "SMOOTH",
    "Adapted",
    "Adapter",
    "BatchMetric",
    "BestOf",
    "Completion",
    "Decline",
    "Determinism",
    "Effort",
    "Estimate",
    "Example",
    "ExampleMetric",
    "FinishReason",
    "GenerateRequest",
    "Instance",
    "Judge",
    "JudgeFinder",
    "JudgeModel",
    "Judgement",
    "Ledger",
    "Message",
    "Model",
    "ModelFinder",
    "NoticeBoard",
    "Origin",
    "Prediction",
    "Prompt",
    "PromptChange",
    "Reasoning",
    "Reference",
    "Request",
    "Response",
    "Role",
    "RunMetric",
    "Scale",
    "ScaleName",
    "ScoreRequest",
    "SequenceRequest",
    "Served",
    "Split",
    "Stat",
    "Tokenization",
    "Tool",
    "ToolCall",
    "Unjudged",
    "short_key",
    "stat_of_reading",
]
