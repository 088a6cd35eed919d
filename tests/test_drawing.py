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


@EACH
def test_intervals_end_where_they_end_or_run_out_of_the_axis(target):
    found = {"dpfn-s": (5.0, 6.0), "dna": (10.0, 9.5), "tally": (2.0, 1.999)}  # below 0; 0.5; 0.001
    study = study_of(target, found)
    figure = drawn(target, study)
    ends = {point.method: study.spread(point, "peak_infected", scale=1e3).interval
            for point in study.summaries}  # fmt: skip
    assert [ends[method][0] for method in found] == pytest.approx([0.0, 0.5, 0.001], abs=1e-3)
    below = set()
    for axes in figure.axes:
        bottom = axes.get_ylim()[0]
        for container in axes.containers:
            low, high = ends[container.get_label()]
            for (_, lower), (_, upper) in container.lines[2][0].get_segments():
                assert upper == pytest.approx(high)
                if low <= bottom:
                    assert lower < 0.5 * bottom
                    below.add(container.get_label())
                else:
                    assert lower == pytest.approx(low)
    assert below == {"dpfn-s", "tally"}
    notes = [legend.get_title().get_text() for legend in figure.legends]
    assert notes == ["An interval without a lower cap goes on below the axis."]


@EACH
def test_an_axis_shows_every_interval_that_does_not_come_near_zero(target):
    figure = drawn(target, study_of(target, {"dna": (2.0, 1.5)}))
    assert figure.axes[0].get_ylim()[0] < 0.5
    assert [legend.get_title().get_text() for legend in figure.legends] == [""]


def test_nothing_is_drawn_when_every_run_failed():
    figure = drawn("table", Study(seeds=TWO.seeds, summaries={}))
    assert not figure.legends


@EACH
def test_a_peak_of_zero_runs_out_of_the_axis(target):
    figure = drawn(target, study_of(target, {"dpfn-s": (0.0, 0.0)}))
    for axes in figure.axes:
        (mine,) = (c for c in axes.containers if c.get_label() == "dpfn-s")
        assert max(mine.lines[0].get_ydata()) < axes.get_ylim()[0]


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


def test_published_points_below_ours_are_in_view():
    axes = drawn("figure", study_of("figure", {})).axes[0]  # ours are all at 50
    assert min(min(x.get_ydata()) for x in circles(axes)) > axes.get_ylim()[0]
