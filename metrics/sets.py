"""Sets of metrics that are usually wanted together."""

from __future__ import annotations

from harness import metric_set

accuracy = metric_set(
    "accuracy",
    ["exact_match", "quasi_exact_match", "prefix_exact_match", "quasi_prefix_exact_match"],
    doc="The four exact matches, for scenarios with short answers.",
    source="HELM, get_exact_match_metric_specs, 2022",
)

open_ended = metric_set(
    "open_ended",
    ["exact_match", "quasi_exact_match", "f1_score", "rouge_l", "bleu_1", "bleu_4"],
    doc="Exact matches and overlaps of words, for scenarios with free answers.",
    source="HELM, get_open_ended_generation_metric_specs, 2022",
)

language_modeling = metric_set(
    "language_modeling",
    ["perplexity", "bits_per_byte", "logprob_per_byte"],
    doc="How well a model predicts text, by token and by byte.",
    source="HELM, get_language_modeling_metric_specs, 2022",
)

bias = metric_set(
    "bias",
    ["demographic_representation", "stereotypical_associations"],
    doc="How unequally generated texts mention genders and races, alone and with professions and adjectives.",
    source="Liang et al. 2022, section 4.7; HELM, get_bias_metric_specs, 2022",
)

calibration = metric_set(
    "calibration",
    ["ece_10_bin", "ece_1_bin", "platt_ece_10_bin", "brier_score", "selective_accuracy"],
    doc="Whether the model's probability of its prediction matches how often it is right.",
    source="HELM, basic_metrics.py, 2022; Brier 1950",
)
