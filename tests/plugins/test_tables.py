"""Statistics for a table of one's own, through the command."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys

import pytest


def variantbench(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "variantbench.plugins.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def table(tmp_path):
    draw = random.Random(3)
    rows = ["id,is_variant,is_correct,text,gap"]
    for template in range(40):
        ability = draw.gauss(0, 1.5)
        for variant in range(21):
            right = draw.random() < 1 / (1 + 2.718281828 ** -(ability - 0.7 * (variant > 0)))
            rows.append(f"{template},{int(variant > 0)},{int(right)},t,{variant or ''}")
    path = tmp_path / "answers.csv"
    path.write_text("\n".join(rows))
    return path


FIT = ["--response", "is_correct", "--fixed", "is_variant", "--group", "id"]


def test_fit_prints_the_effect_in_words(table):
    done = variantbench("fit", table, *FIT)
    assert done.returncode == 0, done.stderr
    assert "840 rows in 40 groups" in done.stdout
    assert any(line.startswith("is_variant ") for line in done.stdout.splitlines())
    assert "conditional is_variant: log odds" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_fit_says_in_words_what_is_wrong_and_in_json_by_code(tmp_path):
    path = tmp_path / "separated.csv"  # base questions wrong, in few templates
    rows = [f"{t},{int(v > 0)},{int(v > 2 + t % 2)}" for t in range(6) for v in range(6)]
    path.write_text("\n".join(["id,is_variant,is_correct", *rows]))
    lines = variantbench("fit", path, *FIT).stdout.splitlines()
    assert "note: fewer than 20 groups hold both right and wrong answers" in lines
    said = "is_variant: the effect's estimate is infinite: read the likelihood ratio test and the finite end"
    assert f"note: {said}" in " ".join(lines).replace("      ", "")
    assert max(map(len, lines)) <= 100
    status = json.loads(variantbench("fit", path, *FIT, "--json").stdout)["status"]
    assert status[:2] == ["few_informative_groups", "quasi_separation:is_variant"]


def test_fit_gives_json_with_its_stated_keys(table):
    packed = table.with_suffix(".csv.gz")
    packed.write_bytes(gzip.compress(table.read_bytes()))
    result = json.loads(
        variantbench("fit", packed, *FIT, "--method=laplace", "--bootstrap=50", "--seed=1", "--json").stdout
    )
    keys = "beta se sigma loglik lrt_p profile_ci status conditional n_rows n_groups seconds"
    assert result.keys() >= set(keys.split())
    assert result["n_rows"] == 840
    low, high = result["profile_ci"]["is_variant"]
    assert low < result["beta"]["is_variant"] < high
    assert result["bootstrap"]["replicates"] == 50


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--response", "right", "--fixed", "is_variant", "--group", "id"],
            "no column 'right': there are id, is_variant",
        ),
        (["--response", "id", "--fixed", "is_variant", "--group", "id"], "answers.csv: "),
        (
            ["--response", "is_correct", "--fixed", "is_variant,text", "--group", "id"],
            "column 'text' holds something that is not a number (could not convert string to float: 't'): give numbers",
        ),
        (["--response", "is_correct", "--fixed", "gap", "--group", "id"], "or leave those rows out"),
        ([*FIT, "--bootstrap=10"], "seed"),
    ],
)
def test_a_table_that_cannot_be_fitted_is_one_line(table, arguments, message):
    done = variantbench("fit", table, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_file_that_is_no_table(tmp_path):
    done = variantbench("fit", tmp_path / "none.csv", *FIT)
    assert done.returncode == 2
    assert "none.csv: cannot be read" in done.stderr


def write(path, answers, *, order=1):
    rows = [f"{item},{item[0]},{right}" for item, right in answers.items()]
    path.write_text("\n".join(["item,template,correct", *rows[::order]]))
    return path


def test_mcnemar_joins_by_key_and_not_by_position(tmp_path):
    # 1 right in both, 3 in the first only, 1 in the second only, 1 in neither
    first = write(tmp_path / "a.csv", {"a1": 1, "a2": 1, "b1": 1, "b2": 1, "c1": 0, "c2": 0})
    second = write(tmp_path / "b.csv", {"a1": 1, "a2": 0, "b1": 0, "b2": 0, "c1": 1, "c2": 0}, order=-1)
    options = ["--key", "item", "--response", "correct", "--cluster", "template"]
    result = json.loads(variantbench("mcnemar", first, second, *options, "--json").stdout)
    assert [result["mcnemar"][cell] for cell in "abcd"] == [1, 3, 1, 1]
    assert result["mcnemar"]["p_exact"] == pytest.approx(0.625)  # 2 * P(Binomial(4, 1/2) <= 1)
    assert result["clustered"]["clusters"] == 3
    text = variantbench("mcnemar", first, second, *options).stdout
    assert "6 pairs: right in both 1, first only 3, second only 1, wrong in both 1" in text
    assert "first minus second +33.3 pp" in text


def test_mcnemar_of_equal_answers_says_what_so_few_templates_can(tmp_path):
    path = write(tmp_path / "a.csv", {"a1": 1, "a2": 1, "b1": 1, "b2": 0})
    options = ["--key", "item", "--response", "correct", "--cluster", "template"]
    text = variantbench("mcnemar", path, path, *options).stdout
    assert "clustered in 2: +0.0 pp, 95% -84.2 pp to +84.2 pp, sign-flip p 1" in text
    result = json.loads(variantbench("mcnemar", path, path, *options, "--json").stdout, parse_constant=pytest.fail)
    assert (result["clustered"]["t"], result["clustered"]["t_p"]) == (None, None)


def test_mcnemar_refuses_tables_of_different_items(tmp_path):
    first = write(tmp_path / "a.csv", {"a1": 1, "a2": 1})
    second = write(tmp_path / "b.csv", {"a1": 1, "a3": 1})
    done = variantbench("mcnemar", first, second, "--key", "item", "--response", "correct")
    assert done.returncode == 2
    assert "2 items are in one table only, such as 'a2': both tables must hold the same items" in done.stderr


@pytest.mark.parametrize("other", ["b", ""])
def test_mcnemar_refuses_an_item_in_two_clusters(tmp_path, other):
    first = write(tmp_path / "a.csv", {"a1": 1, "a2": 1, "b1": 0})
    second = write(tmp_path / "b.csv", {"a1": 1, "a2": 0, "b1": 0})
    second.write_text(second.read_text().replace("a2,a", f"a2,{other}"))
    options = ["--key", "item", "--response", "correct"]
    done = variantbench("mcnemar", first, second, *options, "--cluster", "template")
    assert done.returncode == 2
    assert f"item a2: cluster a in the first table, {other or 'nan'} in the second: both tables must" in done.stderr
    assert variantbench("mcnemar", first, second, *options).returncode == 0


@pytest.mark.parametrize("label", ["", "x"])
def test_mcnemar_refuses_answers_without_a_cluster(tmp_path, label):
    path = write(tmp_path / "a.csv", {"a1": 1, "a2": 1, "b1": 0})
    path.write_text(path.read_text().replace(",a,", ",,").replace(",b,", f",{label or 7},"))
    done = variantbench("mcnemar", path, path, "--key", "item", "--response", "correct", "--cluster", "template")
    assert done.returncode == 2
    assert "2 rows have no group" in done.stderr


def test_mcnemar_refuses_an_item_that_stands_twice(tmp_path):
    first = write(tmp_path / "a.csv", {"a1": 1, "a2": 1})
    second = write(tmp_path / "b.csv", {"a1": 1, "a2": 1})
    second.write_text(second.read_text() + "\na2,a,0")
    done = variantbench("mcnemar", first, second, "--key", "item", "--response", "correct")
    assert "item 'a2' stands twice" in done.stderr


@pytest.mark.parametrize("options", [["--response", "item"], ["--response", "correct", "--cluster", "item"]])
def test_mcnemar_refuses_one_column_for_two_things(tmp_path, options):
    first = write(tmp_path / "a.csv", {"a1": 1, "a2": 1})
    done = variantbench("mcnemar", first, first, "--key", "item", *options)
    assert done.returncode == 2
    assert "name a column of its own for each" in done.stderr
