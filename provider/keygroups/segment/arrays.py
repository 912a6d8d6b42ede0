"""Conversions between numpy and Arrow without a copy.

Arrow's own ``pa.array`` and ``to_numpy`` import pandas where it is installed: 0.2 s in the first commit of an executor,
and 40 MB of memory that nothing uses.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def arrow(values: npt.NDArray[Any]) -> pa.Array:
    """A numpy array of numbers as an Arrow array."""
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, data])


def numpy(array: pa.Array) -> npt.NDArray[Any]:
    """An Arrow array of numbers without nulls as a numpy array."""
    dtype = array.type.to_pandas_dtype()
    if len(array) == 0:
        return np.empty(0, dtype)
    return np.frombuffer(array.buffers()[1], dtype, len(array), array.offset * np.dtype(dtype).itemsize)


def mask(array: pa.Array) -> npt.NDArray[np.bool_]:
    """An Arrow array of booleans without nulls as a numpy array."""
    bits = np.frombuffer(array.buffers()[1], np.uint8)
    whole = np.unpackbits(bits, count=array.offset + len(array), bitorder="little")
    return whole[array.offset :].view(np.bool_)
