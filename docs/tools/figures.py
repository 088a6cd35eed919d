"""The three drawings of the pages: `python -m docs.tools.figures` writes them as SVG.

They have a light ground of their own, so that they read the same on a light and on a dark page, and
a title and a description for those who do not see them.
"""

from html import escape
from pathlib import Path

FIGURES = Path(__file__).parents[1] / "figures"
INK, SECRET, NOISE, SHOWN, PLAIN = "#1b1b1b", "#fbe3d6", "#fff3c4", "#d9ecf7", "#f2f2f2"
_LINE = 20


def box(x: int, y: int, width: int, lines: list[str], fill: str = PLAIN) -> str:
    """Return a box with lines of text in its middle; the first line is bold."""
    height = _LINE * len(lines) + 16
    text = "".join(
        f'<text x="{x + width / 2:g}" y="{y + 25 + _LINE * i}" text-anchor="middle" '
        f'font-weight="{600 if i == 0 else 400}">{escape(line)}</text>'
        for i, line in enumerate(lines)
    )
    shape = f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" fill="{fill}"'
    return f'{shape} stroke="{INK}"/>{text}'


def arrow(*points: tuple[int, int], dashed: bool = False) -> str:
    """Return a line through points with a head at its end."""
    path = " ".join(f"{x},{y}" for x, y in points)
    dash = ' stroke-dasharray="6 5"' if dashed else ""
    return (
        f'<polyline points="{path}" fill="none" stroke="{INK}" stroke-width="1.6"{dash} '
        'marker-end="url(#head)"/>'
    )


def note(x: int, y: int, text: str, *, anchor: str = "middle", size: int = 14) -> str:
    """Return a line of text."""
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="{size}">{escape(text)}</text>'


def drawing(width: int, height: int, title: str, description: str, *parts: str) -> str:
    """Return an SVG file."""
    head = (
        '<marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
        f'orient="auto-start-reverse"><path d="M0,0 L10,5 L0,10 z" fill="{INK}"/></marker>'
    )
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-labelledby="title description" '
        f'font-family="Helvetica, Arial, sans-serif" font-size="15" fill="{INK}">\n'
        f'<title id="title">{escape(title)}</title>\n'
        f'<desc id="description">{escape(description)}</desc>\n'
        f'<defs>{head}</defs>\n<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )


def day() -> str:
    """Return the flow of a day, as the docstring of `Loop.step` has it."""
    return drawing(
        900,
        330,
        "A day of tracing",
        "A circle of seven steps: people in isolation stay at home; people meet and the disease "
        "spreads; the highest scores of yesterday are tested; results become known; phones "
        "exchange messages; noise is added and everybody gets one score; positives stay "
        "at home from tomorrow on, and the next day begins.",
        box(20, 30, 190, ["1. Isolation", "people at home", "meet nobody"]),
        box(245, 30, 190, ["2. Contacts", "people meet,", "the disease spreads"], SECRET),
        box(470, 30, 190, ["3. Choice", "highest scores", "of yesterday"], SHOWN),
        box(695, 30, 185, ["4. Tests", "results become", "known to the tested"], SECRET),
        box(695, 200, 185, ["5. Messages", "phones tell those", "their owners met"], SECRET),
        box(470, 200, 190, ["6. Release", "noise, then one", "score per person"], NOISE),
        box(245, 200, 190, ["7. Response", "positives stay at", "home from tomorrow"]),
        arrow((210, 68), (243, 68)),
        arrow((435, 68), (468, 68)),
        arrow((660, 68), (693, 68)),
        arrow((787, 106), (787, 198)),
        arrow((695, 238), (662, 238)),
        arrow((470, 238), (437, 238)),
        arrow((245, 238), (115, 238), (115, 108)),
        arrow((565, 200), (565, 108), dashed=True),
        note(573, 158, "tomorrow", anchor="start"),
        note(
            450,
            312,
            "red: secret · yellow: where noise is added · blue: uses released scores alone",
        ),
    )


def boundary() -> str:
    """Return the trust boundary."""
    wall = '<line x1="{0}" y1="20" x2="{0}" y2="300" stroke="#1b1b1b" stroke-width="3"/>'
    return drawing(
        900,
        330,
        "The trust boundary",
        "On the left what is secret: everybody's tests, who met whom, messages. They make a "
        "statistic with a stated sensitivity. Noise is added on the boundary. On the right, noisy "
        "numbers and what the person knows anyway make a score, which the person and the choice of "
        "tests see.",
        box(20, 40, 160, ["Tests of others"], SECRET),
        box(20, 110, 160, ["Who met whom"], SECRET),
        box(20, 180, 160, ["Messages"], SECRET),
        box(225, 90, 150, ["Statistic", "with a stated", "sensitivity"], SECRET),
        arrow((180, 58), (223, 105)),
        arrow((180, 128), (223, 128)),
        arrow((180, 198), (223, 152)),
        wall.format(420),
        box(440, 100, 110, ["Noise", "N(0, σ²)"], NOISE),
        arrow((375, 128), (438, 128)),
        wall.format(570),
        box(595, 90, 130, ["Decoder", "any function,", "at no cost"], SHOWN),
        arrow((550, 128), (593, 128)),
        box(595, 205, 130, ["Own facts", "tests, age,", "contact counts"]),
        arrow((660, 205), (660, 168)),
        box(770, 40, 110, ["Score", "B sees it"], SHOWN),
        box(770, 160, 110, ["Choice", "of tests"], SHOWN),
        arrow((725, 118), (768, 80)),
        arrow((725, 138), (768, 178)),
        note(210, 290, "secret: inside phones, servers or an enclave"),
        note(735, 312, "shown: costs no more than the noise says"),
        note(495, 45, "only privacy/"),
        note(495, 63, "may cross"),
    )


def reach() -> str:
    """Return what one test of a person affects."""
    return drawing(
        900,
        380,
        "What one test of a person affects",
        "One test of A changes A's alarm. A's alarm is one term in the head counts of those who "
        "met A, each of which moves by at most 1 before the noise. People who never met A are not "
        "affected. Not covered by the guarantee: A's own score, A's place in the queue for tests, "
        "and that A stays at home.",
        box(20, 130, 130, ["One test of A", "+ or −"], SECRET),
        box(200, 130, 150, ["Alarm of A", "0 to 1, from A's", "own tests alone"], SECRET),
        arrow((150, 160), (198, 160)),
        box(410, 30, 180, ["Head count of B", "met A ten times:", "moves by at most 1"], SECRET),
        box(410, 130, 180, ["Head count of C", "met A once:", "moves by at most 1"], SECRET),
        box(410, 230, 180, ["Head count of D", "never met A:", "does not move"]),
        arrow((350, 150), (408, 80)),
        arrow((350, 165), (408, 165)),
        box(640, 30, 90, ["Noise"], NOISE),
        box(640, 130, 90, ["Noise"], NOISE),
        box(640, 230, 90, ["Noise"], NOISE),
        box(780, 30, 100, ["B's score"], SHOWN),
        box(780, 130, 100, ["C's score"], SHOWN),
        box(780, 230, 100, ["D's score"], SHOWN),
        *(arrow((590, y), (638, y)) for y in (48, 148, 248)),
        *(arrow((730, y), (778, y)) for y in (48, 148, 248)),
        box(
            20,
            265,
            250,
            ["Not covered by ε", "A's own score, A's place in the", "queue, A's staying at home"],
        ),
        arrow((85, 186), (85, 263), dashed=True),
        note(590, 345, "14 releases with fresh noise each (daily), or one (news)"),
    )


DRAWINGS = {"a-day.svg": day, "trust-boundary.svg": boundary, "reach-of-a-test.svg": reach}


def main() -> None:
    """Write the drawings."""
    FIGURES.mkdir(exist_ok=True)
    for name, draw in DRAWINGS.items():
        (FIGURES / name).write_text(draw(), "utf-8")


if __name__ == "__main__":
    main()
