"""Statistics over examples: means, standard errors and intervals."""

from harness.statistics.bootstrap import bootstrap_estimate
from harness.statistics.estimates import mean_estimate, ratio_estimate, transformed
from harness.statistics.instance_table import InstanceTable
from harness.statistics.student import t_quantile

__all__ = ["InstanceTable", "bootstrap_estimate", "mean_estimate", "ratio_estimate", "t_quantile", "transformed"]
