"""The public API: what programs and plugins import, in groups by who needs it.

Five modules are public: this one, ``harness.backends`` with what only backends need, ``harness.judging`` with what only
judges and metrics that ask models need, ``harness.statistics`` with estimates for metrics over a whole run, and
``harness.contamination`` with what tests of the published order need.

A name's module is loaded when the name is first used, so that a plugin pays for what it imports and `harness --help`
for none of it. The import statements below are the only list: type checkers read them, and so does ``lazy_names``.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # Programs and notebooks: sweeps, models in memory, results as data frames.
    from harness.python.evaluate import evaluate as evaluate
    from harness.python.reproduce import reproduce as reproduce
    from harness.python.results import Results as Results
    from harness.python.run import run as run
    from harness.training.callback import EvaluationCallback as EvaluationCallback

    # Every plugin: the decorators that declare one, its random generators, its errors, how to install what it needs.
    from harness.plugins.decorators import (
        PLUGIN_API_VERSION as PLUGIN_API_VERSION,
        adapter as adapter,
        backend as backend,
        judge as judge,
        listener as listener,
        metric as metric,
        perturbation as perturbation,
        scenario as scenario,
    )
    from harness.seeds import derive_rng as derive_rng, derive_seed as derive_seed
    from harness.errors import (
        DataError as DataError,
        HarnessError as HarnessError,
        MetricError as MetricError,
        ModelError as ModelError,
        PluginError as PluginError,
        StrictJsonError as StrictJsonError,
    )
    from harness.installation import install_advice as install_advice
    from harness.contracts.plugins import CheckpointSource as CheckpointSource

    # Scenarios and perturbations: instances, and the data that they are made from.
    from harness.contracts import (
        Instance as Instance,
        Reference as Reference,
        Split as Split,
        short_key as short_key,
    )
    from harness.contracts.data import Data as Data
    from harness.contracts.plugins import (
        Download as Download,
        HubSource as HubSource,
        PromptVariant as PromptVariant,
        Source as Source,
    )
    from harness.contracts.row import Row as Row
    from harness.data.strict_json import parse_json as parse_json

    # Adapters: what is asked of a model, and what was answered.
    from harness.contracts import (
        Adapted as Adapted,
        Adapter as Adapter,
        Completion as Completion,
        GenerateRequest as GenerateRequest,
        Message as Message,
        Origin as Origin,
        Prediction as Prediction,
        Prompt as Prompt,
        PromptChange as PromptChange,
        Reasoning as Reasoning,
        Request as Request,
        Response as Response,
        Role as Role,
        ScoreRequest as ScoreRequest,
        SequenceRequest as SequenceRequest,
        Tokenization as Tokenization,
        Tool as Tool,
        ToolCall as ToolCall,
    )

    # Metrics: what they score, and the values that scores can have.
    from harness.contracts import (
        NO_VALUE as NO_VALUE,
        BatchMetric as BatchMetric,
        BestOf as BestOf,
        Estimate as Estimate,
        Example as Example,
        ExampleMetric as ExampleMetric,
        RunMetric as RunMetric,
        Scale as Scale,
    )

    # Judges, and metrics that ask one. `harness.judging` has the rest.
    from harness.contracts import (
        Judge as Judge,
        JudgeFinder as JudgeFinder,
        Unjudged as Unjudged,
    )

    # Listeners: what is given each run as it ends, such as an experiment tracker.
    from harness.contracts.listeners import FinishedRun as FinishedRun, Listener as Listener

    # Backends: the interface of a model. `harness.backends` has the rest.
    from harness.contracts import Model as Model

    __all__: list[str]
    __version__: str
else:
    from harness.lazy_names import lazy_names

    _get, __dir__ = lazy_names(__name__)

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from harness.installation import harness_version

            return harness_version()
        return _get(name)
