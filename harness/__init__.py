"""The public API: what plugins import, in groups by who needs it.

A name's module is loaded when the name is first used, so that a plugin pays for what it imports and `harness --help`
for none of it. The import statements below are the only list: type checkers read them, and so does ``__getattr__``.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # Every plugin: the decorators that declare one, its seeded random generators, the errors that it may raise.
    from harness.plugins.decorators import (
        PLUGIN_API_VERSION as PLUGIN_API_VERSION,
        adapter as adapter,
        backend as backend,
        judge as judge,
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
        reraise_interrupt as reraise_interrupt,
    )

    # Scenarios and perturbations: instances, and the data that they are made from.
    from harness.contracts import Instance as Instance, Reference as Reference, Split as Split
    from harness.contracts.data import Data as Data
    from harness.contracts.plugins import HubSource as HubSource, Source as Source
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
        Request as Request,
        Response as Response,
        ScoreRequest as ScoreRequest,
        SequenceRequest as SequenceRequest,
        Tokenization as Tokenization,
    )

    # Metrics: what they score, the values that scores can have, numbers and options read from answers.
    from harness.contracts import (
        BOUNDED as BOUNDED,
        COUNT as COUNT,
        PROPORTION as PROPORTION,
        SIGNED as SIGNED,
        SMOOTH as SMOOTH,
        BestOf as BestOf,
        Estimate as Estimate,
        Example as Example,
        ExampleMetric as ExampleMetric,
        RunMetric as RunMetric,
        Scale as Scale,
    )
    from harness.answers.reading import (
        final_number as final_number,
        first_number as first_number,
        read_option as read_option,
        whole_number as whole_number,
    )

    # Metrics over a whole run: estimates with their standard errors and intervals.
    from harness.statistics import (
        InstanceTable as InstanceTable,
        absolute_mean_estimates as absolute_mean_estimates,
        bootstrap_estimate as bootstrap_estimate,
        effective_size_interval as effective_size_interval,
        influence_estimate as influence_estimate,
        jackknife_estimate as jackknife_estimate,
        mean_estimate as mean_estimate,
        median_estimate as median_estimate,
        midp_interval as midp_interval,
        percentile_estimate as percentile_estimate,
        ratio_estimate as ratio_estimate,
        transformed as transformed,
    )

    # Judges, and metrics that ask one.
    from harness.contracts import (
        AskedModel as AskedModel,
        Judge as Judge,
        JudgeFinder as JudgeFinder,
        ModelFinder as ModelFinder,
        Unjudged as Unjudged,
    )

    # Backends: models, what their answers cost, and what must not be shown of them.
    from harness.contracts import (
        DECLINES as DECLINES,
        Decline as Decline,
        FinishReason as FinishReason,
        Ledger as Ledger,
        Model as Model,
        Served as Served,
    )
    from harness.answers.check import most_tokens as most_tokens
    from harness.answers.reasoning import reason_with_thoughts as reason_with_thoughts
    from harness.costs.prices import Price as Price, load_prices as load_prices
    from harness.data.archives import DAMAGE as DAMAGE, open_file as open_file
    from harness.installation import install_advice as install_advice, user_cache_folder as user_cache_folder
    from harness.output.redaction import Redaction as Redaction, shown_address as shown_address

    __all__: list[str]
    __version__: str
else:
    import ast
    from functools import cache
    from importlib import import_module
    from pathlib import Path

    @cache
    def _origins() -> dict[str, str]:
        """Return the module that defines each public name, read from the import statements above."""
        tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
        block = next(node for node in tree.body if isinstance(node, ast.If))
        imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
        return {alias.name: node.module for node in imports for alias in node.names}

    def __getattr__(name: str) -> object:
        if name == "__all__":
            return sorted(_origins())
        if name == "__version__":
            return import_module("harness.installation").harness_version()
        if name.startswith("__") or name not in _origins():
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value = getattr(import_module(_origins()[name]), name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *_origins(), "__all__", "__version__"})
