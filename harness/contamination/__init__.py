"""Tests of whether a model was trained on a data set, from the order in which the data set was published.

These names are for the plugins that ask and measure such tests; none of them loads a heavy library when imported.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.contamination.roles import EXAMPLE_SCORES as EXAMPLE_SCORES
    from harness.contamination.roles import EXAMPLES_FILE as EXAMPLES_FILE
    from harness.contamination.roles import GENERATED_ORDER_TEST as GENERATED_ORDER_TEST
    from harness.contamination.roles import HELD_OUT_FILE as HELD_OUT_FILE
    from harness.contamination.roles import OPTION_TEST as OPTION_TEST
    from harness.contamination.roles import ORDER_TEST as ORDER_TEST
    from harness.contamination.roles import QUESTIONS_FILE as QUESTIONS_FILE
    from harness.contamination.roles import SEALED_DYE as SEALED_DYE
    from harness.contamination.roles import SEALED_TEXTS as SEALED_TEXTS
    from harness.contamination.statistics.agreements import COMPARED as COMPARED
    from harness.contamination.statistics.agreements import PIECE as PIECE
    from harness.contamination.statistics.agreements import PIECE_TOKENS as PIECE_TOKENS
    from harness.contamination.statistics.agreements import agreement_scores as agreement_scores
    from harness.contamination.statistics.agreements import piece_starts as piece_starts
    from harness.contamination.statistics.agreements import token_starts as token_starts
    from harness.contamination.statistics.baselines import mean_logprob as mean_logprob
    from harness.contamination.statistics.baselines import min_k as min_k
    from harness.contamination.statistics.baselines import min_k_plus_plus as min_k_plus_plus
    from harness.contamination.statistics.baselines import zlib_ratio as zlib_ratio
    from harness.contamination.statistics.boundaries import Boundary as Boundary
    from harness.contamination.statistics.boundaries import Stretch as Stretch
    from harness.contamination.statistics.diagnostics import DIAGNOSTICS_LEVEL as DIAGNOSTICS_LEVEL
    from harness.contamination.statistics.diagnostics import diagnose as diagnose
    from harness.contamination.statistics.dye import dye_test as dye_test
    from harness.contamination.statistics.looks import combined_looks as combined_looks
    from harness.contamination.statistics.neighbours import Neighbours as Neighbours
    from harness.contamination.statistics.neighbours import count_orders as count_orders
    from harness.contamination.statistics.neighbours import neighbour_blocks as neighbour_blocks
    from harness.contamination.statistics.neighbours import neighbour_test as neighbour_test
    from harness.contamination.statistics.next_example import EProcess as EProcess
    from harness.contamination.statistics.next_example import RankTest as RankTest
    from harness.contamination.statistics.option_diagnostics import diagnose_options as diagnose_options
    from harness.contamination.statistics.option_order import option_order_test as option_order_test
    from harness.contamination.statistics.option_order import option_orders as option_orders
    from harness.contamination.statistics.permutation import BesagClifford as BesagClifford
    from harness.contamination.statistics.published_choice import Choice as Choice
    from harness.contamination.statistics.published_choice import published_choice_test as published_choice_test
    from harness.contamination.statistics.relabelling import relabelling_test as relabelling_test
    from harness.contamination.statistics.repairs import Repaired as Repaired
    from harness.contamination.statistics.repairs import blocks as blocks
    from harness.contamination.statistics.repairs import collapse_near_duplicates as collapse_near_duplicates
    from harness.contamination.statistics.repairs import length_classes as length_classes
    from harness.contamination.statistics.repairs import neighbourhoods as neighbourhoods
    from harness.contamination.statistics.repairs import permute_under_ids as permute_under_ids
    from harness.contamination.statistics.repairs import strip_ids as strip_ids
    from harness.contamination.statistics.sharded_t import sharded_t as sharded_t
    from harness.contamination.statistics.shards import shard_bounds as shard_bounds
    from harness.contamination.statistics.shards import shard_count as shard_count
    from harness.contamination.statistics.shared_rows import option_digests as option_digests
    from harness.contamination.statistics.shared_rows import row_digests as row_digests
    from harness.contamination.statistics.testable import why_not_testable as why_not_testable
    from harness.contamination.statistics.testable import why_options_not_testable as why_options_not_testable
    from harness.contamination.statistics.verdict import Verdict as Verdict
    from harness.contamination.statistics.verdict import verdict as verdict
    from harness.statistics.families import bonferroni as bonferroni
    from harness.statistics.families import holm as holm

    __all__: list[str]
else:
    from harness.lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(__name__)
