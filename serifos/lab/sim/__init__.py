# SPDX-License-Identifier: Apache-2.0
"""Simulated devices and clouds, and the evaluation of the Serifos paper."""
