# SPDX-License-Identifier: Apache-2.0
"""The cloud of a backtest: devices, volumes, Cinder, Nova and telemetry."""
