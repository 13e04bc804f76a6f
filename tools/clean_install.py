"""Installs a wheel where there is no compiler, and runs the smoke test there.

    python tools/clean_install.py dist/psvm-0.1.0-cp312-abi3-manylinux_2_28_x86_64.whl

The environment is new and thrown away. Its PATH has the environment's own programs and no others,
and no variable names a compiler; what psvm requires comes as wheels or not at all.
"""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from shutil import which

SMOKE = Path(__file__).with_name("smoke.py").resolve()
COMPILERS = ("c++", "g++", "clang++", "cc", "gcc", "clang", "cl", "cmake", "ninja", "make")


def bare_environment(programs: Path) -> dict[str, str]:
    """The variables of this process without those that name compilers or other Pythons."""
    dropped = {"CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "CMAKE_ARGS"}
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in dropped and not name.startswith("PYTHON")
    }
    # joblib counts cores with `cat`, and says so at length where there is none.
    return {**kept, "PATH": str(programs), "LOKY_MAX_CPU_COUNT": "1"}


def main(arguments: list[str]) -> int:
    """Install, look, fit."""
    if len(arguments) != 1:
        raise SystemExit(__doc__)
    wheel = Path(arguments[0]).resolve()
    with tempfile.TemporaryDirectory(prefix="psvm-clean-") as folder:
        venv.create(folder, with_pip=True)
        programs = Path(folder, "Scripts" if os.name == "nt" else "bin")
        variables = bare_environment(programs)
        found = [name for name in COMPILERS if which(name, path=variables["PATH"])]
        if found:
            raise SystemExit(f"not a clean environment: it has {', '.join(found)}")
        print(f"installing {wheel.name} without a compiler", flush=True)
        python = str(programs / "python")
        options = ["--quiet", "--disable-pip-version-check", "--no-input", "--only-binary", ":all:"]
        commands = [
            [python, "-m", "pip", "install", *options, str(wheel)],
            [python, "-m", "pip", "check"],
            [python, "-I", str(SMOKE)],
        ]
        for command in commands:
            answer = subprocess.run(command, env=variables, cwd=folder, check=False)
            if answer.returncode:
                print(f"failed: {' '.join(command[1:])}", file=sys.stderr)
                return answer.returncode
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
