# SPDX-License-Identifier: Apache-2.0
"""serifos-balancer top: the cloud and the balancer, live on a terminal."""
