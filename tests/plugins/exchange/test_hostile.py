"""Damaged and hostile logs end in one line that names the place, and leave nothing in the store."""

from __future__ import annotations

import io
import json
import struct
import tracemalloc
import zipfile

import pandas
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from variantbench.plugins.errors import UserError
from variantbench.plugins.exchange.importing import Choices, import_logs
from variantbench.plugins.store import open_store, schema

TABLES = (schema.runs, schema.models, schema.texts, schema.items, schema.completions, schema.records, schema.run_totals)
HEADER = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}, "results": {"total_samples": 1}}
SAMPLE = {"id": "a", "epoch": 1, "input": "Q?", "target": "1", "scores": {"s": {"value": "C"}}}


def stored(store):
    with store.engine.connect() as connection:
        return {t.name: n for t in TABLES if (n := connection.execute(select(func.count()).select_from(t)).scalar())}


@pytest.fixture
def refused(store):
    """Imports and returns the error, which is one line; nothing may be stored."""

    def run(*paths, **choices):
        with pytest.raises(UserError) as caught:
            import_logs(store, list(paths), Choices(**choices))
        assert stored(store) == {}
        message = str(caught.value)
        assert "\n" not in message
        assert len(message) < 600
        return message

    return run


@pytest.fixture
def samples(jsonl, sample_row):
    """A samples file of lm-eval with so many rows and these further lines."""

    def write(rows, *lines):
        path = jsonl("samples_sums.jsonl", [sample_row(number) for number in range(rows)])
        with path.open("ab") as file:
            for line in lines:
                file.write(line)
        return path

    return write


@pytest.fixture
def archive(tmp_path):
    """Writes an .eval of these entries."""

    def write(entries, method=zipfile.ZIP_DEFLATED):
        path = tmp_path / "log.eval"
        with zipfile.ZipFile(path, "w", method) as zipped:
            for name, content in entries:
                zipped.writestr(name, content if isinstance(content, bytes) else json.dumps(content))
        return path

    return write


def test_a_line_that_was_cut_off_is_named(refused, samples):
    path = samples(5_000, b'{"doc_id": 5000, "doc": {"que')
    assert f"{path}:5001: not JSON" in refused(path)


def test_a_duplicate_row_is_named(refused, samples, sample_row):
    path = samples(4_100, json.dumps(sample_row(17)).encode() + b"\n")
    message = refused(path)
    assert f"{path}:4101: '17' of sums" in message
    assert "stands twice" in message


def test_rows_of_two_versions_are_not_mixed(refused, samples, sample_row):
    old = sample_row(9)
    del old["filter"]
    path = samples(3, json.dumps({**old, "arguments": [["Q", {}]]}).encode())
    assert f"{path}:4: written by another version of lm-eval" in refused(path)


def test_rows_of_an_older_version_alone_are_read(take, jsonl, sample_row):
    rows = [{**sample_row(n), "arguments": [[f"Q: What is {n} + 1?", {"until": ["\n"]}]]} for n in range(4)]
    for row in rows:
        del row["filter"]
    done, _ = take(jsonl("samples_old.jsonl", rows))
    assert (done.answers, next(iter(done.counts.values())).right) == (4, 2)


@pytest.mark.parametrize(("encoding", "byte"), [("latin-1", "0xe9"), ("utf-16", "0xff")])
def test_another_encoding_is_named(refused, tmp_path, encoding, byte):
    path = tmp_path / "samples_x.jsonl"
    path.write_text(json.dumps({"doc_id": 1, "filtered_resps": "é"}, ensure_ascii=False), encoding=encoding)
    assert f"{path}:1: not UTF-8 (byte" in (message := refused(path, tool="lm-eval"))
    assert byte in message


def test_a_byte_order_mark_is_no_fault(take, samples):
    path = samples(2)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert take(path)[0].answers == 2


def test_a_line_of_100_megabytes_is_refused_in_bounded_memory(refused, samples):
    path = samples(2, b'{"doc_id": "' + b"x" * 100_000_000 + b'"}\n')
    tracemalloc.start()
    message = refused(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert f"{path}:3: a line of more than 32 MB" in message
    assert peak < 100_000_000


def test_brackets_without_end_are_refused(refused, samples):
    path = samples(1, b"[" * 200_000 + b"\n")
    assert f"{path}:2: not JSON" in refused(path)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"doc_id": None, "resps": []}, "'resps' holds no answer"),
        ({"arguments": {"gen_args_0": {"arg_0": 5}}}, "'arguments' has no prompt"),
        ({"doc": {"group": "a", "variant": "many"}}, "variant is 'many'; a whole number is needed"),
        ({"doc": {"group": "a", "variant": 1e300}}, "variant is 1e+300; a whole number is needed"),
        ({"doc": {"group": "a\0b", "variant": 1}}, "holds NUL or half a character"),
        ({"target": "\ud800"}, "holds NUL or half a character"),
        ({"doc": {"variantbench": {"verdict": "correct"}}}, "not what variantbench exports"),
    ],
)
def test_rows_that_no_harness_writes_are_named(refused, jsonl, sample_row, changed, message):
    path = jsonl("samples_x.jsonl", [sample_row(0), sample_row(1, **changed)])
    assert f"{path}:2: " in (found := refused(path))
    assert message in found


def test_a_row_without_its_fields_is_named(refused, samples):
    path = samples(1, b'{"doc_id": 3, "filtered_resps": []}\n')
    assert f"{path}:2: no 'doc': a row of lm-eval has" in refused(path)


def _put(tree, place, value):
    """The value at a place such as ``results/scores`` or ``*/stats`` (of every element)."""
    first, _, rest = place.partition("/")
    for key in range(len(tree)) if first == "*" else [first]:
        if rest:
            _put(tree[key], rest, value)
        else:
            tree[key] = value


@pytest.mark.parametrize(
    ("tool", "name", "place", "value"),
    [
        ("lm_eval", "results_*.json", "results", []),
        ("lm_eval", "results_*.json", "results", None),
        ("lm_eval", "results_*.json", "results/vb_words", [1]),
        ("inspect", "*.json", "eval/packages", ["inspect_ai"]),
        ("inspect", "*.json", "results/scores", 3),
        ("helm", "scenario_state.json", "request_states/*/instance/extra_data", [1]),
        ("helm", "scenario_state.json", "request_states/*/instance/references", ["yes"]),
        ("helm", "per_instance_stats.json", "*/stats", None),
        ("helm", "stats.json", "*", 1),
        ("helm", "stats.json", "*/name", "exact_match"),
    ],
)
def test_values_of_another_kind_than_the_tool_writes_are_refused(refused, data, tmp_path, tool, name, place, value):
    mains = {"lm_eval": "samples_*.jsonl", "inspect": "*.json", "helm": "per_instance_stats.json"}
    for path in (data / tool).iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (changed,) = tmp_path.glob(name)
    tree = json.loads(changed.read_text())
    _put(tree, place, value)
    changed.write_text(json.dumps(tree))
    (log,) = tmp_path.glob(mains[tool])
    message = refused(log)
    assert str(log) in message
    assert "damaged or of another version of the tool" in message


def test_a_length_without_end_is_refused(refused, jsonl, sample_row):
    arguments = {"gen_args_0": {"arg_0": "Q", "arg_1": {"max_gen_toks": float("inf")}}}
    path = jsonl("samples_x.jsonl", [sample_row(0, arguments=arguments)])
    assert f"{path}: damaged or of another version of the tool (OverflowError" in refused(path)


def test_columns_of_lighteval_that_hold_texts_are_refused(refused, tmp_path):
    path = tmp_path / "details_x.parquet"
    pandas.DataFrame({"doc": ["a"], "metric": ["b"], "model_response": ["c"]}).to_parquet(path)
    assert f"{path}: damaged or of another version of the tool (AttributeError" in refused(path)


def test_seconds_beyond_any_float_are_named(refused, jsonl):
    path = jsonl("t.jsonl", [{"item": "a", "correct": 1, "seconds": 10**400}])
    assert f"{path}:1: seconds is 1000" in refused(path)


@pytest.mark.parametrize(
    "changed",
    [
        {"seed": float("inf")},
        {"seed": 10**30},
        {"variant": 10**30},
        {"prompt_tokens": 10**30},
        {"value": {"a": 1}},
        {"batch": [1]},
        {"decoding": {"max_new_tokens": {}}},
    ],
)
def test_what_our_exports_cannot_hold_is_named(refused, take, jsonl, changed):
    from variantbench.plugins.exchange.own import COUNTS, TEXTS

    own = {**dict.fromkeys(TEXTS, "x"), **dict.fromkeys(COUNTS, 0), "variant": 0}
    own |= {"verdict": "correct", "finish_reason": "end"}
    path = jsonl("t.jsonl", [{"item": "a", "variantbench": {**own, **changed}}])
    assert f"{path}:1: " in refused(path)
    assert take(jsonl("right.jsonl", [{"item": "a", "variantbench": own}]))[0].answers == 1


def test_one_bad_file_of_two_leaves_nothing(refused, samples, tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text('item,correct\na,1\nb,"1\n')
    assert f"{bad}:" in (message := refused(samples(3_000), bad))
    assert "not CSV" in message


def test_an_interrupted_import_leaves_nothing(store, samples, monkeypatch):
    from variantbench.plugins.exchange import importing

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(importing._Import, "compare", stop)
    with pytest.raises(KeyboardInterrupt):
        import_logs(store, [samples(5_000)])
    assert stored(store) == {}


def test_a_csv_of_ragged_rows_is_named(refused, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("item,correct\na,1\nb\n")
    assert f"{path}:3: 1 cells, 2 columns" in refused(path)
    path.write_text("item,item\na,1\n")
    assert f"{path}:1: a column stands twice" in refused(path)


@pytest.mark.parametrize("name", ["../../etc/cron.d/x", "/etc/passwd", "samples/../../x.json", "C:/x", "a\\..\\b"])
def test_names_that_leave_the_archive_are_refused(refused, archive, name):
    path = archive([("header.json", HEADER), ("samples/a_epoch_1.json", SAMPLE), (name, b"x")])
    assert "leaves the archive: refused" in refused(path)


def test_a_deflate_bomb_is_refused(refused, archive):
    path = archive([("header.json", HEADER), ("samples/a_epoch_1.json", b" " * 100_000_000)])
    assert path.stat().st_size < 200_000
    assert "refused as a bomb" in refused(path)


def test_a_bomb_that_lies_about_its_size_is_refused(refused, archive):
    """Central directory and local header say 100 bytes; the packed data are 50 MB of blanks."""
    path = archive([("header.json", HEADER), ("samples/a_epoch_1.json", b" " * 50_000_000)])
    path.write_bytes(path.read_bytes().replace(struct.pack("<L", 50_000_000), struct.pack("<L", 100)))
    assert f"{path}:samples/a_epoch_1.json: damaged" in refused(path)


def test_a_zstandard_bomb_is_refused(refused, archive):
    """An entry of method 93 whose size is given as 100 bytes."""
    import zstandard

    packed = zstandard.compress(b" " * 50_000_000)
    path = archive([("header.json", HEADER), ("samples/a_epoch_1.json", packed)], method=zipfile.ZIP_STORED)
    data = path.read_bytes()
    both = struct.pack("<LL", len(packed), len(packed))
    data = data.replace(both, struct.pack("<LL", len(packed), 100))
    for mark, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):  # where the method stands
        place = data.rindex(mark) + offset
        data = data[:place] + struct.pack("<H", 93) + data[place + 2 :]
    path.write_bytes(data)
    assert "unpacks to more than it says: refused as a bomb" in refused(path)


def test_entries_that_stand_twice_are_refused(refused, archive):
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = archive([("header.json", HEADER), ("samples/a.json", SAMPLE), ("samples/a.json", SAMPLE)])
    assert "stands twice in the archive" in refused(path)


def test_samples_that_stand_twice_are_refused(refused, archive):
    header = {**HEADER, "results": {"total_samples": 2}}
    path = archive([("header.json", header), ("samples/a.json", SAMPLE), ("samples/b.json", SAMPLE)])
    assert f"{path}:samples/b.json: 'a' of t" in refused(path)


def test_an_unfinished_log_is_refused(refused, archive):
    assert "no header.json: the evaluation was not finished" in refused(archive([("samples/a.json", SAMPLE)]))
    header = {**HEADER, "results": {"total_samples": 9}}
    assert "1 samples, the log says 9: it was cut off" in refused(
        archive([("header.json", header), ("samples/a.json", SAMPLE)])
    )


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
@pytest.mark.parametrize("pattern", ["inspect/*.eval", "inspect/*.json", "lighteval/*.parquet", "lm_eval/samples*"])
def test_a_log_that_was_cut_off_is_refused(refused, data, tmp_path, pattern, share):
    (whole,) = data.glob(pattern)
    cut = tmp_path / whole.name
    content = whole.read_bytes()
    cut.write_bytes(content[: int(share * len(content))])
    tool = {"inspect": "inspect", "lightev": "lighteval", "lm_eval": "lm-eval"}[pattern[:7]]
    assert str(cut) in refused(cut, tool=tool)


@pytest.mark.parametrize("name", ["scenario_state.json", "per_instance_stats.json"])
def test_a_log_of_helm_that_was_cut_off_is_refused(refused, data, tmp_path, name):
    for path in (data / "helm").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content[: len(content) // 2])
    assert "the file is damaged or was cut off" in refused(tmp_path / "per_instance_stats.json")


def test_a_log_of_helm_without_its_answers_is_refused(refused, data, tmp_path):
    (tmp_path / "per_instance_stats.json").write_bytes((data / "helm" / "per_instance_stats.json").read_bytes())
    assert "no scenario_state.json beside it" in refused(tmp_path / "per_instance_stats.json")


def test_a_text_without_end_in_json_is_refused(refused, tmp_path):
    path = tmp_path / "log.json"
    path.write_bytes(b'{"version": 2, "status": "success", "eval": {"task": "' + b"x" * 50_000_000 + b'"}}')
    assert "a text of more than 32 MB" in refused(path, tool="inspect")


def test_a_parquet_file_of_something_else_is_refused(refused, tmp_path):
    path = tmp_path / "x.parquet"
    pandas.DataFrame({"a": [1]}).to_parquet(path)
    assert "no column 'item'" in refused(path)
    assert "no column id, original_id" in refused(path, tool="study")
    assert "no columns doc, metric, model_response" in refused(path, tool="lighteval")


def test_what_is_no_file_or_no_log_is_refused(refused, tmp_path):
    assert "cannot be read" in refused(tmp_path / "absent.jsonl")
    assert "cannot be read" in refused(tmp_path)
    (tmp_path / "x.txt").write_text("hello")
    assert "no log that is known here: name its format with --format" in refused(tmp_path / "x.txt")
    (tmp_path / "empty.jsonl").write_text("")
    assert "it is empty" in refused(tmp_path / "empty.jsonl")


def _changed(content, edits):
    data = bytearray(content)
    for place, value in edits:
        if data:
            data[place % len(data)] = value
    return bytes(data)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["lm_eval/samples*", "inspect/*.eval", "inspect/*.json", "lighteval/*.parquet"]),
    st.lists(st.tuples(st.integers(0, 2**32), st.integers(0, 255)), min_size=1, max_size=8),
    st.integers(0, 2**32) | st.none(),
)
def test_changed_bytes_are_imported_or_refused_never_half(data, tmp_path_factory, pattern, edits, cut):
    (whole,) = data.glob(pattern)
    folder = tmp_path_factory.mktemp("fuzz")
    content = _changed(whole.read_bytes(), edits)
    path = folder / whole.name
    path.write_bytes(content if cut is None else content[: cut % (len(content) + 1)])
    tool = {"inspect": "inspect", "lightev": "lighteval", "lm_eval": "lm-eval"}[pattern[:7]]
    with open_store(str(folder / "runs.db")) as store:
        try:
            done = import_logs(store, [path], Choices(tool=tool))
        except UserError:
            assert stored(store) == {}
        else:
            assert stored(store)["records"] == done.answers


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
FIELDS = ("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "exact_match")


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=3))
def test_rows_with_other_values_are_taken_left_out_or_refused(sample_row, tmp_path_factory, changed):
    path = tmp_path_factory.mktemp("fuzz") / "samples_x.jsonl"
    path.write_text(json.dumps({**sample_row(0), **changed}) + "\n")
    with open_store(str(path.with_name("runs.db"))) as store:
        try:
            done = import_logs(store, [path], Choices(tool="lm-eval"))
        except UserError:
            assert stored(store) == {}
        else:
            assert stored(store)["records"] == done.answers == 1


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from([*SAMPLE, "output", "metadata", "error", "total_time"]), JSON, max_size=3))
def test_samples_of_inspect_with_other_values_are_taken_left_out_or_refused(tmp_path_factory, changed):
    path = tmp_path_factory.mktemp("fuzz") / "x.eval"
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as zipped:
        zipped.writestr("header.json", json.dumps(HEADER))
        zipped.writestr("samples/a.json", json.dumps({**SAMPLE, **changed}))
    path.write_bytes(held.getvalue())
    with open_store(str(path.with_name("runs.db"))) as store:
        try:
            done = import_logs(store, [path])
        except UserError:
            assert stored(store) == {}
        else:
            assert stored(store)["records"] == done.answers == 1
