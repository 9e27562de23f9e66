# SPDX-License-Identifier: Apache-2.0
"""What a balancer does at present, and what became of its plans."""
