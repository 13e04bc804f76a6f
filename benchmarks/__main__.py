"""``python -m benchmarks``: one run; with the word ``campaign`` the stages of the kernel suite.

With the word ``everyday`` small problems of all kinds (``python -m benchmarks.everyday``).
"""

import sys

from benchmarks import campaign, run
from benchmarks.everyday import __main__ as everyday

OTHERS = {"campaign": campaign.main, "everyday": everyday.main}

if __name__ == "__main__":
    other = OTHERS.get("".join(sys.argv[1:2]))
    raise SystemExit(other(sys.argv[2:]) if other else run.main())
