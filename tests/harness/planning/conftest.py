"""Records of runs that never took place."""

from tests.harness.leaderboard.conftest import make_run

__all__ = ["make_run"]
