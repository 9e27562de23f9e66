# SPDX-License-Identifier: Apache-2.0
"""The best rates of a device, and the least latency that they allow.

Standard library only: cinder-scheduler loads this module. By Little's law the
requests outstanding are those of a second times their latency, so a latency
implies a rate, and none may be far above what the device ever did. The same
code computes with numbers and with arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
import functools
from typing import Any

from serifos.facts import workload
from serifos.model.tenant.arithmetic import Arithmetic
from serifos.model.tenant.arithmetic import Number
from serifos.model.tenant.arithmetic import NUMBERS

_BEYOND = 1.3  # times the best rate
_NONE = 1e-9


@dataclasses.dataclass(frozen=True)
class Rates:
    """The best that a device did in any run; 0 where it is not known."""

    iops: float = 0.0
    kib_per_s: float = 0.0

    @classmethod
    def from_json(cls, doc: Mapping[str, Any] | None) -> Rates:
        return cls(**{field.name: float((doc or {}).get(field.name) or 0.0)
                      for field in dataclasses.fields(cls)})

    def to_json(self) -> dict[str, float]:
        return {name: rate for name, rate
                in dataclasses.asdict(self).items() if rate}

    @functools.cached_property
    def least_us(self) -> tuple[float, float]:
        """µs that each request, and each KiB, takes of it at least."""
        return (self.iops and 1e6 / (_BEYOND * self.iops),
                self.kib_per_s and 1e6 / (_BEYOND * self.kib_per_s))

    def least(self, load: workload.Load,
              own: workload.Load | None = None) -> float:
        """The least mean latency of some tenants of a pool, or of all, µs.

        :param own: the sum of the Loads of these tenants
        """
        q, kib = load.sum_iodepth, load.sum_q_s_r + load.sum_q_s_w
        if own is not None:
            q, kib = shares(load.count, q, kib, own.count, own.sum_iodepth,
                            own.sum_q_s_r + own.sum_q_s_w, NUMBERS)
        by_request, by_kib = self.least_us
        return max(by_request * q, by_kib * kib)


def shares(count: Number, q: Number, kib: Number, tenants: Number,
           own_q: Number, own_kib: Number,
           of: Arithmetic) -> tuple[Number, Number]:
    """The requests and the KiB of a pool that some of its tenants wait for.

    All of them; but a tenant with fewer outstanding than the mean tenant may
    have its share of the best rate. They rise with every workload that is
    added to the pool.

    :param count: tenants of the pool, with q requests outstanding
    :param tenants: those asked for, with ``own_q`` requests outstanding
    """
    each = count / of.larger(tenants, _NONE)
    return of.smaller(q, each * own_q), of.smaller(kib, each * own_kib)
