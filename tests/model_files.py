"""Model files taken apart, changed and put together again, and how psvm refuses them."""

import hashlib
import io
import json
import zipfile

import pytest
from small_data import noisy

from psvm.persistence import ModelFileError, load

X, Y = noisy(n=20, d=2, seed=0)


def refusal(path, kind=ModelFileError, reader=load):
    with pytest.raises(kind) as caught:
        reader(path)
    return str(caught.value)


def written(tmp_path, content):
    path = tmp_path / "m.psvm"
    path.write_bytes(content)
    return path


def parts(content):
    """Header and payload of a file."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return json.loads(archive.read("psvm.json")), archive.read("model.skops")


def assembled(tmp_path, header, payload):
    """A file of these parts."""
    path = tmp_path / "m.psvm"
    with zipfile.ZipFile(path, "w") as archive:
        text = header if isinstance(header, bytes) else json.dumps(header)
        archive.writestr("psvm.json", text)
        archive.writestr("model.skops", payload)
    return path


def sealed(tmp_path, whole, payload):
    """A file with this payload and a checksum that fits."""
    header, _ = parts(whole[0])
    header["payload"]["bytes"] = len(payload)
    header["payload"]["sha256"] = hashlib.sha256(payload).hexdigest()
    return assembled(tmp_path, header, payload)
