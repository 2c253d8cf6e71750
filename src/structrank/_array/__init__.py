"""The only package that depends on array libraries: namespaces, FFTs and a few kernels.

NumPy arrays use `scipy.fft` (so `scipy.fft.set_workers` and `scipy.fft.set_backend` apply) and
BLAS. Arrays of every other library use the array API namespace of that library.
"""

from .device_memory import free_memory, memory_advice
from .factorizations import inverse, orthonormal_columns, singular_values, svd, svd_stack
from .namespace import (
    Array,
    NDArray,
    array_namespace,
    as_array,
    conj,
    epsilon,
    in_double_precision,
    in_single_precision,
    is_complex,
    is_floating,
    is_numpy_array,
    like,
    limited_like,
    real_dtype,
    to_numpy,
    with_precision,
)
from .products import add_rotated, add_scaled, gram, inner, rotate, sum_of_products
from .stacks import all_chosen, chosen, grams, inners, joined, orthonormal_rows, transposed
from .transforms import fft, fft_length, ifft, ifft_of_product

__all__ = [
    "Array",
    "NDArray",
    "add_rotated",
    "add_scaled",
    "all_chosen",
    "array_namespace",
    "as_array",
    "chosen",
    "conj",
    "epsilon",
    "fft",
    "fft_length",
    "free_memory",
    "gram",
    "grams",
    "ifft",
    "ifft_of_product",
    "in_double_precision",
    "in_single_precision",
    "inner",
    "inners",
    "inverse",
    "is_complex",
    "is_floating",
    "is_numpy_array",
    "joined",
    "like",
    "limited_like",
    "memory_advice",
    "orthonormal_columns",
    "orthonormal_rows",
    "real_dtype",
    "rotate",
    "singular_values",
    "sum_of_products",
    "svd",
    "svd_stack",
    "to_numpy",
    "transposed",
    "with_precision",
]
