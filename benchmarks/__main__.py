"""``python -m benchmarks``: the command line of :mod:`benchmarks.run`."""

from benchmarks.run import main

if __name__ == "__main__":
    main()
