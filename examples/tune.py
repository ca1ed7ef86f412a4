#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A search over a kernel's parameters, and what each configuration came to.

    python examples/tune.py [FOLDER] [EVALUATIONS]

`strategy="tpe"`, "cma_es" or "gp" instead asks Optuna (pip install 'sdpa-workbench[search]'). A
search that is interrupted goes on from its log when the same call is made again.
"""

import sys

import sdpa_workbench as wb

PROBLEM = "B=1 Hq=4 Sq=256 D=64 f32 causal=top_left"


def main(folder, evaluations):
    bench = wb.Workbench()
    arguments = {"start": "cpu_tiled", "problem": PROBLEM, "rivals": ["none"], "effort": "quick"}
    with wb.Session.open(folder, workbench=bench, **arguments) as session:
        done = session.tune(
            variant="cpu_tiled",
            strategy="random",
            seed=1,
            evaluations=evaluations,
            hypothesis="other tiles fit a causal problem better",
            predicted_speedup=1.1,
        )
        search = done.to_dict()["tune"]
        print(f"{search['tries']} of {search['space_size']} configurations were tried")
        print(f"{done.outcome}: {done.speedup} over the start, {done.interval}")
        print("best:", session.status()["incumbent"])
        session.close()


if __name__ == "__main__":
    main(
        sys.argv[1] if len(sys.argv) > 1 else "tuned",
        int(sys.argv[2]) if len(sys.argv) > 2 else 6,
    )
