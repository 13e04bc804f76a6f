"""Files appear whole or not at all, and keep the permissions and links they had."""

import os
import stat
import subprocess
import sys

import pytest

from psvm.persistence import replacing


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def write(path, content):
    with replacing(path) as file:
        file.write(content)


def test_content_replaces_content(tmp_path):
    path = tmp_path / "out"
    write(path, b"first")
    write(path, b"second")
    assert path.read_bytes() == b"second"
    assert os.listdir(tmp_path) == ["out"]


def test_nothing_is_visible_before_the_end(tmp_path):
    path = tmp_path / "out"
    path.write_bytes(b"old")
    with replacing(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_failure_leaves_the_old_file_and_no_other(tmp_path, error):
    path = tmp_path / "out"
    path.write_bytes(b"old")

    def fail():
        with replacing(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out"]


def test_full_disk_leaves_the_old_file_and_no_other(tmp_path):
    # A limit on the size of files fails like a full disk: in the middle of a write.
    path = tmp_path / "out"
    path.write_bytes(b"old")
    program = (
        "import resource, sys\n"
        "from psvm.persistence import replacing\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))\n"
        "try:\n"
        "    with replacing(sys.argv[1]) as file:\n"
        "        file.write(bytes(10**6))\n"
        "except OSError as error:\n"
        "    print(error.strerror)\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True
    )
    assert "too large" in answer.stdout, answer.stderr
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out"]


def test_permissions_are_those_of_the_file_before(tmp_path):
    path = tmp_path / "out"
    write(path, b"new")
    plain = tmp_path / "plain"
    plain.write_bytes(b"")
    assert mode(path) == mode(plain)  # whatever the umask says
    path.chmod(0o640)
    write(path, b"again")
    assert mode(path) == 0o640


def test_link_stays_a_link(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    write(pipe, b"through")
    assert reader.communicate(timeout=60)[0] == b"through"
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_errors_name_the_place(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"folder .*missing.* does not exist"):
        write(tmp_path / "missing" / "out", b"")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write(tmp_path, b"")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_folder(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError):
        write(tmp_path / "out", b"")
    tmp_path.chmod(0o700)
