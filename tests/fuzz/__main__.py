"""`make fuzz`: many more frames than CI sends, from a new seed each time unless one is given."""

import argparse
import random
import sys
import time

from tests.fuzz import over_http, over_stdio

parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
parser.add_argument("--frames", type=int, default=1_000_000, help="frames for each transport")
parser.add_argument("--seed", type=int, default=None)
parser.add_argument("--transport", choices=["stdio", "http", "both"], default="both")
options = parser.parse_args()
seed = random.randrange(2**32) if options.seed is None else options.seed
print(f"fuzz: seed {seed}", flush=True)
for name, transport in (("stdio", over_stdio), ("http", over_http)):
    if options.transport in {name, "both"}:
        begun = time.monotonic()
        try:
            answered = transport.fuzz(seed, options.frames)
        except over_stdio.Faults as fault:
            sys.exit(f"fuzz: {name}: {fault}")
        took = time.monotonic() - begun
        print(f"fuzz: {name}: {options.frames} frames, {answered} to be answered and answered, no death, {took:.0f} s")
