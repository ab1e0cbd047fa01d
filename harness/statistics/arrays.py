"""The type of arrays of numbers; importing it takes the time of importing numpy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
