# SPDX-License-Identifier: Apache-2.0
"""Plackett-Burman screening of the parameters of fio."""
