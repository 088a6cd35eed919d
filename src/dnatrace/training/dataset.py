"""Datasets on disk: samples of simulated runs in Parquet shards.

A dataset is a directory: `train-00000.parquet` and so on for each split, and `dataset.json`, which
is written last. A directory without it is incomplete and is refused.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pydantic import Field, TypeAdapter, ValidationError

from dnatrace.errors import InputError
from dnatrace.files import check_directory, parse_json, replacing
from dnatrace.networks.architecture import WINDOW
from dnatrace.seir import SeirParameters, TestErrors
from dnatrace.training.samples import BY_CELL, BY_SAMPLE, Samples, concatenate
from dnatrace.training.scores import fn_scores

SPLITS = ("train", "validation", "test")
SCHEMA_VERSION = 1
SHARD_ROWS = 65_536
_DESCRIPTION = "dataset.json"

_BY_AGE = ("outcomes", "contacts")
_SCHEMA = pa.schema(
    [
        ("cells", pa.list_(pa.uint16())),
        ("repeats", pa.list_(pa.uint16())),
        ("outcomes", pa.list_(pa.int8(), WINDOW)),
        ("contacts", pa.list_(pa.int32(), WINDOW)),
        ("age_group", pa.uint8()),
        ("isolated", pa.bool_()),
        ("seed", pa.int64()),
        ("person", pa.int32()),
        ("day", pa.int16()),
        ("state", pa.uint8()),
        ("fn", pa.float32()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitInfo:
    """What a split holds.

    Attributes:
        samples: the number of rows.
        positives: the number of rows in state I.
        cells: the number of cells of all histograms together.
        f_error_most: the largest change of F by rounding messages.
        f_error_rms: the root mean square of that change.
        shards: the names of its files, in order, with the digest of each.
    """

    samples: int
    positives: int
    cells: int
    f_error_most: float
    f_error_rms: float
    shards: tuple[tuple[str, str], ...]


_SPLIT = TypeAdapter(SplitInfo)
_Count = Annotated[int, Field(ge=0)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Runs:
    """The runs of a split: their seeds, and the person-days among which samples were chosen."""

    seeds: tuple[_Count, ...]
    person_days: _Count
    infected_person_days: _Count


_RUNS = TypeAdapter(dict[str, _Runs])
_SIZE = TypeAdapter(_Count)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DatasetInfo:
    """What `dataset.json` says.

    Attributes:
        grid: the message levels, float32 [levels].
        parameters: the parameters of the statistical model behind the messages.
        test_errors: the error rates of its tests.
        splits: the splits by name.
        origin: policy, seeds, settings and provenance, as given.
    """

    grid: NDArray[np.float32]
    parameters: SeirParameters
    test_errors: TestErrors
    splits: dict[str, SplitInfo]
    origin: dict[str, Any]

    @property
    def digest(self) -> str:
        """One name for the content: 16 hexadecimal digits of the digests of all shards."""
        names = [digest for split in self.splits.values() for _, digest in split.shards]
        return hashlib.blake2b("".join(names).encode(), digest_size=8).hexdigest()

    def others_kept(self, split: str) -> float:
        """Return the share of person-days not in state I that a split holds; 1 if unknown."""
        runs = self.origin.get("runs", {}).get(split)
        if runs is None or runs["person_days"] == runs["infected_person_days"]:
            return 1.0
        held = self.splits[split]
        others = runs["person_days"] - runs["infected_person_days"]
        return float((held.samples - held.positives) / others)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, as they are stored."""
        return {
            "schema": SCHEMA_VERSION,
            "digest": self.digest,
            "window_days": WINDOW,
            "parameters": self.parameters.model_dump(),
            "test_errors": self.test_errors.model_dump(),
            "splits": {name: asdict(split) for name, split in self.splits.items()},
            "origin": self.origin,
            "grid": [float(level) for level in self.grid],
        }


@dataclass(slots=True, kw_only=True, eq=False)
class _Shards:
    """The shards of one split, while they are written."""

    directory: Path
    name: str
    model: tuple[SeirParameters, TestErrors]
    waiting: list[Samples] = field(default_factory=list)
    samples: int = 0
    cells: int = 0
    positives: int = 0
    written: list[tuple[str, str]] = field(default_factory=list)
    most_error: float = 0.0
    squared_error: float = 0.0

    def add(self, samples: Samples) -> None:
        self.waiting.append(samples)
        if sum(map(len, self.waiting)) >= SHARD_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write the waiting samples as one shard."""
        if not self.waiting:
            return
        samples = concatenate(self.waiting)
        self.waiting = []
        file = f"{self.name}-{len(self.written):05d}.parquet"
        path = self.directory / file
        with replacing(path) as temporary:
            pq.write_table(_to_table(samples), temporary, compression="zstd")
        self.written.append((file, _file_digest(path)))
        self.samples += len(samples)
        self.cells += samples.cells.size
        self.positives += int(samples.infected.sum())
        error = np.abs(fn_scores(samples, 1.0, *self.model) - samples.fn)
        self.most_error = max(self.most_error, float(error.max()))
        self.squared_error += float((error * error).sum())

    def info(self) -> SplitInfo:
        return SplitInfo(
            samples=self.samples,
            positives=self.positives,
            cells=self.cells,
            f_error_most=self.most_error,
            f_error_rms=(self.squared_error / max(self.samples, 1)) ** 0.5,
            shards=tuple(self.written),
        )


@dataclass(slots=True, kw_only=True, eq=False)
class DatasetWriter:
    """Starts a dataset in a new or empty directory and writes samples as they come in.

    Guarantee: `dataset.json` is written by `finish`, after all shards; until then the directory is
    not a dataset. One shard per split is held in memory.
    """

    directory: Path
    grid: NDArray[np.float32]
    parameters: SeirParameters
    test_errors: TestErrors
    _splits: dict[str, _Shards] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_new(self.directory)
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{self.directory}: cannot be made: {error.strerror}") from error
        check_directory(self.directory)
        model = (self.parameters, self.test_errors)
        self._splits = {
            name: _Shards(directory=self.directory, name=name, model=model) for name in SPLITS
        }

    def add(self, split: str, samples: Samples) -> None:
        """Append samples to a split; a shard is written when 65,536 wait."""
        if len(samples):
            self._splits[split].add(samples)

    def finish(self, origin: dict[str, Any]) -> DatasetInfo:
        """Write the waiting samples and then `dataset.json`."""
        for shards in self._splits.values():
            shards.flush()
        info = DatasetInfo(
            grid=self.grid,
            parameters=self.parameters,
            test_errors=self.test_errors,
            splits={name: shards.info() for name, shards in self._splits.items()},
            origin=origin,
        )
        with replacing(self.directory / _DESCRIPTION) as temporary:
            text = json.dumps(info.as_dict(), indent=1, allow_nan=False)
            temporary.write_text(text + "\n", "utf-8")
        return info


@contextmanager
def replacing_dataset(directory: Path) -> Iterator[Path]:
    """Yield a new directory that replaces a dataset when the block succeeds.

    Raises:
        InputError: the directory holds something that is not part of a dataset.
    """
    final = directory.resolve()
    if final.exists() and not final.is_dir():
        raise InputError(f"{directory}: is not a directory")
    for path in final.iterdir() if final.exists() else ():
        if path.suffix != ".parquet" and path.name != _DESCRIPTION:
            raise InputError(f"{path}: is not part of a dataset and would be lost")
    temporary = final.with_name(f".{final.name}.{os.getpid()}.partial")
    try:
        yield temporary
        if final.exists():
            shutil.rmtree(final)
        temporary.rename(final)
    except OSError as error:
        raise InputError(f"{directory}: cannot be replaced: {error.strerror or error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def check_new(directory: Path) -> None:
    """Raise unless a dataset could begin in that directory."""
    whole = (directory / _DESCRIPTION).exists()  # even without any sample
    if whole or (directory.is_dir() and any(directory.glob("*.parquet"))):
        what = "a dataset" if whole else "an unfinished dataset"
        raise InputError(f"{directory}: holds {what} already; --force replaces it")
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise InputError(f"{directory}: is not a new or empty directory")


def read_info(directory: Path) -> DatasetInfo:
    """Read the description of a dataset.

    Raises:
        InputError: there is no such directory, it is incomplete, or the description is damaged.
    """
    path = directory / _DESCRIPTION
    if not directory.is_dir():
        raise InputError(f"{directory}: no such dataset")
    if not path.is_file():
        raise InputError(f"{directory}: is not a complete dataset: {_DESCRIPTION} is missing")
    try:
        stored = parse_json(path.read_text("utf-8"))
        if stored["schema"] != SCHEMA_VERSION or stored["window_days"] != WINDOW:
            raise InputError(f"{path}: is of another version of dnatrace")
        return DatasetInfo(
            grid=_checked_grid(stored["grid"]),
            parameters=SeirParameters(**stored["parameters"]),
            test_errors=TestErrors(**stored["test_errors"]),
            splits={name: _SPLIT.validate_python(stored["splits"][name]) for name in SPLITS},
            origin=_checked_origin(stored["origin"]),
        )
    except InputError:
        raise
    except ValidationError as error:
        first = error.errors()[0]
        place, wrong = ".".join(map(str, first["loc"])), first["msg"].lower()
        raise InputError(f"{path}: is damaged: {f'{place}: ' if place else ''}{wrong}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: is damaged: {error!r}") from error


def _checked_origin(origin: Any) -> dict[str, Any]:
    """Return what is stored about the runs if it can be read; all of it may be absent."""
    held = dict(origin)
    _RUNS.validate_python(held.get("runs", {}))
    for size in ("people", "days"):
        _SIZE.validate_python(held.get(size, 0))
    return held


def _checked_grid(values: Any) -> NDArray[np.float32]:
    grid = np.array(values, dtype=np.float32)
    if grid.ndim != 1 or grid.size < 2 or not (np.diff(grid) > 0.0).all():
        raise ValueError("the levels of messages do not rise")
    return grid


def read_samples(directory: Path, split: str) -> Samples:
    """Read the samples of a split, in the order they were written: by run, then by day.

    Cost: twice the memory of the samples while shards are put together.

    Raises:
        InputError: the dataset is incomplete, or a shard is missing or damaged.
    """
    info = read_info(directory)
    if split not in SPLITS:
        raise InputError(f"split '{split}' does not exist; there are {', '.join(SPLITS)}")
    held = info.splits[split]
    shards = [_read_shard(directory / file, digest) for file, digest in held.shards]
    samples = concatenate([_to_samples(x, info.grid) for x in shards or [_SCHEMA.empty_table()]])
    found, told = (len(samples), samples.cells.size), (held.samples, held.cells)
    if found != told:
        how = "more" if found > told else "fewer"
        raise InputError(f"{directory}: holds {how} samples of '{split}' than {_DESCRIPTION} says")
    return samples


def _to_table(samples: Samples) -> pa.Table:
    offsets = pa.array(samples.offsets, pa.int32())
    columns = {
        name: pa.ListArray.from_arrays(offsets, pa.array(getattr(samples, name)))
        for name in BY_CELL
    }
    for name in BY_SAMPLE:
        values = getattr(samples, name)
        if name in _BY_AGE:
            flat = pa.array(np.ascontiguousarray(values).ravel())
            columns[name] = pa.FixedSizeListArray.from_arrays(flat, WINDOW)
        else:
            columns[name] = pa.array(values)
    return pa.table(columns, schema=_SCHEMA)


def _to_samples(table: pa.Table, grid: NDArray[np.float32]) -> Samples:
    columns = {name: table.column(name).combine_chunks() for name in _SCHEMA.names}
    read: dict[str, NDArray[Any]] = {"offsets": columns["cells"].offsets.to_numpy()}
    for name, column in columns.items():
        if name in (*BY_CELL, *_BY_AGE):
            values = column.flatten().to_numpy()
            read[name] = values.reshape(-1, WINDOW) if name in _BY_AGE else values
        else:
            read[name] = column.to_numpy(zero_copy_only=False)
    return Samples(grid=grid, **read)


def _read_shard(path: Path, digest: str) -> pa.Table:
    if not path.is_file():
        raise InputError(f"{path}: is missing")
    if _file_digest(path) != digest:
        raise InputError(f"{path}: is damaged: its content is not what {_DESCRIPTION} says")
    try:
        return pq.read_table(path, schema=_SCHEMA)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: is damaged: {error}") from error


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
