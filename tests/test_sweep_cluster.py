"""The real engine: a Dask scheduler and workers in processes of their own, on loopback."""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from dnatrace.errors import InputError
from dnatrace.runs.config import RunConfig
from dnatrace.sweeps import attempts
from dnatrace.sweeps import cluster as clusters
from dnatrace.sweeps import sweep as sweeps
from dnatrace.sweeps.sweep import read_sweep, sweep
from tests.command_line import run_process
from tests.forked_sweeps import in_process
from tests.sweep_stores import contents, count, wait_until

pytest.importorskip("distributed")


from verification import cluster as verified

from .command_line import run

GRID = """
people = 400
days = 12
initially_infected = 20
seeds = { first = 1, count = 12 }

[grid]
method.name = ["fn", "dpfn-s"]
"""
N_RUNS = 24


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(what, *arguments):
    command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *arguments]
    return subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@contextmanager
def cluster(directory, *, size, threads=1):
    """Yield the address of a scheduler and its worker processes, without nannies."""
    address = f"tcp://127.0.0.1:{free_port()}"
    port = address.rpartition(":")[2]
    processes = [start("scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard")]
    try:
        processes += [worker(address, directory, threads) for _ in range(size)]
        yield address, processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def worker(address, directory, threads=1):
    return start(
        "worker",
        address,
        *("--no-nanny", "--nthreads", str(threads), "--no-dashboard"),
        *("--local-directory", str(directory)),
    )


def launch(file, directory, address):
    options = ["--store", directory, "--cluster", address, "--json", "-q"]
    return subprocess.Popen(
        [sys.executable, "-m", "dnatrace", "sweep", file, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_cluster_that_loses_workers_gives_what_one_process_gives(tmp_path, monkeypatch):
    file, there, here = tmp_path / "grid.toml", tmp_path / "there", tmp_path / "here"
    file.write_text(GRID)
    rng = random.Random(1)
    with cluster(tmp_path / "dask", size=2) as (address, processes):
        process = launch(file, there, address)
        for n in (
            3,
            8,
        ):  # twice a worker dies in the middle of its work and another takes its place
            wait_until(lambda n=n: process.poll() is not None or count(there) >= n)
            time.sleep(rng.random() * 0.2)
            victim = processes.pop(1)
            os.kill(victim.pid, signal.SIGKILL)
            victim.wait()
            if n == 8:
                processes.append(worker(address, tmp_path / "dask"))
        assert process.poll() is None, "the sweep was over before the workers died"
        out, err = process.communicate(timeout=200)
        assert process.returncode == 0, err
        report = json.loads(out)
        assert report["complete"] == N_RUNS
        assert report["failed"] == []
    monkeypatch.setattr(sweeps, "execute", in_process)  # no cluster, no other process
    local = sweep(read_sweep(file), here)
    assert local.complete == N_RUNS
    assert contents(there) == contents(here)
    shutil.rmtree(here)


def test_a_scheduler_that_dies_ends_the_sweep_and_another_resumes_it(tmp_path, monkeypatch):
    """Four workers of two threads; the one that joins late finds its work, too."""
    file, there, here = tmp_path / "grid.toml", tmp_path / "there", tmp_path / "here"
    file.write_text(GRID.replace("count = 12", "count = 8"))
    with cluster(tmp_path / "dask", size=2, threads=2) as (address, processes):
        process = launch(file, there, address)
        wait_until(lambda: process.poll() is not None or count(there) >= 2)
        assert process.poll() is None, "the sweep was over before the scheduler died"
        os.kill(processes[0].pid, signal.SIGKILL)
        _, err = process.communicate(timeout=200)
        assert process.returncode != 0
        assert "the same command resumes" in err
    before = count(there)
    assert 2 <= before < 16
    with cluster(tmp_path / "dask", size=3, threads=2) as (address, processes):
        process = launch(file, there, address)
        processes.append(worker(address, tmp_path / "dask", threads=2))
        out, err = process.communicate(timeout=200)
        assert process.returncode == 0, err
        report = json.loads(out)
        assert report["complete"] + report["skipped"] == 16
        assert report["skipped"] == before
    monkeypatch.setattr(sweeps, "execute", in_process)
    assert sweep(read_sweep(file), here).complete == 16
    assert contents(there) == contents(here)
    shutil.rmtree(here)


def test_a_scheduler_without_workers_is_not_waited_for_for_ever(tmp_path, caplog):
    with cluster(tmp_path / "dask", size=0) as (address, _):
        runs = clusters.run_on_cluster(
            [RunConfig(method="random", people=60, days=2)],
            address=address,
            done=lambda _: False,
            patience=1.5,
        )
        with pytest.raises(attempts.WorkersLostError, match=r"no worker for 1\.5 s"):
            next(runs)
    assert f"{address}: has no workers; waiting 1.5 s for one" in caplog.messages


def test_nobody_at_the_address(tmp_path, monkeypatch):
    from dnatrace.errors import InputError

    file = tmp_path / "grid.toml"
    file.write_text(GRID)
    monkeypatch.setattr(clusters, "_CONNECT_SECONDS", "1s")
    address = f"tcp://127.0.0.1:{free_port()}"
    with pytest.raises(InputError, match=f"{address}: no Dask scheduler answers"):
        sweep(read_sweep(file), tmp_path / "store", cluster=address)


@pytest.mark.parametrize("address", ["nowhere", "tcp://nowhere", "nowhere:port", "ftp://nowhere:1"])
def test_an_address_that_is_none_is_told_at_once_and_once(address, tmp_path):
    file = tmp_path / "grid.toml"
    file.write_text(GRID)
    command = ["sweep", str(file), "--store", str(tmp_path / "store"), "--cluster", address]
    done = run_process(*command)
    # A client that is left to its destructor waits 40 s and then prints a traceback.
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert done.stderr.startswith(f"dnatrace: {address}: no Dask scheduler answers: ")
    assert not (tmp_path / "store").exists()


def test_without_dask_the_message_says_what_to_install(tmp_path, monkeypatch):
    from dnatrace.errors import InputError

    file = tmp_path / "grid.toml"
    file.write_text(GRID)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install 'dnatrace\[cluster\]'"):
        sweep(read_sweep(file), tmp_path / "store", cluster="tcp://127.0.0.1:1")


def block(number, side, wall, processor, idle=None):
    times = {"runs": 9, "seconds": 9 * wall, "s_per_run": wall, "processor_s_per_run": processor}
    return {"block": number, "side": side} | times | {"idle_cluster_cores": idle}


def test_what_a_cluster_adds_is_told_block_by_block():
    here, there = verified.HERE, verified.THERE
    rows = [
        *(block(1, here, 1.0, 2.0, 0.9), block(1, there, 1.1, 2.2)),
        *(block(2, there, 2.0, 2.1), block(2, here, 2.0, 2.0, 0.05)),
        *(block(3, here, 1.0, 2.0, 0.05), block(3, there, 0.9, 2.1)),
    ]
    assert verified.added(rows, "s_per_run") == pytest.approx([0.1, 0.0, -0.1])
    idle, own = verified.without_idle(rows)
    assert idle == 0.05  # the first block is left out: processes start
    name = "own_processor_s_per_run"
    assert verified.added(own, name) == pytest.approx([0.145 / 2, 0.0, 0.055 / 2])
    about = {
        "runs": 9,
        "people": 1000,
        "days": 3,
        "load": (1, 2),
        "distributed": "1",
        "broken_s": 7,
    }
    about |= {"same": True, "provenance": {"commit": "abc"}}
    text = verified.page(rows, about)
    assert "+0.0% (-10.0% to +10.0%)" in text
    assert "byte for byte" in text
    assert "DIFFERENT" in verified.page(rows, about | {"same": False})


@pytest.mark.slow
def test_a_whole_and_a_broken_cluster_are_measured(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("GOMP_SPINCOUNT", "0")  # as the script does, and back again afterwards
    out = tmp_path / "cluster.md"
    assert verified.main(["--quick", "--out", str(out)]) == 0
    assert capsys.readouterr().out == out.read_text() + "\n"
    assert "the same in all three stores, byte for byte" in out.read_text()
    record = json.loads((tmp_path / "cluster.json").read_text())
    assert record["same"]
    assert [row["runs"] for row in record["blocks"]] == [N_RUNS, N_RUNS]
    assert len((tmp_path / "cluster.csv").read_text().splitlines()) == 3


def test_something_that_listens_and_says_nothing_is_no_scheduler(monkeypatch):
    monkeypatch.setattr(clusters, "_ANSWER_SECONDS", 0.5)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(InputError, match="no Dask scheduler answers: something listens there"):
            clusters._connect(address)


def test_an_address_of_a_cluster_that_is_none_is_one_line(tmp_path):
    pytest.importorskip("distributed")
    (tmp_path / "study.toml").write_text("preset = 'quick'\npeople = 60\nseeds = [1]\n")
    done = run("sweep", "study.toml", "--store", "runs", "--cluster", "nowhere", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("dnatrace: nowhere: no Dask scheduler answers: ")
    assert len(done.stderr.splitlines()) == 1
