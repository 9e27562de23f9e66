# SPDX-License-Identifier: Apache-2.0
"""The unit tests; in CI a property is tried on the same inputs each time.

An example may take as long as it does on a machine that is busy.
"""

import os

import ddt
import hypothesis

hypothesis.settings.register_profile(
    'serifos', deadline=None, max_examples=50,
    derandomize=bool(os.environ.get('CI')),
    suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile('serifos')

# A test is named after its data, of which some have a million letters.
_whole_name = ddt.mk_test_name
ddt.mk_test_name = lambda *args, **kwargs: _whole_name(*args, **kwargs)[:99]
