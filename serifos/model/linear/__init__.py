# SPDX-License-Identifier: Apache-2.0
"""The Serifos paper's linear models, by ordinary least squares."""
