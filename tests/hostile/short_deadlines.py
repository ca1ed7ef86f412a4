# SPDX-License-Identifier: MIT
"""A transport for tests: starts the worker given behind it and shortens the deadlines that the host
sends. Usage: sdpa-wb ... --transport python3 short_deadlines.py MILLISECONDS --"""

import json
import subprocess
import sys
import threading

limit_ms, command = int(sys.argv[1]), sys.argv[2:]
worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=sys.stdout)


def forward():
    for line in sys.stdin.buffer:
        if b'"deadline_ms"' in line:
            message = json.loads(line)
            arguments = message["args"]
            arguments["deadline_ms"] = min(arguments["deadline_ms"], limit_ms)
            line = json.dumps(message).encode() + b"\n"
        worker.stdin.write(line)
        worker.stdin.flush()
    worker.stdin.close()


threading.Thread(target=forward, daemon=True).start()
sys.exit(worker.wait())
