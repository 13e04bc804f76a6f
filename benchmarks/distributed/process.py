"""One measurement in a process of its own: a name of a function, a folder, and numbers."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.distributed import measure, rivals

if __name__ == "__main__":
    name, folder, *words = sys.argv[1:]
    numbers = [int(word) if word.isdigit() else float(word) for word in words]
    function = getattr(measure, name, None) or getattr(rivals, name)
    print(json.dumps(function(Path(folder), *numbers)))
