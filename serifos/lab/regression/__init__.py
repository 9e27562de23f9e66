# SPDX-License-Identifier: Apache-2.0
"""Regression families: splines, trees and models with interactions."""
