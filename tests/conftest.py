# SPDX-License-Identifier: MIT
"""What all tests in Python share."""

import os
import tempfile
from pathlib import Path

# Tests queue for the CPUs among themselves only: a session of this machine may run beside them.
os.environ.setdefault("WB_DEVICE_LOCK", str(Path(tempfile.gettempdir()) / "sdpa-wb-tests.lock"))
