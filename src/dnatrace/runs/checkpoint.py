"""Checkpoints: what a run that was killed needs to resume, bit for bit.

A file holds what is known at the end of a day: the state of the loop, what changed in the simulator
(its people are drawn again from the seed), the measurements and the ledger. It is written under
another name and renamed when it is complete, so a run that is killed while writing resumes from the
previous one. Draws are addressed by person and day and have no state. Only `noise = "secure"`,
which nobody can repeat, gives a different result.

A checkpoint holds secrets of the run, as the running process does; it is removed when the run has
ended. Only the same version of the program reads it, and only classes of the program and of the
plug-ins that the configuration names are loaded from it.
"""

import io
import json
import logging
import os
import pickle
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from dnatrace import files
from dnatrace._version import __version__
from dnatrace.errors import InputError
from dnatrace.files import parse_json
from dnatrace.privacy.accounting import Ledger
from dnatrace.runs.metrics import Meter
from dnatrace.runs.provenance import commit
from dnatrace.simulators.base import Resumable
from dnatrace.tracing import Loop, LoopState

DEFAULT_EVERY = 10  # days
_FIRST_LINE = b"dnatrace checkpoint\n"
_LAST_LINE = b"\nend of checkpoint\n"
_ROOMS = ("dnatrace", "numpy", "collections")
_BUILTINS = ("bytearray", "complex", "frozenset", "object", "range", "set", "slice")
_OF_GENERATORS = (
    *("__generator_ctor", "__bit_generator_ctor", "__randomstate_ctor"),
    *("PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937"),
    *("SeedSequence", "__pyx_unpickle_SeedSequence"),
)
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Begun:
    """A run under way: what the next day and the tables at the end need.

    Attributes:
        loop: the parts of the run; the simulator advances in place.
        state: the state of the loop after the last day.
        meter: what has been measured.
        ledger: what has been spent.
    """

    loop: Loop
    state: LoopState
    meter: Meter
    ledger: Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Where a run is kept while it lasts.

    Attributes:
        path: the file.
        digest: the digest of the configuration.
        every: how many days pass between two checkpoints.
        packages: the packages of plug-ins whose classes may be in it.
        of_object: whether the method was given as an object.
    """

    path: Path
    digest: str
    every: int = DEFAULT_EVERY
    packages: tuple[str, ...] = field(default=())
    of_object: bool = False

    def __post_init__(self) -> None:
        if self.every < 1:
            raise InputError(f"a checkpoint every {self.every} days: must be at least 1")
        files.check_file(self.path)
        self._sweep()

    def check(self, simulator: Any) -> None:
        """Raise unless the simulator of a run can resume."""
        if not isinstance(simulator, Resumable):
            kind = type(simulator).__name__
            raise InputError(f"{self.path}: a run of the simulator {kind} cannot resume")

    def check_object(self, state: Any) -> None:
        """Raise unless what an object keeps from day to day can be written and read back.

        The state of the first day is tried; our own methods need no trial.
        """
        if not self.of_object:
            return
        file = io.BytesIO()
        try:
            _Writer(file, protocol=5).dump(state)
            file.seek(0)
            _Reader(file, (*_ROOMS, *self.packages)).load()
        except (pickle.PickleError, ValueError, TypeError, AttributeError) as error:
            why = " ".join(str(error).split())
            raise InputError(f"{self.path}: a run of this object cannot resume: {why}") from None

    def save(self, begun: Begun, seconds: float = 0.0) -> None:
        """Write a run at the end of a day, after `seconds` of this process, whole or not at all.

        Cost: one pass over what the run keeps, 0.8 to 1 kB per person.
        """
        simulator: Any = begun.loop.simulator
        content = (begun.state, simulator.snapshot(), begun.meter.state(seconds), begun.ledger)
        about = {"version": __version__, "commit": commit(), "digest": self.digest}
        with files.replacing(self.path) as temporary, temporary.open("wb") as file:
            file.write(_FIRST_LINE + json.dumps(about | {"day": begun.state.day}).encode() + b"\n")
            _Writer(file, protocol=5).dump(content)
            file.write(_LAST_LINE)

    def resume(self, begun: Begun) -> Begun:
        """Return the run at its last checkpoint; the run as given when there is none.

        Raises:
            InputError: the file is not a checkpoint, is incomplete, or belongs to another
                configuration or version.
        """
        if not self.path.exists():
            return begun
        with self.path.open("rb") as file:
            self._check(file)
            try:
                content = _Reader(file, (*_ROOMS, *self.packages)).load()
                state, of_simulator, measured, ledger = content
            except (pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError) as e:
                raise InputError(f"{self.path}: a damaged checkpoint: {e}") from None
        simulator: Any = begun.loop.simulator
        simulator.restore(of_simulator)
        begun.meter.resume(measured)
        _LOG.info("%s: resumes after day %d", self.path, state.day)
        return Begun(loop=begun.loop, state=state, meter=begun.meter, ledger=ledger)

    def remove(self) -> None:
        """Remove the file of a run that has ended."""
        self.path.unlink(missing_ok=True)

    def _check(self, file: IO[bytes]) -> None:
        """Raise unless a file is a complete checkpoint of this run; move to its content."""
        if file.readline() != _FIRST_LINE:
            raise InputError(f"{self.path}: exists already and is not a checkpoint")
        try:
            about = parse_json(file.readline())
            begins = file.tell()
            file.seek(-len(_LAST_LINE), io.SEEK_END)
            whole = file.read() == _LAST_LINE
            found = {key: about[key] for key in ("version", "commit", "digest")}
        except (ValueError, KeyError, TypeError, OSError):
            raise InputError(f"{self.path}: a damaged checkpoint") from None
        if not whole:
            raise InputError(f"{self.path}: an incomplete checkpoint")
        for key, mine in (("version", __version__), ("commit", commit())):
            if found[key] != mine:
                told = f"of {key} {found[key]}, while this is {mine}"
                raise InputError(f"{self.path}: a checkpoint {told}; remove it to start over")
        if found["digest"] != self.digest:
            told = f"of another run ({found['digest']}, while this is {self.digest})"
            raise InputError(f"{self.path}: a checkpoint {told}; remove it, or name another file")
        file.seek(begins)

    def _sweep(self) -> None:
        """Remove half-written files of processes that no longer run."""
        for partial in self.path.parent.glob(f".{self.path.stem}.*.partial{self.path.suffix}"):
            with suppress(ValueError, OSError):
                process = int(partial.name.removeprefix(f".{self.path.stem}.").split(".")[0])
                if not _is_running(process):
                    partial.unlink()


class _Writer(pickle.Pickler):
    """Write loggers, which rankers are given, by their names."""

    def persistent_id(self, thing: Any) -> str | None:
        """Return the name of a logger; None for anything else."""
        return thing.name if isinstance(thing, logging.Logger) else None


class _Reader(pickle.Unpickler):
    """Read arrays and classes of some packages, and nothing else that could run code."""

    def __init__(self, file: IO[bytes], packages: tuple[str, ...]) -> None:
        super().__init__(file)
        self._packages = packages

    def persistent_load(self, name: Any) -> Any:
        """Return the logger of a name."""
        return logging.getLogger(str(name))

    def find_class(self, module: str, name: str) -> Any:
        """Return a class, or raise if it belongs to another package."""
        package = module.split(".", maxsplit=1)[0]
        known = package in self._packages or (module == "builtins" and name in _BUILTINS)
        if not known or (package == "numpy" and not _is_array_maker(module, name)):
            raise pickle.UnpicklingError(f"holds {module}.{name}")
        found = super().find_class(module, name)
        if package == "dnatrace" and not isinstance(found, type) and not name.startswith("_"):
            raise pickle.UnpicklingError(f"holds {module}.{name}")
        return found


def _is_array_maker(module: str, name: str) -> bool:
    if module.startswith("numpy.random."):  # a generator, as rankers keep one
        return name in _OF_GENERATORS
    return name in {"dtype", "ndarray", "_frombuffer", "_reconstruct", "scalar"} and (
        module in {"numpy", "numpy._core.numeric", "numpy._core.multiarray"}
    )


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
