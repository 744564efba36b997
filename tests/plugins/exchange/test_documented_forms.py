"""Formats of which no run is kept here: the study's files, NeMo Evaluator's documented lines, tables of anyone's."""

from __future__ import annotations

import pandas
import pytest

from variantbench.benchmarks.gsm.rows import published_items
from variantbench.plugins.errors import UserError


@pytest.fixture
def study(tmp_path):
    """A file as the study's code writes it (PROTOCOL.md, section 8): one template, known question and two variants."""
    rows = [
        {
            "id": 7, "original_id": 61, "instance": instance, "question": f"How many are {instance + 5}  boxes?",
            "answer": f"Boxes.\n#### 1,0{instance + 5}", "numerical_result": 1005.0 + instance,
            "predicted_numerical_result": said, "correct": right, "detected_result_pattern": "final answer",
            "full_response": f" The final answer is {said}.", "inference_time": 1.5,
        }
        for instance, said, right in ((-1, 1004.0, True), (0, 1005.0, True), (1, None, False), (2, 3.0, False))
    ]  # fmt: skip
    path = tmp_path / "google_gemma-2b.parquet"
    pandas.DataFrame(rows).to_parquet(path)
    return path


def test_a_file_of_the_study_is_imported(study, take):
    done, rows = take(study, format="gsm")
    assert done.files[0]["tool"] == "study"
    assert [row["id"] for row in rows] == ["0007-base", "0007-v1", "0007-v2", "0007-v3"]
    assert [row["robust_verdict"] for row in rows] == ["correct", "correct", "no_answer", "incorrect"]
    assert [row["robust_value"] for row in rows] == ["1004", "1005", None, "3"]
    assert {row["model"] for row in rows} == {"google/gemma-2b"}
    assert {row["format"] for row in rows} == {"gsm"}


def test_its_items_are_those_of_apples_release(study, take):
    _, rows = take(study)
    original = {"original_id": 61, "original_question": "How many are 4  boxes?", "original_answer": "#### 1,004"}
    apples = [
        {
            "id": 7,
            "instance": n,
            "question": f"How many are {n + 5}  boxes?",
            "answer": f"#### 1,0{n + 5:02}",
            **original,
        }
        for n in range(3)
    ]
    items = published_items([("here", row) for row in apples], "symbolic", "test")["0007"]
    assert {row["item_hash"] for row in rows} == {item.content_hash for item in items}


def test_lines_of_nemo_evaluator_are_imported(take, jsonl):
    rows = [
        {"problem_idx": 0, "reward": 1.0, "repeat": 0, "expected_answer": "42", "model_response": "It is 42."},
        {"problem_idx": 0, "reward": 0.0, "repeat": 1, "expected_answer": "42", "model_response": "41?",
         "extracted_answer": "41"},
        {"problem_idx": 1, "reward": 0.25, "expected_answer": "7", "model_response": "Perhaps."},
    ]  # fmt: skip
    done, stored = take(jsonl("my-model/sums/results.jsonl", rows))
    assert (done.files[0]["tool"], done.rows, done.answers) == ("nemo-evaluator", 3, 2)
    assert done.left_out == {"a reward that is neither 0 nor 1": 1}
    assert sorted((row["seed"], row["robust_verdict"], row["text"]) for row in stored) == [
        (0, "correct", "It is 42."),
        (1, "incorrect", "41?"),
    ]
    assert {(row["model"], row["benchmark"], row["target"]) for row in stored} == {("my-model", "sums", "42")}


def test_a_csv_with_a_map_of_columns_is_imported(take, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text('qid,ok,said,tmpl,v\nq1,1,"a, ""quoted""\n\n two lines",t1,0\nq2,no_answer,,t1,1\nq3,error,,t2,0\n')
    columns = {"qid": "item", "ok": "correct", "said": "answer", "tmpl": "group", "v": "variant"}
    done, rows = take(path, columns=columns)
    assert [row["robust_verdict"] for row in rows] == ["correct", "no_answer", "error"]
    assert rows[0]["text"] == 'a, "quoted"\n\n two lines'
    assert [(row["group_id"], row["variant"]) for row in rows] == [("t1", 0), ("t1", 1), ("t2", 0)]
    ((_, count),) = done.counts.items()
    assert (count.right, count.judged, count.errors) == (1, 2, 1)


def test_dotted_paths_reach_into_json(take, jsonl):
    rows = [{"task": {"id": "a"}, "score": {"value": True}}, {"task": {"id": "b"}, "score": {"value": 0}}]
    _, stored = take(jsonl("log.jsonl", rows), columns={"task.id": "item", "score.value": "correct"})
    assert [(row["id"], row["robust_verdict"]) for row in stored] == [("a", "correct"), ("b", "incorrect")]


def test_another_map_of_the_same_file_gives_other_completions(take, jsonl):
    path = jsonl("log.jsonl", [{"item": "a", "correct": 1, "short": "7", "long": "It is 7."}])
    assert take(path, columns={"short": "answer"})[1][0]["text"] == "7"
    assert take(path, columns={"long": "answer"})[1][0]["text"] == "It is 7."


def test_an_item_that_the_store_holds_as_another_variant_is_refused(take, jsonl):
    path = jsonl("log.jsonl", [{"item": "a", "correct": 1, "group": "t", "v": 3}])
    take(path)
    with pytest.raises(
        UserError, match="item 'a' of log is in this store as variant 0, batch None; the log says variant 3"
    ):
        take(path, columns={"v": "variant"})


def test_a_column_that_is_not_there_is_named(take, jsonl):
    with pytest.raises(UserError, match=r"log.jsonl:1: no column 'item': name it with --map theirs=item; there are x"):
        take(jsonl("log.jsonl", [{"x": 1}]))
    with pytest.raises(UserError, match="no column colour; ours are item"):
        take(jsonl("log.jsonl", [{"x": 1}]), columns={"x": "colour"})


def test_answers_to_choices_are_the_likeliest(take, jsonl, sample_row):
    row = sample_row(
        0,
        arguments={"gen_args_0": {"arg_0": "Q", "arg_1": " no"}, "gen_args_1": {"arg_0": "Q", "arg_1": " yes"}},
        resps=[[["-4.0", "False"]], [["-1.5", "False"]]],
        filtered_resps=[["-4.0", "False"], ["-1.5", "False"]],
        metrics=["acc"],
        acc=1.0,
    )
    _, stored = take(jsonl("samples_choice.jsonl", [row]))
    assert (stored[0]["text"], stored[0]["robust_value"], stored[0]["robust_verdict"]) == (" yes", "yes", "correct")


def test_an_answer_in_which_the_filter_found_nothing_is_no_answer(take, jsonl, sample_row):
    _, stored = take(jsonl("samples_x.jsonl", [sample_row(0, filtered_resps="[invalid]", exact_match=0.0)]))
    assert (stored[0]["robust_verdict"], stored[0]["robust_value"]) == ("no_answer", None)
