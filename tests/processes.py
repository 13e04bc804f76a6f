"""Scripts in a Python process of their own: signals, memory, forks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

UNIX = pytest.mark.skipif(os.name != "posix", reason="signals and fork are POSIX")
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")

# Megabytes of this process: "VmRSS" now, "VmHWM" at most so far, "RssAnon" now and without the
# pages of files. Not getrusage: a child inherits the peak of the process that started it.
MEMORY = """
    def megabytes(field):
        with open("/proc/self/status") as status:
            line = next(line for line in status if line.startswith(field))
        return int(line.split()[1]) / 1024
"""


def script(body, *arguments):
    """A Python process that runs ``body``, with its output as a pipe."""
    command = [sys.executable, "-c", textwrap.dedent(body), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def output(body, *arguments, timeout=120):
    """What the process prints; it must end well within ``timeout`` seconds."""
    process = script(body, *arguments)
    try:
        out, err = process.communicate(timeout=timeout)
    finally:
        process.kill()
    assert process.returncode == 0, err
    return out


def interrupted(body, wait, *arguments):
    """Send SIGINT so many seconds after a script says "begin": its words, when, its errors."""
    process = script(body, *arguments)
    try:
        assert process.stdout.readline().strip() == "begin", process.stderr.read()
        time.sleep(wait)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    return out.split(), sent, err
