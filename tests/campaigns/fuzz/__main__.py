"""``make fuzz``: mutated files and layouts for everything that reads what another may have written."""

from __future__ import annotations

import argparse
import random
import sys
import time

from campaigns.fuzz import jvm_run, python_run
from support.spark import ROOT

SHARES = {"jvm": 0.60, "manifest": 0.27, "head": 0.06, "restore": 0.05, "load": 0.01, "change": 0.01}
"""Of the inputs: a fast reader gets more."""


def fuzz(target: str, seed: int, count: int) -> python_run.Result:
    """Feed inputs to one reader; how they ended, and what should not have happened."""
    if target == "jvm":
        return jvm_run.run(seed, count, ROOT / "build" / "fuzz")
    return python_run.run(target, seed, count)


def main() -> int:
    """Print how inputs ended by reader; 1 if there is any finding."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31), help="of all inputs")
    parser.add_argument("--inputs", type=int, default=100_000, help="of all readers together")
    parser.add_argument("--target", choices=SHARES, action="append", help="one reader only; may be repeated")
    args = parser.parse_args()
    chosen = args.target or list(SHARES)
    whole = sum(SHARES[target] for target in chosen)
    found: list[str] = []
    for target in chosen:
        count, start = round(args.inputs * SHARES[target] / whole), time.monotonic()
        outcomes, findings = fuzz(target, args.seed, count)
        seconds = time.monotonic() - start
        print(f"{target:9} seed {args.seed}, {count:,} inputs in {seconds:.0f} s: {dict(outcomes)}", flush=True)
        for finding in findings[:20]:
            print(f"  FINDING {finding}", flush=True)
        found += findings
    print(f"{len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
