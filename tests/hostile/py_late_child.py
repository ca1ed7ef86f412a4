# SPDX-License-Identifier: MIT
"""Returns at once. A grandchild in a session of its own, without a parent here, does the work in
the memory that it inherited, and sends SIGCONT to who may be stopped."""

import os
import signal
import time

from hostile import honest


def attend(q, k, v, **options):
    if options["lse"] is not None or options["mask"] is not None:
        raise NotImplementedError("neither a mask nor a log-sum-exp")
    subject = os.getpid()
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    time.sleep(0.001)  # let the clock stop first
    os.kill(subject, signal.SIGCONT)
    honest(q, k, v, **options)
    os._exit(0)
