"""Figures as Vega-Lite, by Altair. The only file that knows Altair; data and words come from the figure.

Every chart is readable without colour: states are shapes, parts are filled or hollow, solid or dashed, classes are
numbered. Colours keep a contrast of 3 to 1 on white and on the dark page; text takes the colour of what is around it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import altair as alt
from altair.utils.schemapi import debug_mode

from variantbench.plugins.errors import UserError
from variantbench.plugins.report.sections.variants import STATES
from variantbench.plugins.report.tables import Chart, Figure

Spec = dict[str, Any]
Rows = list[dict[str, Any]]

BLUE, ORANGE, GREY, RED, GREEN, PURPLE = "#2f7ed8", "#d9730d", "#7b8794", "#d64545", "#2a9d6f", "#8f6bd1"
PARTS = {"base": GREY, "variants": BLUE}
_SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]
_CLASS_COLOURS = [BLUE, ORANGE, GREEN, PURPLE, RED, GREY, "#b07d00", "#0f8b9d", "#c2548f", "#6b8e23"]
_MOST_PANELS = 15
_PAIR_PANELS = 24
_TEXT = "currentColor"
_CONFIG = {
    "background": "transparent",
    "font": "sans-serif",
    "view": {"stroke": "#7b879455"},
    "axis": {
        "labelColor": _TEXT,
        "titleColor": _TEXT,
        "gridColor": "#7b879433",
        "domainColor": GREY,
        "tickColor": GREY,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "labelLimit": 220,
        "titleFontWeight": "normal",
    },
    "legend": {
        "labelFontSize": 12,
        "labelColor": _TEXT,
        "titleColor": _TEXT,
        "labelLimit": 260,
        "titleFontWeight": "normal",
    },
    "header": {
        "labelFontSize": 12,
        "labelColor": _TEXT,
        "titleColor": _TEXT,
        "labelLimit": 260,
        "labelFontWeight": "bold",
    },
    "title": {"color": _TEXT},
    "text": {"color": _TEXT},
    "aria": False,
}


def draw(figure: Figure) -> Spec:
    """The figure as a Vega-Lite specification with its data, the same for the same figure.

    UserError for a figure without rows.
    """
    rows = figure.table.records()
    if not rows:
        raise UserError(f"figure {figure.name} has no data to draw")
    with debug_mode(False):  # a schema that the tests check need not be checked for every report
        chart = _CHARTS[figure.chart](rows)
        spec: Spec = json.loads(chart.to_json(indent=None, validate=False))
    return {**spec, "config": _CONFIG}


# forest plots


def _forest(rows: Rows) -> Any:
    rows = _with_panels(rows)
    models = _names(rows, "model")
    label, panel = ("panel", None) if len(models) == 1 else ("model", "panel")
    order = _by_first(rows, label)
    chart = _effects(rows, label, order, width=560 if panel is None else 250, title="log odds ratio of a right answer")
    return _whole(chart, rows) if panel is None else _facet(chart, rows, panel, columns=3)


def _three_effects(rows: Rows) -> Any:
    rows = _with_panels(rows)
    one_model = len(_names(rows, "model")) == 1
    label = "panel" if one_model else "model"
    effects = alt.Column("effect:N", title=None, sort=["variant", "γ", "variant given γ"])
    chart = _effects(rows, label, _by_first(rows, label), width=200, title="log odds ratio, 95%")
    facets = {"column": effects} if one_model else {"column": effects, "row": _row("panel", rows)}
    return chart.facet(**facets, data=alt.Data(values=rows))


def _effects(rows: Rows, label: str, order: Sequence[str], *, width: int, title: str) -> Any:
    """Points with intervals; an end beyond what is drawn runs to the edge, a missing estimate is said in words."""
    reach = _reach(rows)
    for row in rows:
        estimate = row["log_odds_ratio"]
        row["missing"] = estimate is None
        row["low"] = None if estimate is None else _inside(row["log_odds_ratio_low"], -reach, reach)
        row["high"] = None if estimate is None else _inside(row["log_odds_ratio_high"], reach, reach)
        row["words"] = "no estimate" if estimate is None else _interval_words(row)
    y = alt.Y(f"{label}:N", sort=list(order), title=None, axis=alt.Axis(grid=True))
    x = alt.X("log_odds_ratio:Q", title=title, scale=alt.Scale(domain=[-reach, reach]))
    states = [state for state in STATES if state in {row["state"] for row in rows}]
    fills = {STATES[0]: BLUE, STATES[1]: BLUE, STATES[2]: "transparent", STATES[3]: "transparent"}
    shapes = {STATES[0]: "circle", STATES[1]: "diamond", STATES[2]: "circle", STATES[3]: "cross"}
    colours = {STATES[0]: BLUE, STATES[1]: BLUE, STATES[2]: GREY, STATES[3]: RED}
    legend = alt.Legend(title=None, orient="top", columns=2)
    tooltip = _tooltip(f"{label}:N", "words:N", "state:N")
    stroke = alt.Stroke(
        "state:N", scale=alt.Scale(domain=states, range=[colours[state] for state in states]), legend=legend
    )
    base = alt.Chart().encode(y=y)
    zero = alt.Chart().mark_rule(color=GREY, strokeDash=[4, 3]).encode(x=alt.datum(0))
    interval = base.mark_rule(strokeWidth=1.6).encode(
        x=alt.X("low:Q", title=title, scale=alt.Scale(domain=[-reach, reach])),
        x2="high:Q",
        stroke=stroke,
        strokeDash=alt.StrokeDash(
            "state:N",
            scale=alt.Scale(domain=states, range=[[2, 3] if s == STATES[3] else [1, 0] for s in states]),
            legend=legend,
        ),
        tooltip=tooltip,
    )
    point = base.mark_point(size=70, strokeWidth=1.8, opacity=1).encode(
        x=x,
        shape=alt.Shape(
            "state:N", scale=alt.Scale(domain=states, range=[shapes[state] for state in states]), legend=legend
        ),
        fill=alt.Fill(
            "state:N", scale=alt.Scale(domain=states, range=[fills[state] for state in states]), legend=legend
        ),
        stroke=stroke,
        tooltip=tooltip,
    )
    missing = (
        base.transform_filter("datum.missing")
        .mark_text(fontStyle="italic")
        .encode(x=alt.datum(0), text=alt.value("no estimate"))
    )
    return alt.layer(zero, interval, point, missing).properties(width=width, height=alt.Step(20))


def _reach(rows: Rows) -> float:
    """Half the width of the axis: the estimates and most of their intervals, never a single huge end."""
    ends = [abs(row[key]) for row in rows for key in ("log_odds_ratio", "log_odds_ratio_low", "log_odds_ratio_high")
            if row[key] is not None]  # fmt: skip
    estimates = [abs(row["log_odds_ratio"]) for row in rows if row["log_odds_ratio"] is not None]
    if not ends:
        return 1.0
    usual = sorted(ends)[int(0.95 * (len(ends) - 1))]
    reach: float = min(max(usual, *estimates, 0.5) * 1.1, 6.0)
    return round(reach, 1)


def _inside(value: float | None, instead: float, reach: float) -> float:
    return instead if value is None else max(-reach, min(reach, value))


def _interval_words(row: Mapping[str, Any]) -> str:
    ends = [row["log_odds_ratio_low"], row["log_odds_ratio_high"]]
    low, high = ("unbounded" if end is None else f"{end:+.2f}" for end in ends)
    return f"{row['log_odds_ratio']:+.2f} [{low}, {high}]"


# accuracy


def _base_and_change(rows: Rows) -> Any:
    rows = _with_panels(rows)
    for row in rows:
        row |= {"base": 100 * row["base"]} | {
            key: None if row[key] is None else 100 * row[key] for key in ("change", "change_low", "change_high")
        }
    panels = _names(rows, "panel")
    several = len(_names(rows, "model")) > 1
    base = alt.Chart().encode(
        x=alt.X("base:Q", title="base questions right (%)", scale=alt.Scale(domain=[0, 100])),
        tooltip=_tooltip("model:N", "panel:N", "base:Q", "change:Q", "change_low:Q", "change_high:Q"),
    )
    zero = alt.Chart().mark_rule(color=GREY, strokeDash=[4, 3]).encode(y=alt.datum(0))
    legend = alt.Legend(title=None, orient="top", columns=5)
    colour = _scale("panel", panels, dict(zip(panels, _cycle(len(panels)), strict=True)), legend)
    shape = alt.Shape("panel:N", scale=alt.Scale(domain=panels, range=_shapes(len(panels))), legend=legend)
    rule = base.mark_rule(strokeWidth=1.4).encode(
        y=alt.Y("change_low:Q", title="variants − base (points)"), y2="change_high:Q", color=colour
    )
    point = base.mark_point(size=70, filled=True, opacity=1).encode(
        y=alt.Y("change:Q", title="variants − base (points)"),
        shape=shape,
        color=colour,
    )
    size = {"width": 190, "height": 150} if several else {"width": 560, "height": 240}
    chart = alt.layer(zero, rule, point).properties(**size)
    return _facet(chart, rows, "model", columns=4) if several else _whole(chart, rows)


def _history(rows: Rows) -> Any:
    rows = _with_panels(_percent(rows, "accuracy"), more="line")
    parts = _names(rows, "part")
    steps = [step for _, step in sorted({(row["place"], row["step"]) for row in rows})]
    legend = alt.Legend(title=None, orient="top")
    base = alt.Chart().encode(
        x=alt.X("step:O", sort=steps, title=None, axis=alt.Axis(labelAngle=-30)),
        color=_scale("part", parts, dict(zip(parts, _cycle(len(parts)), strict=True)), legend),
        tooltip=_tooltip("step:N", "run:N", "part:N", "accuracy:Q", "accuracy_low:Q", "accuracy_high:Q"),
    )
    y = alt.Y("accuracy:Q", title="right (%)", scale=alt.Scale(domain=[0, 100]))
    line = base.mark_line().encode(
        y=y, strokeDash=alt.StrokeDash("part:N", scale=alt.Scale(domain=parts), legend=legend)
    )
    rule = base.mark_rule().encode(y=alt.Y("accuracy_low:Q", title="right (%)"), y2="accuracy_high:Q")
    point = base.mark_point(filled=True, size=60, opacity=1).encode(
        y=y, shape=alt.Shape("part:N", scale=alt.Scale(domain=parts, range=_shapes(len(parts))), legend=legend)
    )
    return _facet(alt.layer(line, rule, point).properties(width=260, height=180), rows, "panel", columns=3)


# templates


def _slopes(rows: Rows) -> Any:
    """A line a template; where that would be too many panels, a line a model."""
    rows = _with_panels(rows, more="model")
    if len(_names(rows, "panel")) > _MOST_PANELS:
        rows = _means(rows)
    for row in rows:
        row |= {"base": 100 * row["base"], "variants": 100 * row["variants"]}
        row["fall"] = "falls by more than half" if row["base"] - row["variants"] > 50 else "other"
    falls = ["falls by more than half", "other"]
    y_title, legend = "right (%)", alt.Legend(title=None, orient="top")
    chart = (
        alt.Chart()
        .mark_rule()
        .encode(
            x=alt.X(
                datum=0,
                type="quantitative",
                title=None,
                scale=alt.Scale(domain=[-0.1, 1.1]),
                axis=alt.Axis(values=[0, 1], labelExpr="datum.value < 0.5 ? 'base' : 'variants'", grid=False),
            ),
            x2=alt.X2Datum(1),
            y=alt.Y("base:Q", title=y_title, scale=alt.Scale(domain=[0, 100])),
            y2="variants:Q",
            color=_scale("fall", falls, {falls[0]: ORANGE, falls[1]: GREY}, legend),
            strokeWidth=alt.StrokeWidth(
                "fall:N", sort=falls, scale=alt.Scale(domain=falls, range=[1.8, 0.9]), legend=legend
            ),
            opacity=alt.Opacity("fall:N", sort=falls, scale=alt.Scale(domain=falls, range=[0.9, 0.45]), legend=legend),
            tooltip=_tooltip("template:N", "base:Q", "variants:Q"),
        )
        .properties(width=150, height=200)
    )
    return _facet(chart, rows, "panel", columns=5)


def _means(rows: Rows) -> Rows:
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault((row["format"], row["model"]), []).append(row)
    return [
        {
            "panel": form,
            "template": model,
            **{part: sum(row[part] for row in some) / len(some) for part in ("base", "variants")},
        }
        for (form, model), some in found.items()
    ]


# numbers


def _number_bins(rows: Rows) -> Any:
    rows = _percent(rows, "share")
    bins = list(dict.fromkeys(row["bin"] for row in rows))
    parts = ["base", "variants"]
    legend = alt.Legend(title=None, orient="top")
    chart = (
        alt.Chart()
        .mark_bar(strokeWidth=1.2)
        .encode(
            x=alt.X("bin:N", sort=bins, title="integer", axis=alt.Axis(labelAngle=-30)),
            xOffset=alt.XOffset("part:N", sort=parts),
            y=alt.Y("share:Q", title="share of integers (%)"),
            stroke=alt.Stroke("part:N", scale=_part_scale(), legend=legend),
            fill=alt.Fill("part:N", scale=alt.Scale(domain=parts, range=["transparent", BLUE]), legend=legend),
            tooltip=_tooltip("part:N", "bin:N", "share:Q", "count:Q"),
        )
        .properties(width=420, height=200)
    )
    return _facet(chart, rows, "benchmark", columns=2)


def _number_curve(rows: Rows) -> Any:
    rows = _percent(rows, "share")
    for row in rows:
        row["at"] = max(row["value"], 0.5)
    legend = alt.Legend(title=None, orient="top")
    chart = (
        alt.Chart()
        .mark_line(interpolate="step-after", strokeWidth=1.8)
        .encode(
            x=alt.X(
                "at:Q",
                scale=alt.Scale(type="log", nice=False),
                title="integer (log scale)",
                axis=alt.Axis(values=[10**power for power in range(20)], format="~s"),
            ),
            y=alt.Y("share:Q", title="share up to it (%)", scale=alt.Scale(domain=[0, 100])),
            color=alt.Color("part:N", scale=_part_scale(), legend=legend),
            strokeDash=alt.StrokeDash(
                "part:N", scale=alt.Scale(domain=["base", "variants"], range=[[5, 3], [1, 0]]), legend=legend
            ),
            tooltip=_tooltip("part:N", "value:Q", "share:Q"),
        )
        .properties(width=420, height=200)
    )
    return _facet(chart, rows, "benchmark", columns=2)


def _gamma(rows: Rows) -> Any:
    """Observed tenths and the fitted curve; with many models the curves alone, a panel a format."""
    rows = _with_panels(_percent(rows, "accuracy"), more="model")
    many = len(_names(rows, "panel")) > _MOST_PANELS
    panel = "format" if many else "panel"
    rows = [row for row in rows if row["kind"] == "fitted" or not many]
    x = alt.X("gamma:Q", title="γ, size of numbers", scale=alt.Scale(zero=False))
    y = alt.Y("accuracy:Q", title="variants right (%)", scale=alt.Scale(domain=[0, 100]))
    tooltip = _tooltip("model:N", "gamma:Q", "accuracy:Q", "answers:Q")
    base = alt.Chart()
    line = base.transform_filter("datum.kind == 'fitted'").mark_line(
        color=ORANGE, strokeWidth=1.8, opacity=0.6 if many else 1
    ).encode(x=x, y=y, detail="model:N", tooltip=tooltip)  # fmt: skip
    layers = [line]
    if not many:
        observed = base.transform_filter("datum.kind == 'observed'")
        layers += [
            observed.mark_rule(color=BLUE).encode(x=x, y=alt.Y("accuracy_low:Q"), y2="accuracy_high:Q"),
            observed.mark_point(color=BLUE, filled=True, size=45, opacity=1).encode(x=x, y=y, tooltip=tooltip),
        ]
    return _facet(alt.layer(*layers).properties(width=180, height=160), rows, panel, columns=4)


# failures


def _failure_bars(rows: Rows) -> Any:
    return _stacked(_percent(rows, "share"), "share", "of all answers (%)", total="failed")


def _failure_shares(rows: Rows) -> Any:
    return _stacked(_percent(rows, "share_of_rest"), "share_of_rest", "of these failures (%)", total="rest")


def _stacked(rows: Rows, share: str, title: str, *, total: str) -> Any:
    """Stacked bars whose classes are numbered, and whose whole is written at the end."""
    rows = _with_panels(rows)
    classes = list(dict.fromkeys(row["class"] for row in sorted(rows, key=lambda row: row["class"])))
    classes.sort(key=lambda name: -sum(row["count"] for row in rows if row["class"] == name))
    ends: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        place = classes.index(row["class"])
        row |= {"number": f"{place + 1}", "named": f"{place + 1} {row['class']}", "place": place}
        row["bar"] = row["part"] if len(_names(rows, "model")) == 1 else f"{row['model']}, {row['part']}"
        end = ends.setdefault((row["panel"], row["bar"]), {"panel": row["panel"], "bar": row["bar"], "end": 0.0})
        end["end"] += row[share]
        end["total"] = f"{row[total]:,}"
        row["label"] = row["number"] if row[share] >= 3 else ""
    named = [f"{place + 1} {name}" for place, name in enumerate(classes)]
    y = alt.Y("bar:N", title=None, sort=_names(rows, "bar"))
    every = [*rows, *ends.values()]
    base = alt.Chart()
    bars = base.transform_filter("isValid(datum.number)").mark_bar(stroke="#ffffff", strokeWidth=0.8).encode(
        x=alt.X(f"{share}:Q", title=title, stack="zero", scale=alt.Scale(domain=[0, 112], nice=False),
                axis=alt.Axis(values=[0, 25, 50, 75, 100])),
        y=y,
        color=_scale("named", named, dict(zip(named, _cycle(len(named), _CLASS_COLOURS), strict=True)),
                     alt.Legend(title=None, orient="top", columns=4)),
        order=alt.Order("place:Q"),
        tooltip=_tooltip("bar:N", "class:N", "count:Q", f"{share}:Q"),
    )  # fmt: skip
    numbered = base.transform_filter("isValid(datum.number)")
    labels = numbered.mark_text(color="#ffffff", fontSize=10, fontWeight="bold").encode(
        x=alt.X(f"{share}:Q", stack="zero", bandPosition=0.5), y=y, text="label:N", order=alt.Order("place:Q"),
        detail="named:N",
    )  # fmt: skip
    totals = base.transform_filter("isValid(datum.end)").mark_text(align="left", dx=4, fontSize=11).encode(
        x="end:Q", y=y, text="total:N"
    )  # fmt: skip
    chart = alt.layer(bars, labels, totals).properties(width=360, height=alt.Step(20))
    return _facet(chart, every, "panel", columns=2, order=_names(rows, "panel"))


# logic


def _batches(rows: Rows) -> Any:
    rows = _percent(_percent(rows, "accuracy"), "baseline")
    models = _names(rows, "model")
    batches = sorted(_names(rows, "batch"), key=lambda name: (name == "ALL", name))
    for row in rows:
        row["group"] = row["format"] if len(models) == 1 else f"{row['model']}, {row['format']}"
    y = alt.Y("batch:N", sort=batches, title=None)
    base = alt.Chart().encode(
        y=y, tooltip=_tooltip("group:N", "batch:N", "accuracy:Q", "accuracy_low:Q", "accuracy_high:Q", "baseline:Q")
    )
    scale = alt.Scale(domain=[0, 100])
    rule = base.mark_rule(color=BLUE, strokeWidth=1.6).encode(
        x=alt.X("accuracy_low:Q", title="right (%)", scale=scale), x2="accuracy_high:Q"
    )
    point = base.mark_point(color=BLUE, filled=True, size=60, opacity=1).encode(
        x=alt.X("accuracy:Q", title="right (%)", scale=scale)
    )
    tick = base.mark_tick(color=ORANGE, thickness=2, size=16).encode(x=alt.X("baseline:Q", scale=scale))
    return _facet(alt.layer(rule, tick, point).properties(width=230, height=alt.Step(18)), rows, "group", columns=3)


def _pairs(rows: Rows) -> Any:
    """A matrix of differences, each said in points and with a mark; the first panels where there are many."""
    rows = _percent(rows, "difference")
    groups = list(dict.fromkeys((row["model"], row["format"]) for row in rows))[:_PAIR_PANELS]
    kept = []
    for row in rows:
        if (row["model"], row["format"]) in groups:
            mark = {"differ (Holm)": "●", "equivalent": "=", "different": "≠"}.get(row["state"], "?")
            row |= {"panel": ", ".join(name for name in (row["model"], row["format"]) if name)}
            row |= {"label": f"{row['difference']:+.0f} {mark}".replace("-", "−")}
            row["strength"] = abs(row["difference"])
            row["sign"] = "row below column" if row["difference"] < 0 else "row above column"
            kept.append(row)
    names = list(dict.fromkeys([row["first"] for row in kept] + [row["second"] for row in kept]))
    base = alt.Chart().encode(
        x=alt.X("second:N", sort=names, title=None, axis=alt.Axis(labelAngle=-30 if len(names) > 4 else 0)),
        y=alt.Y("first:N", sort=names, title=None),
        tooltip=_tooltip("first:N", "second:N", "difference:Q", "difference_low:Q", "difference_high:Q", "holm:Q",
                         "state:N"),
    )  # fmt: skip
    reach = max(10.0, *(abs(row["difference"]) for row in kept))
    strength = alt.Opacity("strength:Q", scale=alt.Scale(domain=[0, reach], range=[0.06, 0.6]), legend=None)
    signs = {"row above column": BLUE, "row below column": ORANGE}
    colour = _scale("sign", list(signs), signs, alt.Legend(title=None, orient="top"))
    step = 46 if len(names) <= 12 else 34
    rect = base.mark_rect(stroke="#7b879455").encode(color=colour, opacity=strength)
    text = base.mark_text(fontSize=11 if step > 40 else 9).encode(text="label:N")
    chart = alt.layer(rect, text).properties(width=alt.Step(step), height=alt.Step(26))
    return _facet(chart, kept, "panel", columns=4 if len(names) <= 5 else 1)


# what charts share


def _with_panels(rows: Rows, more: str | None = None) -> Rows:
    """Rows with the panel they belong into: the format, with benchmark or ``more`` where there are several."""
    names = [key for key in ("benchmark", more) if key and len(_names(rows, key)) > 1]
    for row in rows:
        row["panel"] = ", ".join([*(row[key] for key in names), row["format"]])
    return rows


def _names(rows: Rows, key: str) -> list[str]:
    return list(dict.fromkeys(row[key] for row in rows))


def _by_first(rows: Rows, label: str) -> list[str]:
    """Names in the order of their first estimates."""
    first: dict[str, float | None] = {}
    for row in rows:
        first.setdefault(row[label], row["log_odds_ratio"])
    if label == "panel":
        return list(first)
    return sorted(first, key=lambda name: (first[name] is None, first[name] or 0.0, name))


def _percent(rows: Rows, name: str) -> Rows:
    for row in rows:
        for key in (name, f"{name}_low", f"{name}_high"):
            if row.get(key) is not None:
                row[key] = 100 * row[key]
    return rows


def _facet(chart: Any, rows: Rows, name: str, *, columns: int, order: Sequence[str] | None = None) -> Any:
    """Small multiples on the same axes; nothing around a single panel but its title."""
    names = list(order or _names(rows, name))
    if len(names) == 1:
        return _whole(chart.properties(title=str(names[0])) if names[0] else chart, rows)
    facet = alt.Facet(f"{name}:N", title=None, sort=names)
    return chart.facet(facet=facet, columns=min(columns, len(names)), data=alt.Data(values=rows))


def _whole(chart: Any, rows: Rows) -> Any:
    """A chart that is not divided; its layers take their data from it."""
    return chart.properties(data=alt.Data(values=rows))


def _row(name: str, rows: Rows) -> Any:
    header = alt.Header(labelAngle=0, labelAlign="left")
    return alt.Row(f"{name}:N", title=None, sort=_names(rows, name), header=header)


def _scale(name: str, names: Sequence[str], colours: Mapping[str, str], legend: Any) -> Any:
    return alt.Color(
        f"{name}:N", scale=alt.Scale(domain=list(names), range=[colours[one] for one in names]), legend=legend
    )


def _part_scale() -> Any:
    return alt.Scale(domain=list(PARTS), range=list(PARTS.values()))


def _cycle(count: int, colours: Sequence[str] = (BLUE, ORANGE, GREEN, PURPLE, RED, GREY)) -> list[str]:
    return [colours[place % len(colours)] for place in range(count)]


def _shapes(count: int) -> list[str]:
    return [_SHAPES[place % len(_SHAPES)] for place in range(count)]


def _tooltip(*fields: str) -> list[Any]:
    return [alt.Tooltip(field, format=".3~r") if field.endswith(":Q") else alt.Tooltip(field) for field in fields]


_CHARTS: Mapping[Chart, Callable[[Rows], Any]] = {
    Chart.FOREST: _forest,
    Chart.THREE_EFFECTS: _three_effects,
    Chart.BASE_AND_CHANGE: _base_and_change,
    Chart.SLOPES: _slopes,
    Chart.NUMBER_BINS: _number_bins,
    Chart.NUMBER_CURVE: _number_curve,
    Chart.GAMMA: _gamma,
    Chart.FAILURE_BARS: _failure_bars,
    Chart.FAILURE_SHARES: _failure_shares,
    Chart.BATCHES: _batches,
    Chart.PAIRS: _pairs,
    Chart.HISTORY: _history,
}
