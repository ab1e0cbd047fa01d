"""The device that tests of the backend `hf` use: the CPU, unless HARNESS_TEST_DEVICE names another, such as `cuda`."""

from __future__ import annotations

import os

DEVICE = os.environ.get("HARNESS_TEST_DEVICE", "cpu")
