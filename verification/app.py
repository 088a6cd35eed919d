"""Measure the live page: `python -m verification.app`.

Starts `dnatrace app` as a person would and drives it with Chromium: how long it takes until the
page is there, until the first day after a click, and until the first answer; how many frames per
second are drawn while the curves of twenty seeds grow; and how much memory the server uses after
many runs. `--quick` takes two seeds and few runs: it checks that everything can be measured, and
measures nothing.
"""

import argparse
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser, Page, sync_playwright

FRAMES = """() => {
  const times = []; let last = null; window.frames_ = times;
  const tick = (now) => { if (last !== null) times.push(now - last); last = now;
    requestAnimationFrame(tick); };
  requestAnimationFrame(tick);
}"""
FIRST_DAY = """() => new Promise((resolve) => {
  const start = performance.now();
  const look = () => document.querySelector('#live .plot path.series')
    ? resolve(performance.now() - start) : requestAnimationFrame(look);
  document.getElementById('run').click();
  look();
})"""
OVER = "document.getElementById('answer').getAttribute('aria-busy') === 'false'"


@dataclass(frozen=True, slots=True)
class Server:
    """A running `dnatrace app`.

    Attributes:
        process: its process.
        address: the address of its page.
        seconds: how long it took until the address was printed.
    """

    process: subprocess.Popen[str]
    address: str
    seconds: float

    def memory(self) -> float:
        """Return the memory of the server without its workers, in MB."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text("ascii").splitlines()
        (held,) = (int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
        return held / 1000.0

    def warm(self) -> None:
        """Wait until all workers are warm."""
        while (health := httpx.get(f"{self.address}health", timeout=60).json()) and (
            health["ready"] < health["workers"]
        ):
            time.sleep(0.1)


@contextmanager
def served(store: Path) -> Iterator[Server]:
    """Start the command, and interrupt it at the end as a person would."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "dnatrace", "app", "--no-browser", "--store", str(store)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        address = process.stdout.readline().strip()
        yield Server(process, address, time.perf_counter() - start)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
        process.stdout.close()


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the browser of the system."""
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as driver:
        path = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = driver.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()


def opened(browser: Browser, server: Server, link: str = "") -> tuple[Page, float]:
    """Return a page that is ready to use, and how long that took."""
    start = time.perf_counter()
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.set_default_timeout(600_000)
    page.goto(f"{server.address}{link}")
    page.wait_for_selector("html[data-ready]")
    return page, time.perf_counter() - start


def until(page: Page, expression: str) -> None:
    """Wait until an expression holds in a page."""
    while not page.evaluate(expression):
        page.wait_for_timeout(20)


def first_question(page: Page) -> dict[str, float]:
    """Press Run once and measure the time until the first day and until the first sentence."""
    start = time.perf_counter()
    day = page.evaluate(FIRST_DAY)
    until(page, "/instead of/.test(document.getElementById('sentence').textContent)")
    answer = time.perf_counter() - start
    page.evaluate("document.getElementById('stop').click()")  # idle where all is over
    return {"first day after the click, s": day / 1000.0, "first answer, s": answer}


def frames(page: Page) -> dict[str, float]:
    """Run the page's settings and record the time between frames until the end."""
    page.evaluate(FRAMES)
    page.locator("#run").click()
    until(page, OVER)
    times: list[float] = page.evaluate("window.frames_")
    slow = sum(t > 1000 / 60 * 1.5 for t in times) / len(times)
    return {
        "frames per second, median": 1000.0 / statistics.median(times),
        "frames per second, mean": 1000.0 * len(times) / sum(times),
        "frames that were late, %": 100.0 * slow,
    }


def memory(server: Server, studies: int) -> dict[str, float]:
    """Run many small studies of three runs each, and compare the memory of the server."""
    held = []
    for seed in range(studies):
        changes = {"people": 500, "days": 30, "seed": 5000 + seed}
        arms: dict[str, Any] = {"a": {"preset": "quick", "set": changes}}
        begun = httpx.post(
            f"{server.address}studies", json={"arms": arms, "seeds": 1}, timeout=60
        ).json()
        with httpx.stream(
            "GET", f"{server.address}studies/{begun['id']}/events", timeout=600
        ) as stream:
            for _ in stream.iter_lines():
                pass
        held.append(server.memory())
    early = held[len(held) // 4]
    return {
        f"memory after {3 * (len(held) // 4 + 1)} runs, MB": early,
        f"memory after {3 * studies} runs, MB": held[-1],
    }


def measure(*, seeds: int, studies: int, quick: bool) -> dict[str, float]:
    """Return all measurements by name."""
    small = "&a.people=300&a.days=12" if quick else ""
    with (
        tempfile.TemporaryDirectory() as store,
        served(Path(store)) as server,
        chromium() as browser,
    ):
        page, opening = opened(browser, server)
        found = {"address printed, s": server.seconds, "page usable after that, s": opening}
        server.warm()
        if quick:
            page, _ = opened(browser, server, "#view=attacker&preset=quick&a.people=300&a.days=12")
            page.locator("#tab-whatif").click()
        found |= first_question(page)
        link = f"#view=attacker&preset=quick{small}&seeds={seeds}"
        page, _ = opened(browser, server, link)
        page.locator("#tab-whatif").click()
        found |= frames(page)
        page.close()
        return found | memory(server, studies)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    size = {"seeds": 2, "studies": 4} if options.quick else {"seeds": 20, "studies": 67}
    found = measure(**size, quick=options.quick)
    print("| measured | value |\n|---|---|")
    for name, value in found.items():
        print(f"| {name} | {value:.3g} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
