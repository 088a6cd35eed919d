"""Let training that was killed resume: progress after each epoch, in a file of its own.

A checkpoint is replaced whole after each epoch and carries the key of its run, a digest of data and
settings: another run's is refused, and so is a damaged one.
"""

import hashlib
import json
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from dnatrace.errors import InputError
from dnatrace.files import replacing

Floats = NDArray[np.float32]

# What reading may raise for a file that is not a checkpoint, or only part of one.
_DAMAGED = (
    OSError,
    EOFError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    NotImplementedError,  # zipfile: a compression it does not know
    zipfile.BadZipFile,
    zlib.error,
)


@dataclass(slots=True, kw_only=True, eq=False)
class Progress:
    """The progress of training after an epoch; what a checkpoint holds.

    Attributes:
        state: everything that a step changes, a tree of arrays.
        best: the weights of the epoch with the highest validation AUC.
        best_epoch: the number of that epoch, from 1; 0 for none yet.
        curve: one row per epoch: epoch, rate, loss, validation_auc.
    """

    state: Any
    best: dict[str, Floats] = field(default_factory=dict)
    best_epoch: int = 0
    curve: list[dict[str, float]] = field(default_factory=list)

    @property
    def best_auc(self) -> float:
        """The highest validation AUC so far, -1 before the first epoch."""
        return self.curve[self.best_epoch - 1]["validation_auc"] if self.best_epoch else -1.0


def run_key(about: Any, arrays: Iterable[NDArray[Any]]) -> str:
    """Return a digest of plain values and arrays: everything that determines training."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(json.dumps(about, sort_keys=True).encode())
    for array in arrays:
        digest.update(array.tobytes())
    return digest.hexdigest()


def write_checkpoint(path: Path, key: str, progress: Progress) -> None:
    """Replace the file with the progress of the run with this key, whole or not at all."""
    leaves = jax.tree.leaves(progress.state)
    about = {"key": key, "curve": progress.curve, "best_epoch": progress.best_epoch}
    arrays: dict[str, Any] = {f"leaf{i}": np.asarray(leaf) for i, leaf in enumerate(leaves)}
    arrays |= {f"best/{name}": value for name, value in progress.best.items()}
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez(file, about=np.array(json.dumps(about)), **arrays)


def read_checkpoint(path: Path, key: str, fresh: Progress) -> Progress:
    """Return the progress in a checkpoint; raise for a damaged file or one of another run."""
    leaves, shape = jax.tree.flatten(fresh.state)
    try:
        # Opened here because `np.load` leaves files open that are not archives.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
            about = json.loads(str(held["about"]))
            made_for, best_epoch, curve = about["key"], about["best_epoch"], about["curve"]
            if made_for == key:  # otherwise its arrays may differ from these
                stored = [jnp.asarray(held[f"leaf{i}"]) for i in range(len(leaves))]
                names = [name for name in held.files if name.startswith("best/")]
                best = {name.removeprefix("best/"): held[name] for name in names}
    except _DAMAGED as error:
        raise InputError(
            f"{path}: not a checkpoint of training; remove it to start over"
        ) from error
    if made_for != key:
        raise InputError(f"{path}: a checkpoint of other data or settings; remove it to start over")
    return Progress(
        state=jax.tree.unflatten(shape, stored), best=best, best_epoch=best_epoch, curve=curve
    )
