"""The kernel suite in stages, the most telling first: ``python -m benchmarks campaign``.

Every stage adds to ``results/kernel.json`` and renders page and picture, so that the campaign can
be stopped at any time and goes on where it stopped when it is started again. The whole grid of
stage 1 with every rival and p would take some four hours on two cores; a stage asks only for what
its target needs.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from benchmarks import run

COMMON = "--name kernel --resume --cases all --repeats 3 --repeat-below 1"
INTELEX = (
    "--rivals psvm psvm-f32 psvm-1-thread intelex intelex-f32 --give-up-after 12 --time-limit 100"
)
STAGES = {
    # Interleaved turns of psvm and intelex. At 12 times psvm's seconds its target (10) is decided.
    "intelex": f"--C 1 10 100 {INTELEX}",
    # LIBSVM, at one C: its fits are the longest. Its target (15) is decided at 20 times.
    "libsvm": "--C 1 --rivals sklearn libsvm --give-up-after 20 --time-limit 100",
    # What other exponents cost, and what a second thread gains there.
    "exponents": "--C 1 10 100 --p 1.25 1.5 2 3 --rivals psvm psvm-1-thread",
    "narrow": f"--C 1 --gamma-factors 10 {INTELEX}",
    # Other ways to solve any p, where they are possible at all.
    "small": "--name kernel_small --cases small --p 1 1.25 1.5 2 3"
    " --rivals psvm sklearn torchkm clarabel psmo",
    # Large real tables, with trees for orientation; a file of their own.
    "real": "--name kernel_real --cases real --C 1 --p 1 1.5 --give-up-after 12 --time-limit 40"
    " --rivals psvm psvm-f32 psvm-1-thread intelex intelex-f32 libsvm lightgbm",
    # For a night.
    "rest": "--C 0.1 1 10 100 --gamma-factors 1 10 --p 1 1.25 1.5 2 3 --give-up-after 20"
    " --rivals psvm psvm-f32 intelex intelex-f32 sklearn libsvm",
}
BY_DEFAULT = ("intelex", "libsvm", "exponents", "narrow", "small")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the stages one after the other; further options go to each of them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks campaign", description=__doc__)
    parser.add_argument("--stages", nargs="+", choices=list(STAGES), default=list(BY_DEFAULT))
    options, others = parser.parse_known_args(arguments)
    for stage in options.stages:
        print(f"--- {stage}", flush=True)
        if code := run.main([*COMMON.split(), *STAGES[stage].split(), *others]):
            return code
    return 0
