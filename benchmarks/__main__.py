"""``python -m benchmarks``: one run; with the word ``campaign`` the stages of the kernel suite."""

import sys

from benchmarks import campaign, run

if __name__ == "__main__":
    staged = sys.argv[1:2] == ["campaign"]
    raise SystemExit(campaign.main(sys.argv[2:]) if staged else run.main())
