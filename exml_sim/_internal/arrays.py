"""Name the types of arrays that functions take and return."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
#: How often each row was bought.
CountArray = NDArray[np.int32]
#: Random words.
WordArray = NDArray[np.uint64]
