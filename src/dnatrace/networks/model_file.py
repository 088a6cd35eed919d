"""Files of models: arrays and JSON in one file, the same bytes for the same model.

The layout is that of safetensors: eight bytes with the length of a JSON header, the header, then
the arrays one after another. Everything other than the arrays is JSON text under `__metadata__`.
"""

import hashlib
import json
import struct
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.files import parse_json, replacing

SUFFIX = ".safetensors"
_FORMAT = 1
_MOST_BYTES = 64 * 2**20  # ours take a few hundred thousand

# What reading a file may raise, whatever its header says, even with endless nesting.
_BROKEN = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    MemoryError,
    struct.error,
)

Loaded = TypeVar("Loaded")


class Shipped(Generic[Loaded]):
    """Files of one kind that ship in a package, and files of that kind elsewhere."""

    def __init__(self, package: str, noun: str, read: Callable[[str, Path], Loaded]) -> None:
        self._package, self._noun = package, noun
        self._read = lru_cache(maxsize=8)(lambda name, path, *_changed: read(name, path))

    def names(self) -> list[str]:
        """Return the names of the files that ship, without their suffix."""
        files = resources.files(self._package).iterdir()
        return sorted(f.name.removesuffix(SUFFIX) for f in files if f.name.endswith(SUFFIX))

    def path(self, name: str | Path) -> Path:
        """Return the shipped file of that name, or the path that was given."""
        shipped = Path(str(resources.files(self._package))) / f"{name}{SUFFIX}"
        if isinstance(name, str) and Path(name).name == name and shipped.is_file():
            return shipped
        path = Path(name)
        if not path.exists():
            names = ", ".join(self.names()) or "none"
            raise InputError(f"{self._noun} '{name}': no such file, and none that ships ({names})")
        return path

    def load(self, name: str | Path) -> Loaded:
        """Return what a file holds; it is read again only when it has changed."""
        path = self.path(name)
        stat = path.stat()
        return self._read(str(name), path, stat.st_mtime_ns, stat.st_size)


class FrozenArrays(Mapping[str, NDArray[Any]]):
    """Read-only copies of arrays by name, so that what was checked stays what is used."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._arrays = {name: read_only(array) for name, array in arrays.items()}

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __or__(self, others: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        return self._arrays | dict(others)

    def __reduce__(self) -> tuple[type["FrozenArrays"], tuple[dict[str, NDArray[Any]]]]:
        return FrozenArrays, (self._arrays,)  # so that arrays are read-only in other processes, too


def read_only(array: Any) -> Any:
    """Return a read-only copy; a single number is read-only already."""
    if not isinstance(array, np.ndarray):
        return array
    fixed = np.array(array)
    fixed.flags.writeable = False
    return fixed


def write(path: Path, metadata: dict[str, Any], arrays: dict[str, NDArray[np.float32]]) -> None:
    """Write a file whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_bytes(pack(metadata, arrays))


def pack(metadata: dict[str, Any], arrays: dict[str, NDArray[np.float32]]) -> bytes:
    """Return the bytes of a file with these arrays, and values for JSON about them."""
    data, header, start = [], {}, 0
    for name in sorted(arrays):
        raw = np.ascontiguousarray(arrays[name], dtype="<f4").tobytes()
        header[name] = {
            "dtype": "F32",
            "shape": list(arrays[name].shape),
            "data_offsets": [start, start + len(raw)],
        }
        data.append(raw)
        start += len(raw)
    body = b"".join(data)
    text = json.dumps({"format": _FORMAT, **metadata}, sort_keys=True)
    seal = hashlib.blake2b(text.encode() + body, digest_size=16).hexdigest()
    full = {"__metadata__": {"dnatrace": text, "seal": seal}, **header}
    encoded = json.dumps(full, sort_keys=True, ensure_ascii=True).encode()
    encoded += b" " * (-len(encoded) % 8)
    return struct.pack("<Q", len(encoded)) + encoded + body


def unpack(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[np.float32]]]:
    """Return what `pack` was given; the certificate is empty when the seal is broken."""
    if path.is_dir():
        raise InputError(f"{path}: is a directory, expected a model file")
    if path.exists() and not path.is_file():  # reading from a pipe could take for ever
        raise InputError(f"{path}: is not a regular file, expected a model file")
    try:
        raw = path.read_bytes() if path.stat().st_size <= _MOST_BYTES else b""
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    try:
        (length,) = struct.unpack("<Q", raw[:8])
        header, body = parse_json(raw[8 : 8 + length].decode()), raw[8 + length :]
        about = header.pop("__metadata__")
        metadata, stated = parse_json(about["dnatrace"]), about["seal"]
        arrays, end = {}, 0
        for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"][0]):
            start, stop = entry["data_offsets"]
            if entry["dtype"] != "F32" or start != end or stop > len(body):
                raise ValueError(name)
            values = np.frombuffer(body[start:stop], dtype="<f4").astype(np.float32)
            arrays[name] = values.reshape([int(n) for n in entry["shape"]])
            end = stop
        if end != len(body) or metadata["format"] != _FORMAT:
            raise ValueError("length or format")
        seal = hashlib.blake2b(about["dnatrace"].encode() + body, digest_size=16).hexdigest()
    except _BROKEN as error:
        raise InputError(f"{path}: not a whole model file of this version") from error
    # The seal detects accidents and careless edits, including edits of provenance; norms are
    # recomputed.
    metadata["certificate"] = metadata.get("certificate") if stated == seal else {}
    return metadata, arrays
