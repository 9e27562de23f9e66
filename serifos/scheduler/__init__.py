# SPDX-License-Identifier: Apache-2.0
"""Inside cinder-scheduler: a weigher, a driver and a filter.

The only room that imports ``cinder``, in :mod:`.weigher`, :mod:`.driver` and
:mod:`.filter`. Cinder has neither numpy nor scipy: nothing here needs them.
"""
