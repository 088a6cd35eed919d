"""The drawings of the paper's figure and table: legible, and what is drawn is what was found."""

from itertools import combinations

import pytest

from dnatrace.paper.drawing import draw
from dnatrace.paper.reproduce import Reproduction
from dnatrace.paper.setting import Size, methods_of, points_of
from dnatrace.runs import figures
from dnatrace.sweeps.study import PER_MILLE, Study

TWO = Size(seeds=(1, 2), epsilons=(0.1, 1.0, 10.0))
PER_HALF_WIDTH = 6.3138  # the 95 % quantile of Student's t with one degree of freedom
EACH = pytest.mark.parametrize("target", ["figure", "table"])


def study_of(target, found, methods=None):
    """Return a study of two seeds where a method has a mean and half-width, in ‰, everywhere."""
    summaries = {}
    for point in points_of(target, methods or methods_of(target, None)[0], TWO):
        mean, half = found.get(point.method, (50.0, 5.0))
        values = (mean + sign * half / PER_HALF_WIDTH for sign in (-1, 1))
        summaries[point] = [{"peak_infected": value / PER_MILLE} for value in values]
    return Study(seeds=TWO.seeds, summaries=summaries)


def drawn(target, study):
    done = Reproduction(target=target, configs={}, study=study, claims=(), notes=(), size=TWO)
    figure = draw(done)
    figure.draw_without_rendering()
    return figure


@EACH
def test_every_method_and_bound_has_a_mark_of_its_own(target):
    for axes in drawn(target, study_of(target, {})).axes:
        lines = {c.get_label(): c.lines[0] for c in axes.containers}
        lines |= {x.get_label(): x for x in axes.lines if not x.get_label().startswith("_")}
        marks = {(x.get_marker(), x.get_linestyle(), x.get_color()) for x in lines.values()}
        assert len(marks) == len(lines) > 1


@EACH
def test_labels_below_the_axes_do_not_touch(target):
    panels = drawn(target, study_of(target, {})).axes
    labels = [label for axes in panels for label in axes.get_xticklabels()]
    boxes = [label.get_window_extent() for label in labels if label.get_text()]
    assert len(boxes) == {"figure": 9, "table": 15}[target]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))


@EACH
def test_legends_hide_no_data_and_name_every_mark_once(target):
    figure = drawn(target, study_of(target, {}))
    shown = [*figure.legends, *filter(None, (axes.get_legend() for axes in figure.axes))]
    for legend in shown:
        box = legend.get_window_extent()
        assert not any(box.overlaps(axes.bbox) for axes in figure.axes)
        assert figure.bbox.containsx(box.x0)
        assert figure.bbox.containsx(box.x1)
    names = [text.get_text() for legend in shown for text in legend.get_texts()]
    labels = (axes.get_legend_handles_labels()[1] for axes in figure.axes)
    assert sorted(names) == sorted(set().union(*labels))


def test_nothing_is_drawn_when_every_run_failed():
    figure = drawn("table", Study(seeds=TWO.seeds, summaries={}))
    assert not figure.legends


def circles(axes):
    return [x for x in axes.lines if x.get_marker() == "o" and len(x.get_xdata())]


def test_published_points_are_those_of_the_methods_that_ran():
    ours, unpublished = (
        drawn("figure", study_of("figure", {}, methods=[method])) for method in ("dpfn-s", "tally")
    )
    for axes in ours.axes[:2]:
        assert {x.get_color() for x in circles(axes)} == {figures.BLUE}
    assert not any(circles(axes) for axes in unpublished.axes)
    names = [text.get_text() for text in unpublished.legends[0].get_texts()]
    assert names == ["tally", "fn, mean", "public-only, mean", "random, mean"]
