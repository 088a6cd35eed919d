"""Models on disk: arrays and JSON in one file, the same bytes for the same model.

The layout is that of safetensors: eight bytes with the length of a JSON header, the header, then
the arrays one after the other. Everything beside the arrays is JSON text under `__metadata__`.
"""

import hashlib
import json
import struct
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.files import replacing
from dnatrace.networks.architecture import Architecture
from dnatrace.networks.certificate import Certificate, certify

SUFFIX = ".safetensors"
_FORMAT = 1
_MOST_BYTES = 64 * 2**20  # ours have a few hundred thousand
_TRAINED = "trained/"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelFile:
    """What a model file holds.

    Attributes:
        architecture: how the weights are used.
        weights: effective weights after projection, float32.
        trained: the maps on the path of messages before projection, float32.
        grid: message levels in [0, γ], float32.
        stored: the certificate as it stands in the file.
        certificate: the certificate computed anew.
        provenance: where the model comes from.
    """

    architecture: Architecture
    weights: dict[str, NDArray[np.float32]]
    trained: dict[str, NDArray[np.float32]]
    grid: NDArray[np.float32]
    stored: dict[str, Any]
    certificate: Certificate
    provenance: dict[str, Any]

    @property
    def digest_matches(self) -> bool:
        """Whether the weights are those that the file says they are."""
        return bool(self.stored.get("digest") == self.certificate.digest)

    @property
    def matches(self) -> bool:
        """Whether digest, bound and norms of the file are those of its weights."""
        mine = self.certificate.as_dict()
        if not self.digest_matches or set(self.stored) != set(mine):
            return False
        try:
            norms = [
                (x["name"], tuple(x["shape"]), float(x["norm"])) for x in self.stored["layers"]
            ]
            bound, margin = float(self.stored["lipschitz_bound"]), float(self.stored["margin"])
        except (TypeError, KeyError, ValueError):
            return False
        # Other libraries may round the last digits of a singular value otherwise.
        same = all(
            name == x.name and shape == x.shape and abs(norm - x.norm) <= 1e-12 * x.norm
            for (name, shape, norm), x in zip(norms, self.certificate.layers, strict=False)
        )
        return (
            same
            and len(norms) == len(self.certificate.layers)
            and margin == mine["margin"]
            and abs(bound - mine["lipschitz_bound"]) <= 1e-12 * bound
        )


def write_model(
    path: Path,
    *,
    architecture: Architecture,
    weights: dict[str, NDArray[np.float32]],
    trained: dict[str, NDArray[np.float32]],
    grid: NDArray[np.float32],
    provenance: dict[str, Any],
) -> Certificate:
    """Certify a model and write it whole; return the certificate."""
    certificate = certify(architecture, weights, grid)
    metadata = {
        "architecture": architecture.as_dict(),
        "certificate": certificate.as_dict(),
        "provenance": provenance,
    }
    arrays = {"grid": grid, **weights, **{_TRAINED + k: v for k, v in trained.items()}}
    with replacing(path) as temporary:
        temporary.write_bytes(pack(metadata, arrays))
    return certificate


def read_model(path: Path) -> ModelFile:
    """Read a model file without judging its certificate; `runtime.load_model` does that.

    Raises InputError for anything that is not a whole, well-formed model file.
    """
    metadata, arrays = unpack(path)
    try:
        architecture = Architecture.from_dict(metadata["architecture"])
        stored, provenance = metadata["certificate"], metadata["provenance"]
        if not isinstance(stored, dict) or not isinstance(provenance, dict):
            raise InputError("a certificate or provenance that is no table")
        grid = _check_grid(arrays.pop("grid"), architecture)
        trained = {k.removeprefix(_TRAINED): arrays.pop(k) for k in list(arrays) if _TRAINED in k}
        _check_trained(architecture, trained, arrays)
        certificate = certify(architecture, arrays, grid)
    except KeyError as error:
        raise InputError(f"{path}: not a model: {error} is missing") from None
    except InputError as error:
        raise InputError(f"{path}: not a model: {error}") from None
    return ModelFile(
        architecture=architecture,
        weights=arrays,
        trained=trained,
        grid=grid,
        stored=stored,
        certificate=certificate,
        provenance=provenance,
    )


def _check_grid(grid: NDArray[Any], architecture: Architecture) -> NDArray[np.float32]:
    if grid.dtype != np.float32 or grid.ndim != 1 or not 2 <= grid.size <= 256:
        raise InputError("a grid that is no list of 2 to 256 levels")
    rising = bool((np.diff(grid) > 0).all()) and grid[0] == 0.0
    if not rising or grid[-1] != np.float32(architecture.gamma):
        raise InputError("a grid that does not rise from 0 to gamma")
    return grid


def _check_trained(architecture: Architecture, trained: Any, weights: Any) -> None:
    if not set(trained) <= set(architecture.message_path()):
        raise InputError("weights before projection that are not on the path of messages")
    if any(w.shape != weights[k].shape or not np.isfinite(w).all() for k, w in trained.items()):
        raise InputError("weights before projection of a wrong shape")


def shipped_names(package: str) -> list[str]:
    """Return the names of the files that ship in a package, without their suffix."""
    files = resources.files(package).iterdir()
    return sorted(f.name.removesuffix(SUFFIX) for f in files if f.name.endswith(SUFFIX))


def shipped_or_given(name: str | Path, package: str, noun: str) -> Path:
    """Return the file of that name that ships in a package, or the path that was given."""
    shipped = Path(str(resources.files(package))) / f"{name}{SUFFIX}"
    if isinstance(name, str) and Path(name).name == name and shipped.is_file():
        return shipped
    path = Path(name)
    if not path.exists():
        names = ", ".join(shipped_names(package)) or "none"
        raise InputError(f"{noun} '{name}': no such file, and none that ships ({names})")
    return path


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
    try:
        raw = path.read_bytes() if path.stat().st_size <= _MOST_BYTES else b""
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    try:
        (length,) = struct.unpack("<Q", raw[:8])
        header, body = json.loads(raw[8 : 8 + length].decode()), raw[8 + length :]
        about = header.pop("__metadata__")
        metadata = json.loads(about["dnatrace"])
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
    except (ValueError, KeyError, TypeError, AttributeError, struct.error, OverflowError) as error:
        raise InputError(f"{path}: not a whole model file of this version") from error
    # The seal finds accidents and careless edits, also of provenance; norms are computed anew.
    metadata["certificate"] = metadata.get("certificate") if about["seal"] == seal else {}
    return metadata, arrays
