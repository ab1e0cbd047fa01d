"""Statistics over examples: means, standard errors and intervals.

These names are public: metrics over a whole run may import them.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.contracts.scales import BOUNDED as BOUNDED
    from harness.contracts.scales import COUNT as COUNT
    from harness.contracts.scales import PROPORTION as PROPORTION
    from harness.contracts.scales import SIGNED as SIGNED
    from harness.contracts.scales import SMOOTH as SMOOTH
    from harness.statistics.absolute_mean import absolute_mean_estimates as absolute_mean_estimates
    from harness.statistics.agreement import cohen_kappa as cohen_kappa
    from harness.statistics.agreement import krippendorff_alpha as krippendorff_alpha
    from harness.statistics.agreement import weighted_kappa as weighted_kappa
    from harness.statistics.bootstrap import bootstrap_estimate as bootstrap_estimate
    from harness.statistics.bounded_mean import bounded_mean_interval as bounded_mean_interval
    from harness.statistics.closed_testing import certain_count as certain_count
    from harness.statistics.clustered import clustered_mean_interval as clustered_mean_interval
    from harness.statistics.clustered_estimates import cluster_sums as cluster_sums
    from harness.statistics.clustered_estimates import clustered_difference as clustered_difference
    from harness.statistics.clustered_estimates import clustered_mean as clustered_mean
    from harness.statistics.conditions import FEWEST_CONDITIONS as FEWEST_CONDITIONS
    from harness.statistics.conditions import ConditionEffects as ConditionEffects
    from harness.statistics.conditions import combined as combined
    from harness.statistics.conditions import condition_effects as condition_effects
    from harness.statistics.conditions import paired_condition_effects as paired_condition_effects
    from harness.statistics.crossed import FEWEST_RATERS as FEWEST_RATERS
    from harness.statistics.crossed import THESE_RATERS as THESE_RATERS
    from harness.statistics.crossed import crossed_mean as crossed_mean
    from harness.statistics.estimates import mean_estimate as mean_estimate
    from harness.statistics.estimates import ratio_estimate as ratio_estimate
    from harness.statistics.estimates import transformed as transformed
    from harness.statistics.families import benjamini_hochberg as benjamini_hochberg
    from harness.statistics.families import holm as holm
    from harness.statistics.groups import gap_estimate as gap_estimate
    from harness.statistics.influence import influence_estimate as influence_estimate
    from harness.statistics.influence import jackknife_estimate as jackknife_estimate
    from harness.statistics.instance_table import InstanceTable as InstanceTable
    from harness.statistics.order_statistics import median_estimate as median_estimate
    from harness.statistics.order_statistics import percentile_estimate as percentile_estimate
    from harness.statistics.paired import mcnemar_test as mcnemar_test
    from harness.statistics.paired import paired_difference as paired_difference
    from harness.statistics.paired import permutation_test as permutation_test
    from harness.statistics.power import bounded_variance as bounded_variance
    from harness.statistics.power import detectable_difference as detectable_difference
    from harness.statistics.power import instances_needed as instances_needed
    from harness.statistics.power import paired_variance as paired_variance
    from harness.statistics.prediction_powered import CorrectedMean as CorrectedMean
    from harness.statistics.prediction_powered import corrected_mean as corrected_mean
    from harness.statistics.proportions import effective_size_interval as effective_size_interval
    from harness.statistics.proportions import midp_interval as midp_interval
    from harness.statistics.quantiles import t_quantile as t_quantile
    from harness.statistics.ratio import ratio_interval as ratio_interval
    from harness.statistics.skewed_mean import skewed_mean_interval as skewed_mean_interval

    __all__: list[str]
else:
    from harness.lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(__name__)
