"""The quickstart: two tiny models trained on generated text, one of them also on a test set."""

from harness.quickstart.checkpoints import SEEN_SCENARIO, train_models

__all__ = ["SEEN_SCENARIO", "train_models"]
