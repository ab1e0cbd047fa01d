"""Statistics over examples: means, standard errors and intervals."""

from harness.statistics.absolute_mean import absolute_mean_estimates
from harness.statistics.bootstrap import bootstrap_estimate
from harness.statistics.estimates import mean_estimate, ratio_estimate, transformed, wilson_interval
from harness.statistics.families import benjamini_hochberg, holm
from harness.statistics.groups import gap_estimate
from harness.statistics.influence import influence_estimate
from harness.statistics.instance_table import InstanceTable
from harness.statistics.paired import mcnemar_test, paired_difference, permutation_test
from harness.statistics.student import t_quantile

__all__ = [
    "InstanceTable",
    "absolute_mean_estimates",
    "benjamini_hochberg",
    "bootstrap_estimate",
    "gap_estimate",
    "holm",
    "influence_estimate",
    "mcnemar_test",
    "mean_estimate",
    "paired_difference",
    "permutation_test",
    "ratio_estimate",
    "t_quantile",
    "transformed",
    "wilson_interval",
]
