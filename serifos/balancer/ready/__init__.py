# SPDX-License-Identifier: Apache-2.0
"""Whether everything that serifos needs is in place."""
