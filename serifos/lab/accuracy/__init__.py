# SPDX-License-Identifier: Apache-2.0
"""The accuracy of every kind of model on simulated devices."""
