from __future__ import annotations

import itertools
import json
import re
import statistics
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from variantbench.benchmarks.gsm import load_easy_items, load_items, sources, wordlists
from variantbench.benchmarks.gsm.gamma import gamma
from variantbench.benchmarks.gsm.sampler import Instance, Sampler
from variantbench.benchmarks.gsm.template import Template, read_template
from variantbench.plugins.errors import UserError

Second = Mapping[str, Callable[..., Fraction | int]]
MAIN = sorted((sources.HERE / "templates").glob("*.toml"))
EASY = sorted((sources.HERE / "easy").glob("*.toml"))
NAMES = set(wordlists.NAMES_FEMALE) | set(wordlists.NAMES_MALE)
DRAWS = 100  # of each of the 100 main templates: 10,000 draws

# What no question may contain, each with a text that must be caught: a rule that catches nothing proves nothing.
ILL_FORMED = {
    "a field left open": (r"[{}]", "{name} has 3 pears."),
    "doubled word": (r"\b([A-Za-z]+) \1\b", "He has the the pears."),
    "doubled blank": (r"  ", "He  has pears."),
    "blank before a stop": (r" [.,?!;:]", "He has pears ."),
    "one of a plural": (r"\b(1|[Oo]ne more|1 more) [a-z]+s\b(?<!ss)", "He has 1 apples."),
    "a before a vowel": (r"\b[Aa] (?!(one|uni|use|eu))[aeiouAEIOU]", "a apple"),
    "a before eight": (r"\b[Aa] (8|11\b|18\b|eight|eleven)", "a 8 meter rope"),
    "an before a consonant": (r"\b[Aa]n (?!(hour|8|11\b|18\b))[^aeiouAEIOU]", "an pear"),
    "plural in -ys": (r"[b-df-hj-np-tv-z]ys\b", "three berrys"),
    "plural of a hissing end": (r"(x|z|ch|sh|ss)s\b", "three boxs"),
    "dollar without amount": (r"\$(?!\d)", "He pays $ 3."),
    "leading zero": (r"(?<![\d.])0\d", "He pays 05 dollars."),
    "small start of a sentence": (r"(^|(?<![ap]\.m)[.?!] )[a-z]", "He sits. he eats."),
}


def words_of(question: str) -> list[str]:
    return re.findall(r"[A-Za-z-]+", question)


def troubles(question: str) -> list[str]:
    found = [name for name, (rule, _) in ILL_FORMED.items() if re.search(rule, question)]
    return found + ([] if question.endswith("?") and question[0].isupper() else ["no question"])


def steps_of(solution: str) -> Iterator[tuple[Fraction, Fraction]]:
    """Both sides of every `left = right` of a worked solution, calculated here."""
    for left, right in re.findall(r"((?:\d|\()[\d./*+() -]*) = (-?\d+(?:\.\d+)?(?:/\d+)?)", solution):
        exact = re.sub(r"\d+(?:\.\d+)?", lambda match: f"Fraction('{match[0]}')", left)
        yield eval(exact, {"Fraction": Fraction}), Fraction(right)  # noqa: S307 - digits and signs only, see the pattern


@pytest.fixture(scope="module")
def drawn() -> dict[str, tuple[Template, list[Instance]]]:
    """`DRAWS` instances of every template, main and easy."""
    templates = [read_template(path) for path in MAIN + EASY]
    return {t.id: (t, list(itertools.islice(Sampler(t).instances(20261129, "test"), DRAWS))) for t in templates}


def every(drawn: dict[str, tuple[Template, list[Instance]]]) -> Iterator[tuple[Template, Instance]]:
    return ((template, instance) for template, instances in drawn.values() for instance in instances)


def test_there_are_a_hundred_templates_and_forty_easy_ones() -> None:
    assert [path.stem for path in MAIN] == [f"{n:04d}" for n in range(1, 101)]
    assert [path.stem for path in EASY] == [f"e{n:03d}" for n in range(1, 41)]


def test_topics_are_spread() -> None:
    topics = Counter(read_template(path).topic for path in MAIN)
    wanted = {
        "rates",
        "money",
        "fractions",
        "percent",
        "time",
        "ratio",
        "comparison",
        "geometry",
        "average",
        "bookkeeping",
    }
    assert set(topics) == wanted
    assert min(topics.values()) >= 7
    assert max(topics.values()) <= 15


def test_both_computations_agree_on_every_draw(
    drawn: dict[str, tuple[Template, list[Instance]]], second_answers: Second
) -> None:
    checked = 0
    for template, instance in every(drawn):
        assert second_value(second_answers[template.id], instance.env) == instance.answer, (
            template.id,
            instance.question,
        )
        checked += 1
    assert checked == DRAWS * 140


def test_both_computations_agree_on_every_base_question(
    drawn: dict[str, tuple[Template, list[Instance]]], second_answers: Second
) -> None:
    for template, _ in drawn.values():
        value = second_value(second_answers[template.id], template.base.values)
        assert str(value) == template.base.target, template.id


def second_value(function: Callable[..., Fraction | int], values: Mapping[str, Any]) -> Fraction | int:
    wanted = function.__code__.co_varnames[: function.__code__.co_argcount]
    return function(**{name: values[name] for name in wanted})


def test_the_second_computation_uses_only_what_the_question_shows(
    drawn: dict[str, tuple[Template, list[Instance]]], second_answers: Second
) -> None:
    assert set(second_answers) == set(drawn)
    for name, (template, _) in drawn.items():
        code = second_answers[name].__code__
        assert set(code.co_varnames[: code.co_argcount]) <= set(template.question.names), name


def test_answers_are_whole_and_positive(drawn: dict[str, tuple[Template, list[Instance]]]) -> None:
    for template, instance in every(drawn):
        assert isinstance(instance.answer, int), template.id
        assert instance.answer > 0, (template.id, instance.question)


def test_no_question_comes_twice(drawn: dict[str, tuple[Template, list[Instance]]]) -> None:
    for template, instances in drawn.values():
        assert len({instance.question for instance in instances} | {template.base.question}) == DRAWS + 1


@pytest.mark.parametrize("rule", ILL_FORMED)
def test_each_rule_catches_its_example(rule: str) -> None:
    pattern, example = ILL_FORMED[rule]
    assert re.search(pattern, example)


def test_no_question_is_ill_formed(drawn: dict[str, tuple[Template, list[Instance]]]) -> None:
    for template, instance in every(drawn):
        assert not troubles(instance.question), (template.id, troubles(instance.question), instance.question)
    for template, _ in drawn.values():
        assert not troubles(template.base.question), (template.id, template.base.question)


def test_people_in_a_question_have_different_names(drawn: dict[str, tuple[Template, list[Instance]]]) -> None:
    for template, instance in every(drawn):
        people = [value for value in instance.env.values() if value in NAMES]
        assert len(set(people)) == len(people), template.id


def test_pronouns_agree_with_the_names() -> None:
    for path in MAIN + EASY:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        pronouns = {word.lower() for word in words_of(table["question"])} & {"he", "his", "him", "she", "her", "hers"}
        domains = {text for text in table["init"].values() if "names" in text}
        female, male = {"she", "her", "hers"}, {"he", "his", "him"}
        if not domains:
            continue  # a florist, a farmer: the person has no name
        if pronouns & female:
            assert domains == {"sample(names_female)"}, path.stem
            assert not pronouns & male, path.stem
        if pronouns & male:
            assert domains == {"sample(names_male)"}, path.stem


def test_worked_solutions_are_right_at_every_step(drawn: dict[str, tuple[Template, list[Instance]]]) -> None:
    for template, instance in every(drawn):
        solution = template.solution.render(instance.env, instance.shown)
        steps = list(steps_of(solution))
        assert steps, template.id
        assert solution.count("=") == len(steps), (template.id, solution)
        for left, right in steps:
            assert left == right, (template.id, solution)
        last = re.findall(r"\d+(?:\.\d+)?", solution.splitlines()[-1])
        assert str(instance.answer) in last, (template.id, solution)


def test_main_templates_take_two_to_eight_steps_and_easy_ones_at_most_two(
    drawn: dict[str, tuple[Template, list[Instance]]],
) -> None:
    for template, _ in drawn.values():
        steps = template.base.solution.count("=")
        assert (1 <= steps <= 2) if template.id.startswith("e") else (2 <= steps <= 8), (template.id, steps)


def test_easy_numbers_are_small(drawn: dict[str, tuple[Template, list[Instance]]]) -> None:
    for template, instance in every(drawn):
        if template.id.startswith("e"):
            assert instance.answer <= 150, instance.question
            assert all(int(number) <= 100 for number in re.findall(r"\d+", instance.question)), instance.question


def test_gamma_of_the_variants_is_comparable_with_gsm_symbolic(
    drawn: dict[str, tuple[Template, list[Instance]]],
) -> None:
    # 5,000 generated instances of Apple's main templates: mean 4.8, deciles 1.9 to 8.2.
    values = [gamma(i.question) for t, i in every(drawn) if not t.id.startswith("e")]
    deciles = statistics.quantiles(values, n=10)
    assert 4.3 < statistics.mean(values) < 5.3
    assert 1.5 < deciles[0] < 3
    assert 6.5 < deciles[-1] < 9


def word_runs(text: str, length: int) -> set[tuple[str, ...]]:
    words = re.findall(r"[a-z]+|\d+", text.lower())
    return {tuple(words[i : i + length]) for i in range(len(words) - length + 1)}


def test_no_eight_words_in_a_row_are_from_gsm8k_or_apples_release(
    gsm8k: Path, apple: Path, drawn: dict[str, tuple[Template, list[Instance]]]
) -> None:
    foreign = [json.loads(line)["question"] for line in gsm8k.read_text(encoding="utf-8").splitlines()]
    published = apple / "generated_data" / "GSM_p2.jsonl"
    foreign += [json.loads(line)["question"] for line in published.read_text(encoding="utf-8").splitlines()]
    foreign += [item.question for item in load_items(f"apple:{apple}@p1", variants_per_template=2)]
    known = set().union(*(word_runs(question, 8) for question in foreign))
    assert len(known) > 50_000
    for template, instances in drawn.values():
        for question in [template.base.question, *(instance.question for instance in instances[:5])]:
            assert not word_runs(question, 8) & known, (template.id, question)


def test_loading_all_of_it_is_fast() -> None:
    start = time.process_time()
    assert len(load_items()) == 5_100
    assert len(load_easy_items()) == 2_040
    assert time.process_time() - start < 2


GOOD = """topic = "x"
question = "{name} has {n} pears. How many?"
conditions = ["n > 2"]
answer = "n + 1"
solution = "{n} + 1 = {n + 1}"

[init]
name = "sample(names)"
n = "range(1, 9)"

[base]
name = "Kofi"
n = 3
"""


def test_a_template_is_read_as_written(tmp_path: Path) -> None:
    path = tmp_path / "0007.toml"
    path.write_text(GOOD, encoding="utf-8")
    template = read_template(path)
    assert (template.id, template.topic) == ("0007", "x")
    assert (template.base.question, template.base.target) == ("Kofi has 3 pears. How many?", "4")
    assert template.base.solution == "3 + 1 = 4"


@pytest.mark.parametrize(
    ("old", "new", "line", "found"),
    [
        ('topic = "x"\n', "", 1, "key 'topic' is missing"),
        ('topic = "x"', "topic = 3", 1, "'topic' is 3; a text is needed"),
        ('topic = "x"', 'topic = "x"\ntitle = "y"', 2, "unknown key 'title'"),
        ('["n > 2"]', '"n > 2"', 3, "a list of texts is needed"),
        ("n > 2", "n > m", 3, "unknown name 'm'"),
        ("n > 2", "n + 2", 3, "a truth value is needed"),
        ("n > 2", "n > 5", 11, "the base values break the condition 'n > 5'"),
        ('answer = "n + 1"', 'answer = "n +"', 4, "cannot read 'n +'"),
        ('answer = "n + 1"', 'answer = "name"', 4, "a number is needed"),
        ('answer = "n + 1"', 'answer = "int(n / 2)"', 11, "no number in a condition, the answer"),
        ("n > 2", "is_int(n / (n - 3))", 11, "no number in a condition"),
        ("n > 2", "2 ** (n / 2) > 1", 11, "power with the fractional exponent 3/2"),
        ("{n + 1}", "{n / (n - 3)}", 11, "no number in a condition, the answer or the solution"),
        ("{n + 1}", "{9 ** n ** n ** 3}", 11, "more than 4096 bits"),
        ("has {n} pears", "has {m} pears", 2, "placeholder {m} is no variable"),
        ("has {n} pears", "has {n pears", 2, "unbalanced brace"),
        ("range(1, 9)", "rnage(1, 9)", 9, "rnage"),
        ('n = "range(1, 9)"', 'n = "range(1, 9)"\nk = "range(1, 9)"', 10, "variable 'k' is never used"),
        ('n = "range(1, 9)"', '"n, name" = "sample(names, 2)"', 7, "defined twice"),
        ('name = "Kofi"', 'name = "Bob"', 11, "base value name = 'Bob' is not in 'sample(names)'"),
        ("\nn = 3", "", 11, "[base] must name each variable once; wrong: n"),
        ("[base]", "[base", 11, "not a readable TOML template"),
    ],
)  # fmt: skip
def test_a_malformed_template_is_named_with_file_and_line(
    old: str, new: str, line: int, found: str, tmp_path: Path
) -> None:
    assert old in GOOD
    path = tmp_path / "t.toml"
    path.write_text(GOOD.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UserError) as error:
        read_template(path)
    assert found in str(error.value)
    assert str(path) in str(error.value)
    assert f":{line}:" in str(error.value) or f"line {line}" in str(error.value)


def test_a_missing_template_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"gone\.toml"):
        read_template(tmp_path / "gone.toml")
