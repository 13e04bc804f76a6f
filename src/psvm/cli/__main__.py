"""``python -m psvm.cli`` is ``psvm``."""

import sys

from psvm.cli import main

if __name__ == "__main__":
    sys.exit(main())
