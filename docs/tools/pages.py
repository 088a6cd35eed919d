"""Pages that run: their blocks are executed in order, and what they print stands below them.

    python -m docs.tools.pages            # every page, and whether it still prints what it says
    python -m docs.tools.pages --write    # outputs, figures and notebooks anew

A block of `python` or `sh` is run; a block of `text` right after it is what it printed; a picture
in `figures/` right after that is the figure it left open. All blocks of a page share one Python and
one directory, which holds a copy of `examples/`.
"""

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
TUTORIALS = sorted(p for p in (DOCS / "tutorials").glob("*.md") if p.name != "index.md")
OTHERS = ("start.md", "method.md", "how-to/reading-results.md")
RUN = [*TUTORIALS, *(DOCS / name for name in OTHERS)]

_FENCE = re.compile(r"^```(python|sh)\n(.*?)^```\n", re.M | re.S)
_PRINTED = re.compile(r"\n```text\n(.*?)^```\n", re.M | re.S)
_FIGURE = re.compile(r"\n!\[[^\]]+\]\((figures/[\w-]+\.svg)\)\n")
_RELATIVE = re.compile(r"\]\((?!\w+:|[#/])")  # the beginning of a link to a file of the repository


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Code of a page, what it is said to print, and the figure it is said to leave."""

    language: str
    source: str
    start: int
    end: int
    printed: str | None
    figure: str | None


def blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of a page that are run, each with what belongs to it."""
    for fence in _FENCE.finditer(text):
        end = fence.end()
        printed = _PRINTED.match(text, end)
        end = printed.end() if printed else end
        figure = _FIGURE.match(text, end)
        yield Block(
            language=fence[1],
            source=fence[2],
            start=fence.start(),
            end=end,
            printed=printed[1] if printed else None,
            figure=figure[1] if figure else None,
        )


class Session:
    """One Python, one directory: what the blocks of a page share."""

    def __init__(self, directory: Path) -> None:
        shutil.copytree(ROOT / "examples", directory, dirs_exist_ok=True)
        self.directory = directory
        self.names: dict[str, Any] = {"__name__": "page"}

    def run(self, source: str, language: str = "python") -> str:
        """Run a block and return what it printed; a command that fails raises."""
        if language == "sh":
            return self._shell(source)
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.chdir(self.directory):
            exec(compile(source, "page", "exec"), self.names)
        return out.getvalue()

    def _shell(self, source: str) -> str:
        commands = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        done = subprocess.run(
            ["bash", "-e", "-c", source],
            cwd=self.directory,
            env=os.environ | {"PATH": commands, "COLUMNS": "100"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"exit code {done.returncode}: {source}{done.stderr}")
        return done.stdout


def open_figure() -> Any:
    """Return the figure that a block left open, None if it left none."""
    import matplotlib.pyplot as plt  # noqa: PLC0415  (slow to import)

    return plt.gcf() if plt.get_fignums() else None


def refreshed(page: Path, directory: Path, *, write_figures: bool) -> str:
    """Run a page and return its text with what its blocks print now.

    Raises:
        RuntimeError: a block fails, or leaves no figure where the page shows one.
    """
    import matplotlib as mpl  # noqa: PLC0415
    import matplotlib.pyplot as plt  # noqa: PLC0415

    plt.switch_backend("Agg")
    text = page.read_text("utf-8")
    session, made, done = Session(directory), [], 0
    for block in blocks(text):
        printed = "\n".join(
            line.rstrip() for line in session.run(block.source, block.language).splitlines()
        )
        made.append(text[done : block.start])
        made.append(f"```{block.language}\n{block.source}```\n")
        if printed:
            made.append(f"\n```text\n{printed}\n```\n")
        done = block.end
        if block.figure is not None:
            figure = open_figure()
            if figure is None:
                raise RuntimeError(f"{page.name}: no figure for {block.figure}:\n{block.source}")
            target = page.parent / block.figure
            if write_figures:
                target.parent.mkdir(exist_ok=True)
                with mpl.rc_context({"svg.hashsalt": "dnatrace"}):
                    figure.savefig(target, metadata={"Date": None}, facecolor="white")
        plt.close("all")
    return "".join([*made, text[done:]])


def notebook(text: str) -> str:
    """Return a page as a Jupyter notebook: what is run becomes cells, the rest is Markdown.

    Notebooks are kept one directory below their pages, and so relative links begin with `../`.
    """
    cells: list[dict[str, Any]] = []

    def add(kind: str, source: str) -> None:
        if source.strip():
            cell = {"cell_type": kind, "id": f"cell-{len(cells)}", "metadata": {}}
            cell |= {"source": source.strip("\n").splitlines(keepends=True)}
            cells.append(
                cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})
            )

    done = 0
    for block in blocks(text):
        add("markdown", _RELATIVE.sub("](../", text[done : block.start]))
        add("code", ("%%sh\n" if block.language == "sh" else "") + block.source)
        figure = _FIGURE.match(text, block.end)
        done = figure.end() if figure else block.end
    add("markdown", _RELATIVE.sub("](../", text[done:]))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    content = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4}
    return json.dumps(content | {"nbformat_minor": 5}, indent=1, ensure_ascii=False) + "\n"


def notebook_of(page: Path) -> Path:
    """Return where the notebook of a page is kept."""
    return page.parent / "notebooks" / f"{page.stem}.ipynb"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run pages; with `--write` keep what they print, their figures and notebooks."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    write = "--write" in words
    chosen = [DOCS / word for word in words if word != "--write"] or RUN
    stale = 0
    for page in chosen:
        with tempfile.TemporaryDirectory(prefix="dnatrace-page-") as directory:
            text = refreshed(page, Path(directory), write_figures=write)
        if write:
            page.write_text(text, "utf-8")
            if page in TUTORIALS:
                notebook_of(page).parent.mkdir(exist_ok=True)
                notebook_of(page).write_text(notebook(text), "utf-8")
        elif text != page.read_text("utf-8"):
            stale += 1
            print(f"{page.relative_to(ROOT)} prints something else now", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
