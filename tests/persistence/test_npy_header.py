"""An array that declares more than its file holds is refused before memory is asked for."""

import io
import zipfile

import numpy as np
import pytest

from psvm.persistence.npy_header import check_npy_members


def header(shape, dtype="<f8", version=(1, 0)):
    content = io.BytesIO()
    fields = {"descr": dtype, "fortran_order": False, "shape": shape}
    write = {
        (1, 0): np.lib.format.write_array_header_1_0,
        (2, 0): np.lib.format.write_array_header_2_0,
    }
    write[version](content, fields)
    return content.getvalue()


def check(*members):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for number, member in enumerate(members):
            archive.writestr(f"{number}.npy", member)
        archive.writestr("other.json", "{}")
    with zipfile.ZipFile(content) as archive:
        check_npy_members(archive)


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 5)])
def test_honest_arrays_pass(shape, version):
    content = io.BytesIO()
    np.lib.format.write_array(content, np.ones(shape), version=version)
    check(content.getvalue(), content.getvalue())


@pytest.mark.parametrize(
    "content",
    [
        header((10**12,)),
        header((10**12,), version=(2, 0)),
        header((2**40, 2**40)),  # beyond what 64 bits count
        header((3,)) + bytes(16),
        header((-1,)),
        b"\x93NUMPY\x09\x00",
        b"nonsense",
        b"",
    ],
)
def test_others_are_refused(content):
    with pytest.raises(ValueError, match=r"declares|magic|format"):
        check(header((0,)), content)


def test_the_message_gives_both_sizes():
    with pytest.raises(ValueError, match=r"0.npy declares 8000000000000 bytes .* has 24"):
        check(header((10**12,)) + bytes(24))
