import errno
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from dnatrace.errors import InputError
from dnatrace.files import check_directory
from dnatrace.runs import store
from dnatrace.runs.config import RunConfig, load_config
from dnatrace.runs.guarantees import ledger_table
from dnatrace.runs.run import run

from .command_line import run as command

CONFIG = RunConfig(method="random", people=200, days=5, seed=1)
DIGEST = "0123456789abcdef"
MOUNT = shutil.which("mount")
FILES = {"summary.json": b"{}", "a.txt": b"a"}


@pytest.fixture(scope="module")
def result():
    return run(CONFIG)


def contents(directory):
    return {p.name: p.read_bytes() for p in directory.iterdir() if p.name != "timing.json"}


def test_a_run_directory_is_complete_and_reproducible(result, tmp_path):
    first = store.write_run(result, tmp_path / "a")
    assert first.name == CONFIG.digest
    assert contents(first) == contents(store.write_run(run(CONFIG), tmp_path / "b"))
    summary = json.loads((first / "summary.json").read_text())
    assert summary["peak_infected"] == result.summary["peak_infected"]
    assert RunConfig(**json.loads((first / "config.json").read_text())) == CONFIG
    assert pq.read_table(first / "daily.parquet").equals(result.daily)
    provenance = json.loads((first / "provenance.json").read_text())
    assert provenance["seed"] == 1
    assert provenance["config_digest"] == CONFIG.digest
    assert (first / "epidemic.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (first / "epidemic.svg").read_text()


def test_an_earlier_run_is_replaced_whole(result, tmp_path):
    directory = store.write_run(result, tmp_path)
    (directory / "daily.csv").write_text("stale")
    (directory / "report.html").write_text("stale")  # of the run before; written anew afterwards
    assert store.write_run(result, tmp_path) == directory
    assert (directory / "daily.csv").read_text() != "stale"
    assert not (directory / "report.html").exists()
    assert [p.name for p in tmp_path.iterdir()] == [CONFIG.digest]


def test_all_files_of_a_run_are_known_as_ours(result, tmp_path):
    directory = store.write_run(result, tmp_path, label="a label")
    assert {path.name for path in directory.iterdir()} | {"report.html"} == store.OURS


def add_own_files(directory):
    (directory / "my-figure.png").write_bytes(b"mine")
    (directory / "notes" / "deep").mkdir(parents=True)
    (directory / "notes" / "deep" / "summary.json").write_text("my notes")
    (directory / "link").symlink_to("my-figure.png")


def has_own_files(directory):
    return (
        (directory / "my-figure.png").read_bytes() == b"mine"
        and (directory / "notes" / "deep" / "summary.json").read_text() == "my notes"
        and (directory / "link").is_symlink()
        and (directory / "link").read_bytes() == b"mine"
    )


@pytest.mark.parametrize("links", [True, False])
def test_a_run_written_again_keeps_the_files_of_its_reader(result, tmp_path, monkeypatch, links):
    directory = store.write_run(result, tmp_path)
    add_own_files(directory)
    if not links:
        monkeypatch.setattr(os, "link", no_links)
    store.write_run(result, tmp_path)
    assert has_own_files(directory)
    assert {p.name for p in directory.iterdir()} - store.OURS == {"my-figure.png", "notes", "link"}
    assert [p.name for p in tmp_path.iterdir()] == [CONFIG.digest]


def no_links(*_, **__):
    raise OSError(errno.EPERM, "Operation not permitted")


def test_files_of_readers_outlast_an_interrupt_at_every_step(tmp_path, monkeypatch):
    store.write_files(FILES, tmp_path, DIGEST)
    add_own_files(tmp_path / DIGEST)
    rename, sync, calls = Path.rename, store._sync_directory, []

    def interrupted_at(step, function):
        def call(*arguments):
            calls.append(function)
            if len(calls) == step:
                raise KeyboardInterrupt
            return function(*arguments)

        return call

    for step in range(1, 30):
        calls.clear()
        with monkeypatch.context() as patched:
            patched.setattr(Path, "rename", interrupted_at(step, rename))
            patched.setattr(store, "_sync_directory", interrupted_at(step, sync))
            try:
                store.write_files(FILES, tmp_path, DIGEST, replace=True)
            except KeyboardInterrupt:
                pass
            else:
                break
        store.clear_leftovers(tmp_path)
        assert has_own_files(tmp_path / DIGEST)
        assert {p.name for p in (tmp_path / DIGEST).iterdir()} >= set(FILES)
    assert step > 5
    assert has_own_files(tmp_path / DIGEST)


def test_a_writer_killed_between_two_renames_loses_no_file(tmp_path):
    dead = dead_process()
    add_own_files(leftover(tmp_path, process=dead, kind="old"))
    leftover(tmp_path, process=dead)  # the new one, complete but for its name
    store.clear_leftovers(tmp_path)
    assert has_own_files(tmp_path / DIGEST)
    assert [p.name for p in tmp_path.iterdir()] == [DIGEST]


def test_files_are_carried_over_when_another_writer_was_first(tmp_path):
    store.write_files(FILES, tmp_path, DIGEST)
    old = leftover(tmp_path, process=dead_process(), kind="old")
    add_own_files(old)
    (tmp_path / DIGEST / "notes").mkdir()
    (tmp_path / DIGEST / "notes" / "newer").touch()
    store.clear_leftovers(tmp_path)
    assert has_own_files(tmp_path / DIGEST)
    assert (tmp_path / DIGEST / "notes" / "newer").exists()
    assert not old.exists()


def test_files_that_cannot_be_carried_over_stay_where_they_are(tmp_path, monkeypatch, caplog):
    store.write_files(FILES, tmp_path, DIGEST)
    old = leftover(tmp_path, process=dead_process(), kind="old")
    add_own_files(old)
    with monkeypatch.context() as patched:
        patched.setattr(store, "_link", no_space)
        store.clear_leftovers(tmp_path)
    assert "your files are kept there: No space left" in caplog.text
    assert has_own_files(old)


def no_space(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_failure_leaves_nothing_and_keeps_the_old(result, tmp_path, monkeypatch):
    before = contents(store.write_run(result, tmp_path))
    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        store.write_run(result, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == [CONFIG.digest]
    assert contents(tmp_path / CONFIG.digest) == before


def test_the_old_run_comes_back_when_the_new_one_cannot_take_its_name(tmp_path, monkeypatch):
    store.write_files(FILES, tmp_path, DIGEST)
    monkeypatch.setattr(store, "_rename", no_space)
    with pytest.raises(InputError, match="No space left"):
        store.write_files(FILES | {"a.txt": b"new"}, tmp_path, DIGEST, replace=True)
    assert [p.name for p in tmp_path.iterdir()] == [DIGEST]
    assert contents(tmp_path / DIGEST) == FILES


def test_a_full_disk_is_one_clear_error(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)]
    mounted = subprocess.run(command, capture_output=True, check=False) if MOUNT else None
    if mounted is None or mounted.returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        store.write_files(FILES, disk, DIGEST)
        with pytest.raises(InputError, match="cannot be written: No space left on device"):
            store.write_files({"summary.json": bytes(200_000)}, disk, "f" * 16)
        assert [p.name for p in disk.iterdir()] == [DIGEST]
        assert contents(disk / DIGEST) == FILES
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_file_in_the_way(result, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="file: cannot be written"):
        store.write_run(result, tmp_path / "file")
    with pytest.raises(InputError, match="is a file, not a directory"):
        check_directory(tmp_path / "file" / "store")


def test_a_directory_without_permission(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    with pytest.raises(InputError, match="cannot be written: no permission"):
        check_directory(tmp_path / "store")


def test_of_two_writers_the_first_wins(tmp_path):
    assert store.write_files(FILES, tmp_path, DIGEST)
    assert not store.write_files(FILES | {"a.txt": b"second"}, tmp_path, DIGEST)
    assert contents(tmp_path / DIGEST) == FILES
    assert [p.name for p in tmp_path.iterdir()] == [DIGEST]


def test_many_writers_at_once_leave_one_whole_run(tmp_path):
    won = []

    def write(i):
        files = {"summary.json": b"{}"} | {f"{k}": bytes([i]) * 1000 for k in range(5)}
        if store.write_files(files, tmp_path, DIGEST):
            won.append(i)

    threads = [threading.Thread(target=write, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    kept = contents(tmp_path / DIGEST)
    assert {kept[f"{k}"] for k in range(5)} == {bytes(won) * 1000}
    assert [p.name for p in tmp_path.iterdir()] == [DIGEST]


def test_a_damaged_run_is_not_complete_and_is_replaced(tmp_path):
    (tmp_path / DIGEST).mkdir()
    (tmp_path / DIGEST / "a.txt").touch()
    assert not store.is_complete(tmp_path / DIGEST)
    assert store.stored_runs(tmp_path) == []
    assert store.write_files(FILES, tmp_path, DIGEST)
    assert store.stored_runs(tmp_path) == [tmp_path / DIGEST]
    assert contents(tmp_path / DIGEST) == FILES


def leftover(directory, *, process, kind="partial", machine=None):
    path = directory / f".{DIGEST}.{machine or store._machine()}-{process}-00ff.{kind}"
    path.mkdir()
    (path / "summary.json").write_bytes(b"{}")
    return path


def dead_process():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_only_what_dead_writers_left_is_cleared(tmp_path):
    dead, machine = dead_process(), "a" * 12
    leftover(tmp_path, process=dead)
    mine = leftover(tmp_path, process=os.getpid())
    elsewhere = leftover(tmp_path, process=dead, machine=machine)
    forgotten = leftover(tmp_path, process=dead + 1, machine=machine)
    os.utime(forgotten, (0, time.time() - 25 * 3600))
    assert store.stored_runs(tmp_path) == []  # none of them is a run
    assert store.clear_leftovers(tmp_path) == 2
    assert sorted(tmp_path.iterdir()) == sorted([mine, elsewhere])
    assert store.clear_leftovers(tmp_path / "absent") == 0


def test_a_run_that_was_about_to_be_replaced_comes_back(tmp_path):
    leftover(tmp_path, process=dead_process(), kind="old")
    store.clear_leftovers(tmp_path)
    assert store.stored_runs(tmp_path) == [tmp_path / DIGEST]
    leftover(tmp_path, process=dead_process(), kind="old")
    store.clear_leftovers(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == [DIGEST]


def test_an_interrupt_while_a_run_is_replaced_keeps_the_old(tmp_path, monkeypatch):
    store.write_files(FILES, tmp_path, DIGEST)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(store, "_rename", interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.write_files(FILES | {"a.txt": b"new"}, tmp_path, DIGEST, replace=True)
    assert [p.name for p in tmp_path.iterdir()] == [DIGEST]
    assert contents(tmp_path / DIGEST) == FILES


def test_two_may_clear_at_once(tmp_path, monkeypatch):
    old = leftover(tmp_path, process=dead_process(), kind="old")
    rename = type(old).rename

    def after_another(self, target):
        rename(self, target)  # the other is first
        return rename(self, target)

    monkeypatch.setattr(type(old), "rename", after_another)
    assert store.clear_leftovers(tmp_path) == 1
    assert store.stored_runs(tmp_path) == [tmp_path / DIGEST]


def test_writing_a_run_clears_what_dead_writers_left(result, tmp_path):
    leftover(tmp_path, process=dead_process())
    directory = store.write_run(result, tmp_path)
    assert list(tmp_path.iterdir()) == [directory]


def test_workers_do_without_matplotlib():
    code = """if True:
        import sys
        from dnatrace.sweeps import attempts
        from dnatrace.runs.config import RunConfig, load_config
        files, error = attempts.attempt(RunConfig(method="random", people=50, days=2))
        assert error is None and "summary.json" in files, error
        assert "matplotlib" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_ledger_has_a_target_where_the_configuration_asked_for_noise():
    small = {"people": 60, "days": 3}
    for method, asked in (("fn", None), ("headcount", 0.5)):
        config = RunConfig(**small, method=method, epsilon=0.5)
        target = ledger_table(config, run(config).ledger)["target"]
        assert (target and target["epsilon"]) == asked


# --- stores that somebody touched ---


@pytest.mark.parametrize(
    "damage",
    [
        {"spent": {}},
        {"spent": []},
        {"releases": {}},
        {"releases": [1, 2]},
        {"cost": "much"},
        {"delta": None},
    ],
)
def test_a_damaged_ledger_is_one_line(result, tmp_path, damage):
    path = store.write_run(result, tmp_path) / "ledger.json"
    ledger = json.loads(path.read_text("utf-8"))
    if "cost" in damage:
        ledger["spent"]["per_person_epsilon"] = damage["cost"]
    elif "delta" in damage:
        ledger["spent"]["delta"] = None
    else:
        ledger |= damage
    path.write_text(json.dumps(ledger))
    done = command("privacy", "ledger", path.parent)
    line = f"dnatrace: {path}: is damaged: it is not a ledger\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line)


def test_a_run_is_not_lost_for_a_label_that_cannot_be_read(result, tmp_path, caplog):
    path = store.write_run(result, tmp_path, label="first")
    (path / "label.txt").write_bytes(b"\xff\xfe")
    store.write_run(result, tmp_path)
    assert "label.txt: cannot be read: " in caplog.text
    assert store.read_label(path) == ""
    (path / "label.txt").write_bytes(b"\xff\xfe")
    store.write_run(result, tmp_path, label="second")
    assert store.read_label(path) == "second"


def test_one_run_can_be_listed_and_costs_that_are_no_numbers_are_refused(result, tmp_path):
    path = store.write_run(result, tmp_path)
    listed = json.loads(command("list", path, "--json").stdout)
    assert [row["digest"] for row in listed["runs"]] == [path.name]
    summary = json.loads((path / "summary.json").read_text("utf-8"))
    summary["privacy"] |= {"epsilon": [1], "noise": "fast"}
    (path / "summary.json").write_text(json.dumps(summary))
    done = command("list", tmp_path)
    line = f"dnatrace: {path / 'summary.json'}: is damaged: 'epsilon' is not a number\n"
    assert (done.returncode, done.stderr) == (2, line)


@pytest.mark.parametrize("damaged", ["groups.parquet", "summary.json"])
def test_a_sweep_names_a_run_that_is_damaged(tmp_path, damaged):
    (tmp_path / "study.toml").write_text("preset = 'quick'\npeople = 60\ndays = 2\nseeds = [1]\n")
    config = load_config(preset="quick", overrides={"people": 60, "days": 2})
    path = store.write_run(run(config), tmp_path / "runs")
    (path / damaged).write_bytes(b"x")
    done = command("sweep", "study.toml", "--store", "runs", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert f"runs/{path.name}: is damaged, remove it: " in done.stderr


def test_a_store_given_for_one_of_its_runs_names_one(tmp_path):
    small = ("--people", "60", "--days", "2", "-q", "--out", "runs")
    assert command("run", *small, cwd=tmp_path).returncode == 0
    (run,) = (path for path in (tmp_path / "runs").iterdir() if path.is_dir())
    hint = f"but a store of them; name one, such as runs/{run.name}"
    told = f"dnatrace: runs: is not a stored run, {hint}\n"
    for name in ("ledger", "statement"):
        done = command("privacy", name, "runs", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (2, told)


@pytest.mark.parametrize("content", ["{}", '{"peak_infected": "abc"}', '{"peak_infected": null}'])
def test_a_sweep_names_a_summary_that_is_damaged(content, tmp_path):
    (tmp_path / "study.toml").write_text(
        "preset = 'quick'\npeople = 60\ndays = 2\nseeds = [1, 2]\n"
    )
    asked = ("sweep", "study.toml", "--store", "runs")
    assert command(*asked, "--workers", 1, cwd=tmp_path).returncode == 0
    path = sorted((tmp_path / "runs").glob("*/summary.json"))[0]
    path.write_text(content)
    done = command(*asked, cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith(f"dnatrace: runs/{path.parent.name}: is damaged, remove it: ")
    assert "'peak_infected'" in done.stderr


@pytest.mark.parametrize("wrong", [5, None, b"st", ["st"]], ids=repr)
def test_a_store_may_be_a_text_and_nothing_else(wrong, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(RunConfig(method="none", people=60, days=2, initially_infected=5))
    assert store.write_run(result, "st") == Path("st") / result.config.digest
    assert store.stored_runs(Path("st")) == [Path("st") / result.config.digest]
    with pytest.raises(InputError, match=r"^store must be a path, not "):
        store.write_run(result, wrong)
    with pytest.raises(InputError, match=r"^store is empty, expected a path$"):
        store.write_run(result, "")
    with pytest.raises(InputError, match=r"^label must be a text, not 5$"):
        store.write_run(result, "st", label=5)
