"""The report: what is in it, that every form of it says the same, and that texts of strangers stay texts."""

from __future__ import annotations

import csv
import io
import json
import re
from math import isnan
from xml.etree import ElementTree

import pandas
import pytest
from click.testing import CliRunner
from sqlalchemy import text as sql

from variantbench.benchmarks.gsm import load_items
from variantbench.benchmarks.logic import load_items as load_logic_items
from variantbench.plugins.cli import variantbench
from variantbench.plugins.errors import UserError
from variantbench.plugins.published import LogicRow, VariantRow
from variantbench.plugins.report.analysis.answers import Protocol
from variantbench.plugins.report.build import build_report, report_of
from variantbench.plugins.report.charts import draw
from variantbench.plugins.report.files import as_csv, as_json, render, write_folder
from variantbench.plugins.report.latex import escaped as latex_escaped
from variantbench.plugins.report.markdown import escaped as markdown_escaped
from variantbench.plugins.report.sections import flips
from variantbench.plugins.report.source import source
from variantbench.plugins.report.tables import Chart, Column, Interval, Kind, table
from variantbench.plugins.report.terminal import finding_lines, terminal_lines
from variantbench.plugins.report.values import number, shown
from variantbench.plugins.report.visible import visible
from variantbench.plugins.simulate import simulate
from variantbench.plugins.store import open_store, schema
from variantbench.plugins.store.tallies import tallies
from variantbench.stats.proportions import wilson


@pytest.fixture(scope="module")
def store(stored):
    with open_store(stored.path) as opened:
        yield opened


@pytest.fixture(scope="module")
def found(store, stored):
    return source(store, stored.study)


@pytest.fixture(scope="module")
def report(store, found):
    return report_of(store, found)


def rows(report, name):
    [one] = [each for each in report.tables() if each.name == name]
    return one.records()


def test_accuracy_is_that_of_the_records(report, store, stored):
    right, judged = {}, {}
    for record in store.records(stored.study):
        part = record["batch"] or ("variants" if record["variant"] else "base")
        key = record["model"], record["format"], part
        judged[key] = judged.get(key, 0) + 1
        right[key] = right.get(key, 0) + (record["robust_verdict"] == "correct")
    shown_rows = rows(report, "accuracy")
    assert len(shown_rows) == len(judged) == 2 * (5 * 2 + 4)
    for row in shown_rows:
        key = row["model"], row["format"], row["part"]
        assert (row["right"], row["judged"]) == (right[key], judged[key])
        assert row["accuracy"] == pytest.approx(right[key] / judged[key])
        assert row["accuracy_low"] < row["accuracy"] < row["accuracy_high"]


def test_effects_are_those_of_the_analysis(report, found):
    shown_rows = {(r["model"], r["format"]): r for r in rows(report, "variant_effect") if r["grades"] == "robust"}
    study = found.studies["gsm", Protocol.ROBUST]
    effects = [effect for one in (study.ex1, *study.ex2) for effect in one.effects]
    assert len(shown_rows) == len(effects) == 10
    for effect in effects:
        row = shown_rows[effect.model, effect.format]
        assert row["p"] == effect.p
        assert row["log_odds_ratio"] == effect.effect.beta
        assert row["change"] == effect.delta.estimate
        assert row["odds_ratio_low"] <= row["odds_ratio"] <= row["odds_ratio_high"]


def test_every_kind_of_figure_is_there_and_can_be_drawn(report, store, stored):
    history = build_report(store, [stored.before, stored.after])
    figures = [*report.figures(), *history.figures()]
    assert {figure.chart for figure in figures} == set(Chart)
    for figure in figures:
        spec = draw(figure)
        assert spec["$schema"].endswith(".json")
        assert figure.description
        assert len(json.dumps(spec)) < 1_000_000


def test_effects_are_never_drawn_without_an_interval(report):
    for name in ("forest", "three_effects"):
        for row in rows(report, name):
            known = [row[f"log_odds_ratio{end}"] is not None for end in ("_low", "_high")]
            assert any(known) or row["log_odds_ratio"] is None, row


def test_a_fit_that_cannot_be_relied_on_is_marked(store, stored):
    evil = build_report(store, stored.hostile)
    states = {row["state"] for row in rows(evil, "forest")}
    assert states == {"fit unreliable"}
    assert all("not to be relied on" in one.words or "no test" in one.words for one in evil.findings)


def test_flips_are_the_answers_that_changed(store, stored):
    verdicts = [
        {r["id"]: r["robust_verdict"] == "correct" for r in store.records(run)} for run in (stored.before, stored.after)
    ]
    lost = {item for item, was in verdicts[0].items() if was and not verdicts[1][item]}
    both = build_report(store, [stored.before, stored.after])
    [count] = rows(both, "flip_counts")
    assert lost
    assert count["lost"] == len(lost)
    assert {r["item"] for r in rows(both, "flips") if r["flip"] == "right, now wrong"} == lost
    assert [r["place"] for r in rows(both, "history") if r["part"] == "base"] == [1, 2]
    assert count["change"] == pytest.approx(-0.1, abs=0.02)


def test_where_nothing_flipped_the_interval_is_that_of_so_many_templates():
    answers = pandas.DataFrame({"benchmark": "gsm", "format": "gsm", "group_id": list("aabbcc"), "right_before": True})
    [cells] = flips._counts("before", "after", answers.assign(right_after=True))
    assert cells[4:8] == [6, 0, 0, 0]
    assert (cells[8].estimate, cells[8].low, cells[8].high) == pytest.approx((0, -0.7076, 0.7076), abs=1e-4)
    assert cells[9] == 1


def test_the_same_runs_give_the_same_bytes(store, stored, tmp_path):
    texts = []
    for name in ("one", "two"):
        again = build_report(store, [stored.before, stored.after])
        folder = tmp_path / name
        for form in ("svg", "csv"):
            write_folder(again, form, folder)
        files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
        texts.append((render(again, "html"), render(again, "markdown"), render(again, "latex"), as_json(again), files))
    assert texts[0] == texts[1]


def test_csv_and_json_hold_every_row_of_every_table(report):
    content = json.loads(as_json(report))
    for one in report.tables():
        assert len(list(csv.DictReader(io.StringIO(as_csv(one))))) == len(one.rows)
        assert len(content["tables"][one.name]["rows"]) == len(one.rows)
    assert "NaN" not in as_json(report)


def test_a_page_is_small_and_needs_nothing_else(report):
    page = render(report, "html")
    assert len(page.encode()) < 5_000_000
    assert "default-src 'none'" in page
    outside = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)  # the library names its own home page
    assert not re.search(r"""(src|href)\s*=\s*["']?https?:""", outside)


def test_figures_become_pictures(report, tmp_path):
    for form in ("svg", "png"):
        written = write_folder(report, form, tmp_path / form)
        assert len(written) == len(report.figures())
    for path in (tmp_path / "svg").iterdir():
        assert ElementTree.parse(path).getroot().tag.endswith("svg")  # noqa: S314 - written a moment ago
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in (tmp_path / "png").iterdir())


def test_lines_for_the_terminal_fit(found, report):
    lines = list(terminal_lines(found, report))
    assert max(map(len, lines)) <= 100
    said = list(finding_lines(report.findings))
    assert sum(" gsm   " in line for line in said) == 10
    assert sum(line.startswith("  simulated-") for line in said) == 2  # each model is named once
    assert any("a constant answer scores" in line for line in said)


def test_words_agree_with_the_figures(report):
    by_key = {(one.model, one.format): one.words for one in report.findings if one.benchmark == "gsm"}
    for row in rows(report, "variant_effect"):
        if row["grades"] == "robust":
            words = by_key[row["model"], row["format"]]
            assert f"{100 * abs(row['change']):.1f} pp" in words
            if row["state"] == "not shown":
                assert "not shown" in words
            if row["state"] == "shown (Holm)":
                assert "not shown" not in words


@pytest.mark.parametrize("form", ["html", "markdown", "latex", "json"])
def test_answers_of_an_enemy_stay_text(store, stored, form):
    text = render(build_report(store, stored.hostile), form)
    assert len(text) < 5_000_000
    if form == "html":
        body = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
        assert "<script>document" not in text
        assert "<img" not in body
        assert "<b>model" not in body
        assert "\u202e" not in body
        assert "⟨U+202E⟩" in body
        assert "␀" in body
    if form == "markdown":
        assert "<b>" not in text
        assert "<script" not in text
    if form == "latex":
        assert "\\input" not in text


def test_escapes_leave_nothing_that_acts(hostile_texts):
    for text in hostile_texts.values():
        one_line = markdown_escaped(text)
        assert "\n" not in one_line
        assert not re.search(r"(?<!\\)[<|`\[]", one_line)
        assert not re.search(r"(?<!\\)[%&#$_]", latex_escaped(text))
        assert "\x00" not in visible(text)
        assert visible(text).encode()


def test_cut_texts_say_how_much_is_missing():
    assert visible("x" * 1000, 10) == "x" * 10 + "\n… 990 more characters"
    assert visible("short", 10) == "short"


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (Kind.P, 0.0004, "<0.001"),
        (Kind.P, 0.0416, "0.042"),
        (Kind.SHARE, 0.1234, "12.3"),
        (Kind.CHANGE, -0.05, "−5.0"),
        (Kind.RATIO, float("inf"), "∞"),
        (Kind.LOGIT, -1e-17, "+0.00"),
        (Kind.COUNT, 12345, "12,345"),
        (Kind.NUMBER, float("nan"), "–"),
    ],
)
def test_figures_are_shown_in_the_digits_of_their_kind(kind, value, text):
    assert number(kind, value) == text


def test_an_interval_without_width_is_none():
    found = Interval.of(Interval(0.0, 0.0, 0.0))
    assert isnan(found.low)
    assert isnan(found.high)
    assert shown(Column("x", "x", Kind.SHARE), found) == "0.0"


def test_a_row_too_short_is_refused():
    with pytest.raises(ValueError, match="table t: 1 cells in a row of 2 columns"):
        table("t", "T", [Column("a", "a"), Column("b", "b")], [["x"]])


def test_the_command_writes_what_it_says(stored, tmp_path):
    def run(*arguments):
        done = CliRunner().invoke(variantbench, ["report", "--store", stored.path, *arguments])
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done

    output = tmp_path / "r.md"
    done = run(stored.study[:-1], "--format", "markdown", "-o", str(output))
    assert done.output == f"markdown report in {output}\n"
    assert output.read_text().startswith("## simulated-model-01, simulated-model-02")
    assert "simulated, not measured" in output.read_text()
    with pytest.raises(UserError, match="report --format csv writes many files: give -o FOLDER"):
        run("--format", "csv")
    with pytest.raises(UserError, match="cannot be written"):
        run(stored.before, "--format", "json", "-o", "/proc/nowhere/r.json")


@pytest.fixture(scope="module")
def alike(tmp_path_factory):
    """Reports of models that are right everywhere, and of one that two templates say little about."""
    gsm, logic = load_items(sample=12, variants_per_template=3), load_logic_items()
    rows = [VariantRow(name, form, 1.0, 1.0, 0.0) for name in "ab" for form in ("gsm", "simple_nl")]
    batches = [LogicRow(name, "zero_shot", batch, 1.0) for name in "ab" for batch in ("Q1", "Q2")]
    few = load_items(sample=2, variants_per_template=2)
    with open_store(str(tmp_path_factory.mktemp("alike") / "runs.db")) as opened:
        every = simulate(opened, [*rows, *batches], gsm=gsm, logic=logic, seed=1)
        little = simulate(opened, [VariantRow("c", "gsm", 0.5, 0.5, 0.0)], gsm=few, seed=3)
        sources = source(opened, every), source(opened, little)
        yield [(found, report_of(opened, found)) for found in sources]


def test_no_interval_is_without_width_in_any_form(alike):
    found, report = alike[0]
    texts = [
        "\n".join(terminal_lines(found, report)),
        *(render(report, form) for form in ("html", "markdown", "latex")),
    ]
    for text in texts:
        text = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
        assert not re.search(r"\[([-−+0-9.]+), \1\]", text)
        assert not re.search(r"95% ([0-9.]+) to \1", text)
    assert "+0.0 pp, no interval" in texts[0]
    assert "nothing says how others would" in texts[0]
    assert "100.0% right, 95% 96.6 to 100.0" in re.sub(r"\s+", " ", texts[0])
    for one in report.tables():
        for row in one.records():
            for name in row:
                if f"{name}_low" in row and row[f"{name}_low"] is not None:
                    assert row[f"{name}_low"] < row[f"{name}_high"], (one.name, name)


def test_answers_that_are_all_alike_show_what_so_many_questions_can(alike):
    found, _ = alike[0]
    [pair] = [pair for between in found.logic[Protocol.ROBUST].between for pair in between.pairs]
    assert pair.clustered.se == 0
    assert pair.difference.high == -pair.difference.low == pytest.approx(1 - 0.025 ** (1 / 108))
    assert pair.shown.shown == "equivalent"


def test_parts_that_are_all_right_say_of_new_templates_what_so_many_can(alike):
    _, report = alike[0]
    lowest = {row["part"]: row["new_low"] for row in rows(report, "accuracy")}
    templates, questions = (wilson(count, count).low for count in (12, 108))
    assert lowest == pytest.approx({"base": templates, "variants": templates, "Q1": questions, "Q2": questions})


def test_a_change_of_shares_lies_within_all_of_them(alike):
    found, report = alike[1]
    for row in rows(report, "variant_effect"):
        assert row["change_low"] is None or row["change_low"] >= -1
        assert row["change_high"] is None or row["change_high"] <= 1
    ends = [float(end) for line in terminal_lines(found, report) for end in re.findall(r"[-+]\d+\.\d", line)]
    assert max(map(abs, ends)) <= 100


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    """Three runs of one model, the first of fewer questions, beside a run of another model; and the store."""
    few, all_items = load_items(sample=6, variants_per_template=4), load_items(sample=12, variants_per_template=4)
    with open_store(str(tmp_path_factory.mktemp("line") / "runs.db")) as opened:
        runs = [
            simulate(opened, [VariantRow(name, "gsm", share, share - 0.1, -0.5)], gsm=gsm, seed=seed)
            for seed, (name, share, gsm) in enumerate(
                [("m", 0.9, few), ("other", 0.5, all_items), ("m", 0.7, all_items), ("m", 0.6, all_items)]
            )
        ]
        yield opened, runs


def test_a_single_run_shows_earlier_runs_of_its_model_at_the_same_questions(line):
    opened, runs = line
    now = {row["item_hash"] for row in opened.records(runs[3])}
    shown_rows = [row for row in rows(build_report(opened, runs[3]), "history") if row["part"] == "variants"]
    assert [row["run"] for row in shown_rows] == [runs[0], runs[2], runs[3]]
    for row in shown_rows:
        verdicts = [
            r["robust_verdict"] == "correct"
            for r in opened.records(row["run"])
            if r["variant"] > 0 and r["item_hash"] in now
        ]
        assert row["judged"] == len(verdicts) > 0
        assert row["accuracy"] == pytest.approx(sum(verdicts) / len(verdicts))
    assert [row["run"] for row in rows(build_report(opened, runs[2]), "history") if row["part"] == "base"] == [
        runs[0],
        runs[2],
    ]


def test_the_first_run_of_a_model_has_no_history(line):
    opened, runs = line
    for run in runs[:2]:
        assert not [one for one in build_report(opened, run).tables() if one.name == "history"]


def test_a_run_shows_the_baseline_that_it_was_compared_with(line):
    opened, runs = line
    opened.set_baseline("main", runs[1], why="test", set_by="")
    run = opened.find_run(runs[3])
    manifest = {**run["manifest"], "gate": {"baseline": "tag:main", "outcome": "pass", "comparisons": [], "faults": []}}
    opened.finish_run(runs[3], "complete", manifest)
    history = rows(build_report(opened, runs[3]), "history")
    opened.finish_run(runs[3], "complete", run["manifest"])
    assert [row["run"] for row in history if row["part"] == "base"] == runs


def test_the_newest_grades_count_in_the_history(line):
    opened, runs = line
    before = [one for one in tallies(opened, runs[0], asked_in=runs[0]) if one.part == "base"]
    with opened.engine.begin() as connection:
        columns = ", ".join(column.name for column in schema.records.c)
        chosen = columns.replace("grader", "'99'", 1).replace("robust_verdict", "'incorrect'", 1)
        where = f"where run_id = '{runs[0]}' and grader <> '99'"
        connection.execute(sql(f"insert into records ({columns}) select {chosen} from records {where}"))
    after = [one for one in tallies(opened, runs[0], asked_in=runs[0]) if one.part == "base"]
    with opened.engine.begin() as connection:
        connection.execute(sql("delete from records where grader = '99'"))
    assert before[0].right > 0 == after[0].right
    assert before[0].judged == after[0].judged
