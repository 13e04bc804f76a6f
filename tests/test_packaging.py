"""What others install: versions, requirements, the sdist, wheels, the search for a compiler, CI."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import psvm
from psvm import _core

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
WHEELS = sorted((ROOT / "dist").glob("psvm-*.whl"))
LOCK = ROOT / "requirements" / "dev.txt"
PROGRAMS = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
CMAKE, GIT, MAKE, NM = (
    shutil.which(name, path=PROGRAMS) for name in ("cmake", "git", "make", "nm")
)
BACKEND = all(importlib.util.find_spec(name) for name in ("scikit_build_core", "setuptools_scm"))

needs_backend = pytest.mark.skipif(not BACKEND, reason="scikit-build-core or setuptools-scm absent")
needs_git = pytest.mark.skipif(GIT is None, reason="no git")
# An sdist has neither.
needs_workflows = pytest.mark.skipif(not WORKFLOWS, reason="no workflows here")


def run(*command, **options):
    answer = subprocess.run(command, capture_output=True, text=True, **options)
    return answer.returncode, answer.stdout + answer.stderr


# --- versions ------------------------------------------------------------------------------------


def git(folder, *words):
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    code, said = run(GIT, *who, *words, cwd=folder)
    assert code == 0, said


def version_of(folder):
    """What a build in this folder calls itself."""
    program = (
        "from scikit_build_core.metadata.setuptools_scm import dynamic_metadata;"
        "print(dynamic_metadata('version'))"
    )
    variables = {key: value for key, value in os.environ.items() if "SCM" not in key}
    # Folders above a temporary one may be a repository.
    variables["GIT_CEILING_DIRECTORIES"] = str(Path(folder).parent)
    answer = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=variables, capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stderr
    return Version(answer.stdout.split()[-1])


@pytest.fixture
def tree(tmp_path):
    """A project with nothing in it but what makes the version."""
    for name in ("pyproject.toml", ".git_archival.txt", ".gitattributes"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, tmp_path)
    return tmp_path


@pytest.fixture
def repository(tree):
    git(tree, "init", "-q")
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "one")
    return tree


def test_the_version_is_that_of_the_installed_package():
    assert psvm.__version__ == version("psvm")
    assert Version(psvm.__version__) >= Version("0.1.dev0")


@needs_backend
@needs_git
def test_commits_have_versions_of_their_own(repository):
    first = version_of(repository)
    git(repository, "commit", "-q", "--allow-empty", "-m", "two")
    second = version_of(repository)
    assert first < second < Version("0.1.0")
    git(repository, "tag", "v0.1.0")
    assert version_of(repository) == Version("0.1.0")
    git(repository, "commit", "-q", "--allow-empty", "-m", "three")
    third = version_of(repository)
    assert Version("0.1.0") < third < Version("0.1.1")
    assert third.local.startswith("g")


@needs_backend
def test_a_tree_without_git_has_a_version(tree):
    assert version_of(tree) == Version(PROJECT["tool"]["setuptools_scm"]["fallback_version"])


@needs_backend
def test_an_sdist_keeps_its_version(tree):
    (tree / ".git_archival.txt").unlink(missing_ok=True)
    (tree / "PKG-INFO").write_text("Metadata-Version: 2.4\nName: psvm\nVersion: 0.3.1\n")
    assert version_of(tree) == Version("0.3.1")


@needs_backend
@needs_git
def test_an_archive_of_a_tag_keeps_its_version(repository, tmp_path_factory):
    if not (repository / ".git_archival.txt").exists():
        pytest.skip("an sdist")
    git(repository, "tag", "v0.2.0")
    folder = tmp_path_factory.mktemp("archive")
    git(repository, "archive", "-o", str(folder / "a.tar"), "HEAD")
    with tarfile.open(folder / "a.tar") as archive:
        archive.extractall(folder, filter="data")
    assert version_of(folder) == Version("0.2.0")


def test_the_citation_names_the_version_of_the_changelog():
    cited = re.search(r"^version: (\S+)", (ROOT / "CITATION.cff").read_text(), re.M)[1]
    changelog = (ROOT / "CHANGELOG.md").read_text()
    released = re.search(r"^## \[(\d\S*)\]", changelog, re.M)
    assert cited == (released or re.search(r"^To become (\d+\.\d+\.\d+)", changelog, re.M))[1]


# --- requirements --------------------------------------------------------------------------------


@pytest.mark.parametrize("text", PROJECT["build-system"]["requires"])
def test_build_requirements_are_bounded(text):
    assert {one.operator for one in Requirement(text).specifier} == {">=", "<"}


@pytest.mark.parametrize("text", PROJECT["project"]["dependencies"])
def test_requirements_have_one_lower_bound(text):
    """``make test-minimum`` makes a constraint of it."""
    assert [one.operator for one in Requirement(text).specifier] == [">="]


def test_the_conda_recipe_requires_the_same():
    recipe = (ROOT / "conda" / "recipe.yaml").read_text()
    for text in PROJECT["project"]["dependencies"] + PROJECT["build-system"]["requires"]:
        wanted = Requirement(text)
        listed = re.search(rf"^    - {re.escape(wanted.name)} (.*)$", recipe, re.M)
        assert listed, f"conda/recipe.yaml does not list {wanted.name}"
        assert Requirement(f"{wanted.name}{listed[1]}").specifier == wanted.specifier


def test_classifiers_claim_no_more_than_was_tried():
    classifiers = PROJECT["project"]["classifiers"]
    systems = [one for one in classifiers if one.startswith("Operating System")]
    assert systems == ["Operating System :: POSIX :: Linux"]
    oldest = Version(PROJECT["project"]["requires-python"].removeprefix(">="))
    minors = sorted(
        Version(one.rsplit(" ", 1)[1])
        for one in classifiers
        if re.fullmatch(r".*Python :: 3\.\d+", one)
    )
    assert minors == [Version(f"3.{k}") for k in range(oldest.minor, oldest.minor + len(minors))]


def locked():
    """The pinned requirements of the development environment, by name, with their checksums."""
    if not LOCK.exists():
        pytest.skip("an sdist")
    found = {}
    for text in LOCK.read_text().replace("\\\n", " ").splitlines():
        if text and not text.startswith("#"):
            pin, *hashes = text.split("--hash=")
            wanted = Requirement(pin)
            found.setdefault(wanted.name, []).append((wanted, hashes))
    return found


def needed_for_development():
    extras, groups = PROJECT["project"]["optional-dependencies"], PROJECT["dependency-groups"]
    lists = [PROJECT["project"]["dependencies"], PROJECT["build-system"]["requires"]]
    lists += [extras[name] for name in ("test", "docs", "study")]
    lists += [groups[name] for name in ("dist", "browser")]
    return sorted({text for one in lists for text in one})


def test_the_lock_pins_versions_with_checksums_and_names_no_host():
    for pins in locked().values():
        for pin, hashes in pins:
            assert [one.operator for one in pin.specifier] == ["=="], pin
            assert hashes, pin
            assert all(one.startswith("sha256:") for one in hashes), pin
            assert not pin.url
    assert "://" not in LOCK.read_text()


@pytest.mark.parametrize("text", needed_for_development())
def test_the_lock_has_what_development_needs(text):
    wanted = Requirement(text)
    pins = locked().get(wanted.name.lower())
    assert pins, f"requirements/dev.txt lacks {wanted.name}: make lock"
    for pin, _ in pins:
        (version_locked,) = (one.version for one in pin.specifier)
        assert version_locked in wanted.specifier, f"{pin} is not {wanted}: make lock"


# --- sdist and wheels ----------------------------------------------------------------------------


@needs_backend
def test_the_sdist_holds_what_a_build_needs(tmp_path):
    program = (
        "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"
    )
    code, said = run(sys.executable, "-c", program, str(tmp_path), cwd=ROOT)
    assert code == 0, said
    (path,) = tmp_path.glob("psvm-*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    sources = [*(ROOT / "cpp").rglob("*.?pp"), *(ROOT / "src").rglob("*.py")]
    sources += [*(ROOT / "cmake").glob("*.cmake"), *(ROOT / "tools").glob("*.py")]
    needed = {one.relative_to(ROOT).as_posix() for one in sources}
    needed |= {"CMakeLists.txt", "pyproject.toml", "LICENSE", "README.md", "PKG-INFO", "Makefile"}
    assert needed <= names
    unwanted = (".git", ".ci", ".venv", "build/", "dist/", "benchmarks/results", "requirements/")
    assert not [name for name in names if name.startswith(unwanted) or name.endswith(".so")]


@pytest.mark.parametrize("path", WHEELS or [None], ids=lambda path: path and path.name)
def test_wheels_hold_the_package_and_nothing_else(path):
    if path is None:
        pytest.skip("no wheel in dist/: make wheel")
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"psvm"}
    assert any(re.fullmatch(r"psvm/_core\..*(so|pyd)", name) for name in names)
    assert {"psvm/py.typed", "psvm/_core.pyi"} <= set(names)
    assert not [name for name in names if "tests" in name or name.endswith((".cpp", ".hpp"))]
    assert path.stat().st_size < 4e6
    assert "-linux_" not in path.name, "not repaired by auditwheel: PyPI refuses it"


@pytest.mark.skipif(NM is None or sys.platform != "linux", reason="no nm, or not Linux")
def test_the_module_shows_nothing_but_its_entry():
    """Instances of C++ templates are not to be taken for those of another module."""
    code, said = run(NM, "-D", "--defined-only", _core.__file__)
    assert code == 0, said
    assert [line.split()[-1] for line in said.splitlines()] == ["PyInit__core"]


def tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_clean_environment_has_no_compiler(monkeypatch, tmp_path):
    monkeypatch.setenv("CXX", "g++")
    monkeypatch.setenv("PYTHONPATH", "src")
    variables = tool("clean_install").bare_environment(tmp_path)
    assert not {"CC", "CXX", "PYTHONPATH"} & set(variables)
    assert shutil.which("c++", path=variables["PATH"]) is None


def test_the_smoke_test_refuses_the_source_tree():
    """So that a wheel is not taken to work because the tree does."""
    code, said = run(
        sys.executable,
        str(ROOT / "tools" / "smoke.py"),
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    assert code != 0
    assert "psvm is the installed one: no" in said


def test_threads_at_once_for_a_moment():
    """What is run for minutes on a free-threaded Python before it is declared."""
    program = str(ROOT / "tools" / "stress_threads.py")
    code, said = run(sys.executable, program, "--seconds", "2", "--threads", "4")
    assert code == 0, said
    assert "each as alone" in said


def failing():
    raise RuntimeError("by design")


@pytest.mark.parametrize(
    ("job", "message"), [(lambda: np.ones(1), "off by 1.0e"), (failing, "by design")]
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_threads_that_differ_are_told_of(job, message):
    until = time.monotonic() + 60
    with pytest.raises(SystemExit, match=message):
        tool("stress_threads").overlap({"a": job}, {"a": np.zeros(1)}, 2, until)


# --- the compiler --------------------------------------------------------------------------------


def look_for_compiler(folder, **variables):
    script = ROOT / "cmake" / "find_compiler.cmake"
    return run(CMAKE, "-P", str(script), env={"PATH": str(folder), **variables})


def put_program(folder, name):
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.mark.skipif(CMAKE is None or os.name == "nt", reason="no cmake, or Windows")
class TestCompiler:
    def test_none_at_all_says_what_to_install(self, tmp_path):
        code, said = look_for_compiler(tmp_path)
        assert code != 0
        assert "needs a C++20 compiler" in said
        assert "apt install g++" in said
        assert "CXX" in said

    @pytest.mark.parametrize("name", ["g++", "clang++", "clang++-19", "g++-12"])
    def test_one_is_found_by_its_name(self, tmp_path, name):
        path = put_program(tmp_path, name)
        code, said = look_for_compiler(tmp_path)
        assert code == 0, said
        assert f"C++ compiler: {path}" in said

    def test_the_users_own_is_never_replaced(self, tmp_path):
        put_program(tmp_path, "g++")
        code, said = look_for_compiler(tmp_path, CXX="nosuch++ -m64")
        assert code != 0
        assert "'nosuch++'" in said
        put_program(tmp_path, "mine")
        assert look_for_compiler(tmp_path, CXX="mine -m64") == (0, "")

    def test_pythons_own_is_not_taken_for_the_users(self):
        """scikit-build-core sets CXX to what Python was built with unless it is named here."""
        assert PROJECT["tool"]["scikit-build"]["env"]["CXX"] == {"env": "CXX"}


# --- make and the workflows ----------------------------------------------------------------------


@pytest.mark.skipif(MAKE is None, reason="no make")
@pytest.mark.parametrize(
    ("wheel", "compiled", "wanted"),
    [(False, False, "-e ."), (True, False, "dist/psvm-"), (True, True, "demo.py")],
)
def test_demo_prefers_a_wheel_to_the_compiler(tmp_path, wheel, compiled, wanted):
    for name in ("Makefile", "pyproject.toml", "CMakeLists.txt"):
        shutil.copy(ROOT / name, tmp_path)
    ready = tmp_path / ".venv" / "ready"
    ready.mkdir(parents=True)
    for name in ("venv", "build", "plot", *(["psvm"] if compiled else [])):
        (ready / name).touch()
    if wheel:
        (tmp_path / "dist").mkdir()
        (tmp_path / "dist" / "psvm-0.1-cp312-abi3-linux_x86_64.whl").touch()
    code, said = run(MAKE, "-n", "demo", cwd=tmp_path)
    assert code == 0, said
    assert wanted in said
    assert ("install" in said) == (not compiled)
    if wheel and not compiled:  # the compiler comes last, if no wheel is for this Python
        assert said.index(wanted) < said.index("-e .")


@pytest.mark.skipif(MAKE is None or os.name == "nt", reason="no make, or Windows")
class TestPython:
    """``make PYTHON=...`` never takes another one without a word."""

    @pytest.fixture
    def make(self, tmp_path):
        for name in ("Makefile", "pyproject.toml"):
            shutil.copy(ROOT / name, tmp_path)
        return lambda python: run(MAKE, f"PYTHON={python}", ".venv/ready/venv", cwd=tmp_path)

    @staticmethod
    def an_environment(folder):
        for name in ("bin", "ready"):
            (folder / ".venv" / name).mkdir(parents=True)
        (folder / ".venv" / "bin" / "python").symlink_to(sys.executable)
        (folder / ".venv" / "ready" / "venv").touch()

    def test_one_that_is_not_there(self, make, tmp_path):
        code, said = make("nosuchpython3")
        assert code != 0
        assert "not so: nosuchpython3." in said
        assert not (tmp_path / ".venv").exists()

    def test_an_environment_of_another(self, make, tmp_path):
        self.an_environment(tmp_path)
        other = put_program(tmp_path, "python4")
        other.write_text("#!/bin/sh\necho 4.0.0 main\n")
        code, said = make(other)
        assert code != 0
        assert f"not of {other}: make clean" in said

    def test_an_environment_of_the_same(self, make, tmp_path):
        self.an_environment(tmp_path)
        assert make(sys.executable)[0] == 0


@pytest.mark.skipif(MAKE is None or sys.platform != "linux", reason="no make, or not Linux")
def test_a_wheel_for_another_machine_has_its_suffix(tmp_path):
    """Python there would not find a module of this machine's name."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "python").symlink_to(sys.executable)
    (tmp_path / ".venv" / "ready").mkdir()
    for name in ("venv", "build", "dist", "zig"):
        (tmp_path / ".venv" / "ready" / name).touch()
    code, said = run(MAKE, "-n", "wheel", "ZIG=riscv64-linux-gnu.2.36", cwd=tmp_path)
    assert code == 0, said
    minor = sys.version_info.minor
    assert f"SETUPTOOLS_EXT_SUFFIX=.cpython-3{minor}-riscv64-linux-gnu.so" in said
    assert "_PYTHON_HOST_PLATFORM=linux-riscv64" in said


@needs_workflows
def test_workflows_call_targets_that_exist():
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z][\w-]*):", makefile, re.M))
    called = set()
    for path in WORKFLOWS:
        text = re.sub(r"#.*", "", path.read_text())
        for words in re.findall(r"\bmake (?:-C \w+ )?([a-z][^\n|$\"]*)", text):
            called |= {word for word in words.split() if re.fullmatch(r"[a-z][\w-]*", word)}
    assert {"check-dist", "test-minimum", "fuzz", "bench-quick", "pytest", "locked"} <= called
    assert called <= targets


@needs_workflows
def test_workflows_test_every_python_that_is_claimed():
    text = (ROOT / ".github" / "workflows" / "tests.yml").read_text()
    listed = json.loads(re.search(r"linux:.*?python: (\[[^\]]*\])", text, re.S)[1])
    claimed = [
        one.rsplit(" ", 1)[1]
        for one in PROJECT["project"]["classifiers"]
        if re.fullmatch(r".*Python :: 3\.\d+", one)
    ]
    assert listed == claimed


@needs_workflows
@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_may_only_read(path):
    yaml = pytest.importorskip("yaml")
    content = yaml.safe_load(path.read_text())
    assert content["permissions"] == {"contents": "read"}
    for name, job in content["jobs"].items():
        if "permissions" in job:
            assert (path.name, job["permissions"]) == ("release.yml", {"id-token": "write"}), name
        assert (
            "timeout-minutes" in job
            or "uses" in job
            or path.name == "release.yml"
            or name in ("sunday",)
        ), f"{path.name}: {name} has no limit"
