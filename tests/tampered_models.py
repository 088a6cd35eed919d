"""Model files, and ways to change them that must not pass."""

import json
import struct

import numpy as np

from dnatrace.networks.runtime import Model, write_model

from .reference_networks import GRID, random_weights, small

LEVELS = GRID[: int(np.searchsorted(GRID, np.float32(0.2))) + 1]


def write(path, kind="tight", **changes):
    architecture = small(kind)
    weights = random_weights(architecture)
    parts = {
        "name": "written",
        "architecture": architecture,
        "weights": weights,
        "trained": {k: 1.5 * weights[k] for k in architecture.message_path()},
        "grid": LEVELS,
        "provenance": {"command": "none"},
    }
    model = Model(**(parts | changes))
    write_model(path, model)
    return model.certificate


def parts_of(path):
    raw = path.read_bytes()
    (n,) = struct.unpack("<Q", raw[:8])
    return json.loads(raw[8 : 8 + n]), bytearray(raw[8 + n :])


def put(path, header, body):
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(body))


def edit_metadata(path, change):
    header, body = parts_of(path)
    about = json.loads(header["__metadata__"]["dnatrace"])
    change(about)
    header["__metadata__"]["dnatrace"] = json.dumps(about)
    put(path, header, body)


def flip(path, name):
    header, body = parts_of(path)
    body[header[name]["data_offsets"][0]] ^= 1
    put(path, header, body)


def rename(path):
    header, body = parts_of(path)
    header["pool.9.weight"] = header.pop("pool.1.weight")
    put(path, header, body)


def reshape(path):
    header, body = parts_of(path)
    header["message.0.weight"]["shape"] = [1, 8]
    put(path, header, body)


TAMPERED = {
    "weight": lambda p: flip(p, "message.1.weight"),
    "public weight": lambda p: flip(p, "head.bias"),
    "grid": lambda p: flip(p, "grid"),
    "before projection": lambda p: flip(p, "trained/pool.0.weight"),
    "bound": lambda p: edit_metadata(p, lambda m: m["certificate"].update(lipschitz_bound=0.5)),
    "margin": lambda p: edit_metadata(p, lambda m: m["certificate"].update(margin=0.0)),
    "digest": lambda p: edit_metadata(p, lambda m: m["certificate"].update(digest="0" * 32)),
    "layers": lambda p: edit_metadata(p, lambda m: m["certificate"]["layers"].pop()),
    "no certificate": lambda p: edit_metadata(p, lambda m: m.pop("certificate")),
    "gamma": lambda p: edit_metadata(p, lambda m: m["architecture"].update(gamma=0.1)),
    "gate": lambda p: edit_metadata(p, lambda m: m["architecture"].update(public_scale=9.0)),
    "variant": lambda p: edit_metadata(p, lambda m: m["architecture"].update(variant="public")),
    "kind": lambda p: edit_metadata(p, lambda m: m["architecture"].update(kind="paper")),
    "no width": lambda p: edit_metadata(p, lambda m: m["architecture"].pop("width")),
    "provenance": lambda p: edit_metadata(p, lambda m: m["provenance"].update(command="other")),
    "format": lambda p: edit_metadata(p, lambda m: m.update(format=2)),
    "renamed": rename,
    "reshaped": reshape,
    "truncated": lambda p: p.write_bytes(p.read_bytes()[:-4]),
    "half": lambda p: p.write_bytes(p.read_bytes()[: p.stat().st_size // 2]),
    "longer": lambda p: p.write_bytes(p.read_bytes() + b"0000"),
    "empty": lambda p: p.write_bytes(b""),
    "header": lambda p: p.write_bytes(struct.pack("<Q", 2**62) + p.read_bytes()[8:]),
    "text": lambda p: p.write_text("not a model"),
}
