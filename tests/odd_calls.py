"""Every option of every command with every odd value, and every file that is read, damaged.

`Desk` is a directory as a user has it: lists, configurations, a store, an audit, models, a dataset.
A call is made there and judged: whatever was given, it ends with 0, 1 or 2; with 2 there is one
line on standard error and nothing on standard output; and no file that was there before is lost or
changed.
"""

import json
import shutil
import signal
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import typer.main

from dnatrace.cli import app

from .command_line import run

ROOT = Path(__file__).parents[1]
LONGEST = 120  # seconds; only a call that would never end takes so long
TINY = "--people 60 --days 3 --set initially_infected=6"
# A small call of each command that succeeds on the desk; NEW is a new name, RUN a stored run.
CALLS = {
    "run": f"run --preset quick {TINY} --out NEW",
    "infer": "infer contacts.csv tests.csv --out NEW.csv",
    "audit": "audit --method dpfn-s --draws 2000 --out NEW.json",
    "attack": "attack --method dpfn-s --draws 200",
    "dataset": f"dataset --out NEW {TINY}",
    "train": "train data --epochs 1 --samples 60 --variant combined --out NEW",
    "evaluate": "evaluate --data data --resamplings 2 --out NEW.md",
    "certify": "certify model.safetensors",
    "export": "export model.safetensors NEW.onnx",
    "sweep": "sweep sweep.toml --store NEW",
    "plan": "plan --scenario scarce --tests 0.1 --quarantine 0.1 --epsilon 1 "
    "--people 60 --days 3 --evaluations 4 --seeds 1 --out NEW",
    "report": "report runs --out NEW.html",
    "list": "list runs",
    "doctor": "doctor",
    "privacy calibrate": "privacy calibrate",
    "privacy statement": "privacy statement --method dpfn-s --set people=60 --set days=3",
    "privacy ledger": "privacy ledger RUN",
    "config parameters": "config parameters",
    "config scenarios": "config scenarios",
    "config schema": "config schema",
}
# The page serves until it is interrupted; the paper's results have no small size.
_LEFT_OUT = ("app", "reproduce")
ODD = (
    *("nan", "inf", "-inf", "-1", "0", "1", "0.5", "1e400", "99999999999999999999", "1_0", "٣"),
    *("x", "None", "true", "1,2", "1-", "-", "--", "../..", ".", "/proc", "nowhere", "no/x.csv"),
    *("a=b", "=", "people=", "seed=x", "method.name=fn,dpfn", "[]", "{}", '"', "ünï", "\udcff"),
    *("x" * 300, "line\nbreak", "contacts.csv", "runs", "junk.bin", "model.safetensors"),
    "/dev/null",
)


def commands():
    """Return all commands of the parser by their words."""
    found = {}
    for name, command in typer.main.get_command(app).commands.items():
        for inner, one in getattr(command, "commands", {"": command}).items():
            found[f"{name} {inner}".strip()] = one
    return {words: one for words, one in found.items() if words not in _LEFT_OUT}


def odd_values(words):
    """Return calls of a command in which one option or argument has an odd value."""
    base, place = CALLS[words].split(), len(words.split())
    calls = []
    for parameter in commands()[words].params:
        if parameter.param_type_name == "argument":
            calls += [[*base[:place], odd, *base[place + 1 :]] for odd in ODD]
            place += 1
        elif not parameter.is_flag and parameter.name not in ("help", "install_completion"):
            option = parameter.opts[0]
            calls += [[*_without(base, option), option, odd] for odd in ODD]
    return calls


def _without(words, option):
    if option not in words or option == "--set":
        return words
    place = words.index(option)
    return [*words[:place], *words[place + 2 :]]


# Which calls read which file of the desk.
READERS = {
    "contacts.csv": [
        CALLS["infer"],
        "run --simulator replay --set simulator.contacts=contacts.csv --days 3",
    ],
    "tests.csv": [CALLS["infer"]],
    "run.toml": ["run --preset quick --config run.toml"],
    "sweep.toml": [CALLS["sweep"]],
    "audit.json": [f"{CALLS['privacy statement']} --audit audit.json"],
    "model.safetensors": [
        CALLS["certify"],
        CALLS["export"],
        "run --preset quick --people 60 --days 2 --method dna --set method.model=model.safetensors",
    ],
    "decoder.safetensors": [
        "certify decoder.safetensors",
        "run --preset quick --people 60 --days 2 --set method.decoder=decoder.safetensors",
    ],
    **dict.fromkeys(
        ("data/dataset.json", "data/train-00000.parquet", "data/test-00000.parquet"),
        (CALLS["evaluate"], CALLS["train"]),
    ),
    **dict.fromkeys(
        (f"RUN/{name}" for name in ("config.json", "summary.json", "ledger.json", "daily.parquet")),
        ("list runs --json", "report RUN --out NEW.html", "privacy ledger RUN"),
    ),
}


def damages(content):
    """Return other contents of a file: cut short, emptied, of another kind, with wrong bits."""
    size = len(content)
    found = [b"", content[:1], content[: size // 2], content[:-1], content + content]
    found += [bytes(range(256)), bytes(size), b"\xff\xfe" + content, b"[" * 100_000]
    found += [b"null", b"[]", b"3", b'"x"', b"{}", b'{"seed": NaN}']
    for place in (size * k // 12 for k in range(12)):
        for flip in (0x01, 0x80, 0xFF):
            found.append(content[:place] + bytes([content[place] ^ flip]) + content[place + 1 :])
    return [*found, *_edited(content)]


def _edited(content):
    """Return a JSON object with every value, in turn, replaced or missing."""
    try:
        values = json.loads(content)
    except ValueError:
        return
    for path in _leaves(values):
        for other in (None, -1, 10**30, "x", [], {}, True, float("nan"), ...):
            changed = json.loads(content)
            inner = changed
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = other
            if other is ...:
                del inner[path[-1]]
            yield json.dumps(changed).encode()


def _leaves(values, path=()):
    inner = values.items() if isinstance(values, dict) else ()
    for key, value in inner:
        yield (*path, key)
        yield from _leaves(value, (*path, key))


@dataclass
class Desk:
    """A directory as a user has it, in which calls are made and judged."""

    directory: Path

    def __post_init__(self):
        self._fill()
        self.kept = self._contents()
        self.calls = 0

    def _fill(self):
        here, package = self.directory, ROOT / "src" / "dnatrace"
        for name in ("contacts.csv", "tests.csv"):
            shutil.copy(ROOT / "examples" / name, here)
        shutil.copy(package / "models" / "dna.safetensors", here / "model.safetensors")
        shutil.copy(package / "decoders" / "headcount.safetensors", here / "decoder.safetensors")
        (here / "junk.bin").write_bytes(bytes(range(256)) * 8)
        (here / "run.toml").write_text("people = 60\ndays = 3\n[method]\nname = 'fn'\n")
        (here / "sweep.toml").write_text(
            "people = 60\ndays = 3\ninitially_infected = 6\n"
            "seeds = [1]\n[grid]\nmethod.name = ['fn', 'random']\n"
        )
        for method in ("dpfn-s", "fn"):
            self._do(f"run --preset quick {TINY} --method {method} --out runs")
        self._do("audit --method dpfn-s --draws 2000 --out audit.json")
        self._do(f"dataset --out data {TINY}")
        summaries = (here / "runs").glob("*/summary.json")
        private = [path for path in summaries if json.loads(path.read_text())["privacy"]["noise"]]
        self.run = str(private[0].parent.relative_to(here))

    def _do(self, words):
        done = run(*words.split(), cwd=self.directory)
        assert done.returncode == 0, (words, done.stderr)

    def _contents(self):
        found = (path for path in self.directory.rglob("*") if path.is_file())
        return {str(path.relative_to(self.directory)): path.read_bytes() for path in found}

    def fault(self, words):
        """Make a call; return what is wrong with how it ended, "" for nothing."""
        self.calls += 1
        words = [word.replace("NEW", f"new{self.calls}") for word in words]
        words = [self.run if word == "RUN" else word for word in words]
        try:
            with _limited():
                done = run(*words, "-q", cwd=self.directory)
        except Exception as error:  # what a person would see as a traceback
            return f"{words}: {error!r}"
        wrong = _misbehaved(done) or self._lost()
        self._tidy()
        return f"{words}: {wrong}: {done.stderr}" if wrong else ""

    def faults_of_reading(self, name, content):
        """Put other content into a file, let every command read it, and put it back."""
        path = self.directory / name.replace("RUN", self.run)
        before = path.read_bytes()
        path.write_bytes(content)
        self.kept[str(path.relative_to(self.directory))] = content
        try:
            found = [self.fault(call.split()) for call in READERS[name]]
        finally:
            path.write_bytes(before)
            self.kept[str(path.relative_to(self.directory))] = before
        return [f"{content[:80]!r} in {name}: {fault}" for fault in found if fault]

    def _lost(self):
        after = self._contents()
        lost = [name for name, content in self.kept.items() if after.get(name) != content]
        return f"changed or lost {', '.join(lost)}" if lost else ""

    def _tidy(self):
        kept = {Path(name).parts[0] for name in self.kept}
        for path in self.directory.iterdir():
            if path.name not in kept:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        for name in set(self._contents()) - set(self.kept):
            (self.directory / name).unlink()


def _misbehaved(done):
    """Return what is wrong with how a call ended."""
    if done.returncode not in (0, 1, 2):
        return f"exit code {done.returncode}"
    if "Traceback" in done.stderr + done.stdout:
        return "a traceback"
    if done.returncode != 2:
        return ""
    lines = done.stderr.splitlines()
    if len(lines) != 1 or not lines[0].startswith("dnatrace: "):
        return f"{len(lines)} lines instead of one"
    return "words on standard output" if done.stdout else ""


@contextmanager
def _limited():
    """Raise in a call that does not end."""

    def end(*_):
        raise TimeoutError("it does not end")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(LONGEST)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
