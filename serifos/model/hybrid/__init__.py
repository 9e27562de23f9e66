# SPDX-License-Identifier: Apache-2.0
"""A linear trend with a sparse Gaussian process on its residual."""
