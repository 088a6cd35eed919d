"""Sweeps: what a file asks for, what is done again and what is not, and what kills do to it."""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numba
import pytest
import typer

from dnatrace.cli import sweep as commands
from dnatrace.errors import InputError
from dnatrace.runs import store
from dnatrace.runs.config import RunConfig
from dnatrace.runs.run import run
from dnatrace.sweeps import attempts, processes
from dnatrace.sweeps import sweep as sweeps
from dnatrace.sweeps.sweep import expand, read_sweep, sweep
from tests.forked_sweeps import in_process
from tests.sweep_stores import contents, count, wait_until

from .command_line import run as dnatrace

SMALL = {"people": 60, "days": 3, "initially_infected": 8}
KILLS = 20
GRID = """
people = 60
days = 3
initially_infected = 8
seeds = { first = 1, count = 12 }

[grid]
method.name = ["random", "fn", "dpfn-s"]
"""
N_RUNS = 36
CHEAP = GRID.replace('["random", "fn", "dpfn-s"]', '["random"]').replace("count = 12", "count = 36")


def command(file, directory, *more):
    return [sys.executable, "-m", "dnatrace", "sweep", file, "--store", directory, "--json", *more]


def call(file, directory, *more):
    done = subprocess.run(
        command(file, directory, *more), capture_output=True, text=True, check=False
    )
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    file = tmp_path_factory.mktemp("grid") / "grid.toml"
    file.write_text(GRID)
    return file


@pytest.fixture(scope="module")
def undisturbed(grid, tmp_path_factory):
    """The same sweep, by one process with one thread, never killed."""
    directory = tmp_path_factory.mktemp("undisturbed")
    report = sweep(read_sweep(grid), directory, workers=1)
    assert (report.complete, report.skipped, report.failed) == (N_RUNS, 0, [])
    return contents(directory)


# --- what a file asks for ---


def test_a_grid_is_every_combination_on_every_seed():
    values = {
        "seeds": [5, 6],
        "people": 60,
        "grid": {"method": {"name": ["fn", "dpfn-s"]}, "privacy": {"epsilon": [0.5, 2.0]}},
    }
    configs = expand(values)
    assert [c.seed for c in configs] == [5] * 3 + [6] * 3
    assert {(c.method.name, c.privacy.epsilon) for c in configs} == {
        ("fn", 0.5),  # once: ε has no effect on it
        ("dpfn-s", 0.5),
        ("dpfn-s", 2.0),
    }
    assert {c.people for c in configs} == {60}


def test_blocks_have_keys_and_presets_of_their_own():
    configs = expand(
        {
            "seeds": {"first": 3, "count": 1},
            "grid": [
                {"method": {"name": "dpfn-s"}, "gamma": [0.1, 0.2]},
                {"preset": "paper"},
                {"method": {"name": "dpfn-s"}, "method.gamma": [0.2]},  # the same as above
            ],
        }
    )
    assert [(c.method.release, c.method.gamma) for c in configs] == [
        ("linear", 0.1),
        ("linear", 0.2),
        ("as_published", 0.7),
    ]


def test_without_a_grid_only_seeds():
    assert [c.seed for c in expand({"seeds": [1, 2]})] == [1, 2]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "seeds: give a list"),
        ({"seeds": []}, r"seeds: give a list .*, not \[\]"),
        ({"seeds": [1.5]}, "seeds: give a list .*, not 1.5"),
        ({"seeds": [2, True]}, "seeds: give a list .*, not True"),
        ({"seeds": [1, -4]}, "seeds: must be at least 0, not -4"),
        ({"seeds": [2**63]}, f"seeds: must be below 2.63, not {2**63}"),
        ({"seeds": {"first": -1, "count": 3}}, "seeds: must be at least 0, not -1"),
        ({"seeds": {"first": 1, "count": 0}}, "seeds: count must be from 1 to 100000, not 0"),
        ({"seeds": {"first": 1, "count": 10**11}}, "seeds: count must be from 1 .* not 1000"),
        ({"seeds": {"first": 2**63 - 2, "count": 3}}, "seeds: must be below 2.63"),
        ({"seeds": [1, 2, 1]}, "seeds: one of them is given twice"),
        ({"seeds": {"first": 1}}, "seeds: give a list"),
        ({"seeds": [1], "grid": {"seed": [1]}}, "seed is not part of the grid: seeds stand at"),
        ({"grid": [{"seeds": {"first": 1, "count": 3}}], "seeds": [1]}, "stand at the top of the"),
        ({"seeds": [1], "grid": {"people": []}}, "people: the list of values is empty"),
        ({"seeds": [1], "grid": [3]}, "give a table"),
        ({"seeds": [1], "grid": {"peopel": [3]}}, "unknown key 'peopel'"),
        ({"seeds": [1], "method": "nn"}, "method 'nn' does not exist"),
    ],
)
def test_a_wrong_sweep_is_told_before_anything_runs(values, message):
    with pytest.raises(InputError, match=message):
        expand(values)


def test_a_setting_without_effect_is_told_once(caplog):
    grid = {"method.name": ["fn", "public-only"], "method.gamma": [0.1, 0.2]}
    expand({"seeds": [1, 2], "grid": grid})
    told = [f"method.gamma has no effect with method '{name}'" for name in grid["method.name"]]
    assert caplog.messages == told
    expand({"seeds": [1], "grid": grid})
    assert caplog.messages == 2 * told  # another file is told, too


def test_a_wrong_file_is_named(tmp_path):
    file = tmp_path / "grid.toml"
    file.write_text("seeds = []")
    with pytest.raises(InputError, match=r"grid.toml: seeds: give"):
        read_sweep(file)
    code, _, message = call(tmp_path / "absent.toml", tmp_path / "store")
    assert code == 2
    assert message == f"dnatrace: {tmp_path / 'absent.toml'}: no such file\n"
    assert not (tmp_path / "store").exists()


# --- what is done again and what is not ---


def test_two_workers_give_what_one_gives_and_nothing_is_done_twice(grid, undisturbed, tmp_path):
    code, report, _ = call(grid, tmp_path, "--workers", "2")
    assert code == 0
    assert sum(row["runs"] for row in report.pop("results")) == N_RUNS
    assert report == {
        "complete": N_RUNS,
        "failed": [],
        "skipped": 0,
        "store": str(tmp_path),
        "made_by_other_code": 0,
    }
    assert contents(tmp_path) == undisturbed
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    again = sweep(read_sweep(grid), tmp_path)
    assert (again.complete, again.skipped) == (0, N_RUNS)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == times


def test_two_threads_give_what_one_gives(threads):
    config = RunConfig(method="dpfn-s", people=3000, days=6, initially_infected=50)
    files = []
    for n in (1, min(2, numba.config.NUMBA_NUM_THREADS)):
        threads(n)
        files.append(attempts.attempt(config)[0])
    for name in set(files[0]) - store.NOT_REPRODUCIBLE:
        assert files[0][name] == files[1][name], name


def test_a_failing_run_is_reported_and_the_others_are_done(tmp_path, monkeypatch):
    monkeypatch.setattr(sweeps, "execute", in_process)
    good = [RunConfig(method="random", seed=seed, **SMALL) for seed in (1, 2)]
    bad = RunConfig(simulator="replay", seed=1, **SMALL)  # without a contact list
    report = sweep([good[0], bad, good[1]], tmp_path, workers=1)
    assert report.complete == 2
    (failure,) = report.as_json()["failed"]
    assert failure["config_digest"] == bad.digest
    assert failure["error"] == "simulator.contacts: replay needs the path of a contact list"
    assert {p.name for p in store.stored_runs(tmp_path)} == {c.digest for c in good}
    again = sweep([good[0], bad, good[1]], tmp_path, workers=1)
    assert (again.complete, again.skipped, len(again.failed)) == (0, 2, 1)


def test_the_command_exits_with_1_when_a_run_failed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sweeps, "execute", in_process)
    monkeypatch.setattr(commands, "start", lambda quiet: None)
    file = tmp_path / "grid.toml"
    file.write_text('seeds = [1]\n[grid]\nsimulator.name = ["replay"]\n')
    with pytest.raises(typer.Exit) as raised:
        commands.sweep(file, store=tmp_path / "store", as_json=True)
    assert raised.value.exit_code == 1
    report = json.loads(capsys.readouterr().out)
    assert report["complete"] == 0
    assert len(report["failed"]) == 1


def test_stored_runs_of_other_code_are_counted(tmp_path):
    config = RunConfig(method="random", **SMALL)
    files = store.render(run(config))
    files["provenance.json"] = files["provenance.json"].replace(b'"dnatrace": "', b'"dnatrace": "0')
    store.write_files(files, tmp_path, config.digest)
    assert sweep([config], tmp_path).other_code == 1


def test_a_full_disk_ends_the_sweep_and_keeps_what_is_done(tmp_path, monkeypatch):
    configs = [RunConfig(method="random", seed=seed, **SMALL) for seed in range(1, 7)]
    write, written = store.write_files, []
    monkeypatch.setattr(sweeps, "execute", in_process)

    def fill_up(files, *args):
        if len(written) == 3:
            raise InputError("store: cannot be written: No space left on device")
        written.append(write(files, *args))
        return True

    monkeypatch.setattr(store, "write_files", fill_up)
    with pytest.raises(InputError, match="No space left"):
        sweep(configs, tmp_path)
    monkeypatch.setattr(store, "write_files", write)
    assert len(store.stored_runs(tmp_path)) == 3
    report = sweep(configs, tmp_path)
    assert (report.complete, report.skipped) == (3, 3)


# --- kills ---


def children(process):
    listed = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    lines = {int(p): Path(f"/proc/{p}/cmdline").read_bytes() for p in listed}
    return [p for p, line in lines.items() if b"spawn_main" in line]


def await_a_moment(directory, rng, alive):
    """Wait for a random moment of a sweep's work; every other time, for one while it writes."""
    before, enough, while_writing = count(directory), rng.randrange(4), rng.random() < 0.5
    wait_until(lambda: not alive() or count(directory) >= before + enough, pause=0.001)
    if while_writing:
        wait_until(lambda: not alive() or any(directory.glob(".*.partial")), pause=0.0)
    time.sleep(rng.random() * (0.005 if while_writing else 0.05))


def check_finished(directory, undisturbed):
    """Whatever is there under the name of a run is that run, whole."""
    names = {key.partition("/")[2] for key in undisturbed}
    for run_directory in store.stored_runs(directory):
        assert {p.name for p in run_directory.iterdir()} - store.NOT_REPRODUCIBLE == names
    kept = {k: v for k, v in contents(directory).items() if not k.startswith(".")}
    assert kept.items() <= undisturbed.items()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_killed_at_random_moments_and_resumed(tmp_path, monkeypatch):
    """Two sweeps work on one store; each is killed -9 again and again, until there were enough."""
    grid, tmp_path, calm = tmp_path / "grid.toml", tmp_path / "store", tmp_path / "calm"
    grid.write_text(CHEAP)
    tmp_path.mkdir()
    monkeypatch.setattr(sweeps, "execute", in_process)
    assert sweep(read_sweep(grid), calm).complete == N_RUNS
    undisturbed = contents(calm)
    rng = random.Random(20)
    pair = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.forked_sweeps", grid, tmp_path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    kills = hits = 0
    for server in pair:
        server.stdout.readline()
    while kills < KILLS:
        for server in pair:
            server.stdin.write("\n")
            server.stdin.flush()
        groups = [int(server.stdout.readline()) for server in pair]
        for group, server in zip(groups, pair, strict=True):
            await_a_moment(tmp_path, rng, lambda: count(tmp_path) < N_RUNS)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
            status = int(server.stdout.readline())
            assert status in (0, signal.SIGKILL), "a sweep ended by itself, and badly"
            kills += status == signal.SIGKILL
        hits += any(tmp_path.glob(".*.partial"))
        check_finished(tmp_path, undisturbed)
        for path in sorted(tmp_path.glob("[0-9a-f]*"))[: count(tmp_path) - N_RUNS // 2]:
            shutil.rmtree(path)  # leave work for the next
    for server in pair:
        server.communicate()
    assert hits >= 3, "hardly a kill hit a writer: the test is too tame"
    report = sweep(read_sweep(grid), tmp_path)
    assert report.complete + report.skipped == N_RUNS
    assert contents(tmp_path) == undisturbed


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_the_command_interrupted_killed_and_robbed_of_workers(grid, undisturbed, tmp_path):
    """Ctrl-C, then kill -9 of everything, then of single workers: the last call ends complete."""
    process = launch(grid, tmp_path)
    wait_until(lambda: process.poll() is not None or count(tmp_path) >= 5)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to everybody
    out, err = process.communicate(timeout=100)
    assert process.returncode == 130
    assert out == ""
    assert err.splitlines()[-1].startswith("dnatrace: interrupted; the same command ")
    assert "Traceback" not in err
    assert 5 <= count(tmp_path) < N_RUNS
    assert not list(tmp_path.glob(".*"))

    process = launch(grid, tmp_path)
    await_a_moment(tmp_path, random.Random(4), lambda: process.poll() is None)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    check_finished(tmp_path, undisturbed)

    process, killed = launch(grid, tmp_path), 0
    seen = count(tmp_path)
    while process.poll() is None and killed < 2:
        if count(tmp_path) >= seen + 4:
            seen = count(tmp_path)
            os.kill(children(process.pid)[killed % 2], signal.SIGKILL)
            killed += 1
        time.sleep(0.002)
    out, err = process.communicate(timeout=100)
    assert killed == 2
    assert process.returncode == 0, err
    report = json.loads(out)
    assert report["complete"] + report["skipped"] == N_RUNS
    assert report["failed"] == []
    assert contents(tmp_path) == undisturbed


# Tests that run in the background ignore Ctrl-C, and what they start would inherit that.
LISTENING = (
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); "
    "os.execv(sys.argv[1], sys.argv[1:])"
)


def launch(grid, directory):
    return subprocess.Popen(
        [sys.executable, "-c", LISTENING, *command(grid, directory, "--workers", "2")],
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_no_worker_hears_an_interrupt(grid, tmp_path):
    """Not even the first, which is spawned when no resource tracker runs yet."""
    process = launch(grid, tmp_path)
    wait_until(lambda: process.poll() is not None or len(children(process.pid)) == 2)
    statuses = [Path(f"/proc/{p}/status").read_text() for p in children(process.pid)]
    process.kill()
    process.communicate()
    blocked = [int(re.search(r"SigBlk:\s*(\w+)", status)[1], 16) for status in statuses]
    assert len(blocked) == 2
    assert all(mask >> (signal.SIGINT - 1) & 1 for mask in blocked)


def test_workers_end_when_the_sweep_is_killed(grid, tmp_path):
    process = subprocess.Popen(command(grid, tmp_path, "--workers", "1", "-q"))
    wait_until(lambda: process.poll() is not None or children(process.pid))
    orphans = children(process.pid)
    assert orphans
    process.kill()  # it alone, not its group
    process.wait()
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{p}").exists() for p in orphans) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(Path(f"/proc/{p}").exists() for p in orphans)


def test_batches_can_share_their_workers(tmp_path, monkeypatch):
    """One worker for two batches, another after an interrupt, and none left in the end."""
    started, start = [], processes._Team.start_worker

    def counted(team):
        start(team)
        started.append(team.workers[-1].process)

    monkeypatch.setattr(processes._Team, "start_worker", counted)
    configs = expand(SMALL | {"seeds": [1, 2, 3, 4], "method": {"name": "random"}})
    with processes.workers_stay():
        for config in configs[:2]:
            assert sweep([config], tmp_path, workers=1).complete == 1
        assert len(started) == 1
        assert started[0].is_alive()
        threads = processes.usable_cores()
        batch = processes.run_locally(configs, workers=1, threads=threads, done=lambda _: False)
        next(batch)
        batch.close()  # in the midst of it
        assert not started[0].is_alive()
        assert sweep(configs, tmp_path, workers=1).complete == 2
        assert len(started) == 2
    assert not any(process.is_alive() for process in started)
    monkeypatch.setattr(sweeps, "execute", in_process)
    assert sweep(configs, tmp_path.with_name("alone")).complete == 4
    assert contents(tmp_path) == contents(tmp_path.with_name("alone"))


def test_a_run_that_kills_its_workers_is_reported():
    """One pipe at a time: the fatal run is told from those that only waited beside it."""
    fatal = RunConfig(method="random", seed=99, **SMALL)
    heard, queue = [], attempts.Queue([], lambda _: False)
    team = processes._Team(threads=1)

    class Dead:
        exitcode = -9

        def join(self):
            pass

    class Closed:
        def recv(self):
            raise EOFError

        def close(self):
            pass

    for _ in range(attempts.MOST_DEATHS):
        worker = processes._Worker(process=Dead(), connection=Closed(), ready=True, config=fatal)
        team.workers.append(worker)
        heard.append(processes._receive(worker, team, queue))
    assert heard[:-1] == [None] * (attempts.MOST_DEATHS - 1)
    assert list(queue.waiting) == [fatal] * (attempts.MOST_DEATHS - 1)
    assert heard[-1].error == "3 workers died of it (exit code -9)"


def test_a_sweep_says_that_combinations_are_one_setting(tmp_path):
    text = "people = 60\ndays = 3\nseeds = [1]\n[grid]\nprivacy.epsilon = [0.1, 1.0]\n"
    for method, told in (("fn", True), ("tally", False)):
        (tmp_path / "s.toml").write_text(f"method = '{method}'\n{text}")
        done = dnatrace("sweep", "s.toml", "--store", method, cwd=tmp_path)
        line = "2 combinations are 1 different settings: what else differs has no effect in them"
        assert (line in done.stderr) is told


def test_a_sweep_says_that_peaks_still_rise(tmp_path):
    (tmp_path / "s.toml").write_text("seeds = [1]\nmethod = 'none'\npeople = 300\ndays = 12\n")
    done = dnatrace("sweep", "s.toml", "--store", "runs", "-q", cwd=tmp_path)
    assert "(still rising)" in done.stdout
    (tmp_path / "s.toml").write_text("seeds = [1, 2]\nmethod = 'none'\npeople = 300\ndays = 12\n")
    done = dnatrace("sweep", "s.toml", "--store", "runs", "-q", cwd=tmp_path)
    assert re.search(r"\(still rising in [12] of 2\)", done.stdout)
    answer = json.loads(
        dnatrace("sweep", "s.toml", "--store", "runs", "-q", "--json", cwd=tmp_path).stdout
    )
    assert f"in {answer['results'][0]['runs_still_rising']} of 2)" in done.stdout


def test_seeds_of_a_sweep_that_stand_there_twice_are_refused(tmp_path):
    (tmp_path / "study.toml").write_text("preset = 'quick'\nseeds = [1, 2, 1]\n")
    done = dnatrace("sweep", "study.toml", "--store", "runs", cwd=tmp_path)
    line = "seeds: one of them is given twice, which would count it twice"
    assert (done.returncode, done.stderr) == (2, f"dnatrace: study.toml: {line}\n")
