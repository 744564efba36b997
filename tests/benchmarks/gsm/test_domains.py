from __future__ import annotations

from fractions import Fraction

import pytest

from variantbench.benchmarks.gsm import wordlists
from variantbench.benchmarks.gsm.domains import Domain, Mode, read_draw
from variantbench.benchmarks.gsm.expressions import ExpressionError


def domain_of(source: str) -> Domain:
    return read_draw(["x"], source).domain


def elements(source: str) -> list[tuple[str, object]]:
    domain = domain_of(source)
    numbers = domain.numbers if domain.numbers is not None else [None] * len(domain)
    return [(domain.text(i), numbers[i]) for i in range(len(domain))]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("range(3, 6)", [("3", 3), ("4", 4), ("5", 5)]),
        ("range(2, 9, 3)", [("2", 2), ("5", 5), ("8", 8)]),
        ("list(range(3, 5)) * 2", [("3", 3), ("4", 4)]),
        ("numbers_within(19, 21)", [("nineteen", 19), ("twenty", 20), ("twenty one", 21)]),
        ("np.arange(8.25, 9, .25)", [("8.25", Fraction(33, 4)), ("8.5", Fraction(17, 2)), ("8.75", Fraction(35, 4))]),
        ("fix_floats(shuffle_list(list(np.arange(0.1, 0.31, 0.1))))", [(f"0.{i}", Fraction(i, 10)) for i in (1, 2, 3)]),
        ("frange(13, 15, 1)", [("13.0", 13), ("14.0", 14)]),
        ("prices(2, 3.1, 0.5)", [("2", 2), ("2.50", Fraction(5, 2)), ("3", 3)]),
        ("[0.25, 0.30]", [("0.25", Fraction(1, 4)), ("0.3", Fraction(3, 10))]),
        ("sample([('four-sided', 4), (\"d4\", 4)] * 3)", [("four-sided", 4), ("d4", 4)]),
        ("sample([(20, 20), (50, 50)])", [("20", 20), ("50", 50)]),
        ("sample(['a', 'b', 'a'])", [("a", None), ("b", None)]),
        ("fraction_nums[:2]", [("1/2", Fraction(1, 2)), ("1/3", Fraction(1, 3))]),
        ("sample(multiple_ice + multiple)", [*wordlists.TWICE, *wordlists.MULTIPLES]),
        ("np.random.randint(5, 8, 50)", [("5", 5), ("6", 6), ("7", 7)]),
    ],
)  # fmt: skip
def test_domains_hold_exactly_these_elements(source: str, expected: list[tuple[str, object]]) -> None:
    assert elements(source) == expected


def test_several_names_are_different_or_consecutive_elements() -> None:
    assert read_draw(["a", "b"], "sample(names, 2)").mode is Mode.DISTINCT
    assert read_draw(["a", "b"], "sample_sequential(weekdays, 2)").mode is Mode.SEQUENTIAL
    assert read_draw(["a"], "sample(names)").mode is Mode.SINGLE


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("sample(nmaes)", "unknown list 'nmaes'"),
        ("range(5, 5)", "empty domain"),
        ("range(0, 10**9)", "not a plain number"),
        ("range(0, 1000000000)", "at most 100000"),
        ("np.arange(0, 1, 0.000000001)", "at most 100000"),
        ("np.arange(0, 1, -1)", "step above 0"),
        ("range(1, 9, 0)", "step at least 1"),
        ("range(1.5, 9)", "whole numbers"),
        ("os.system('x')", "os.system"),
        ("[1, 'a']", "literal"),
        ("['a'] + [1]", "cannot be joined"),
        ("numbers_within(5, 20000)", "0 <= first <= last"),
        ("sample(names, 2)", "1 names (x) for 2"),
        ("lambda: 1", "not understood"),
    ],
)
def test_malformed_domains_are_named(source: str, found: str) -> None:
    with pytest.raises(ExpressionError) as error:
        domain_of(source)
    assert found in str(error.value)


def test_more_elements_than_the_list_holds_are_refused() -> None:
    with pytest.raises(ExpressionError, match="3 different elements wanted of 2"):
        read_draw(["a", "b", "c"], "sample(['x', 'y'], 3)")


def test_a_value_variable_needs_numbers() -> None:
    with pytest.raises(ExpressionError, match="domain of words"):
        read_draw(["x"], "sample(names)", value=True)


def test_names_of_the_two_genders_are_apart_and_none_repeats() -> None:
    assert not set(wordlists.NAMES_FEMALE) & set(wordlists.NAMES_MALE)
    for name, entries in wordlists.TEXT_LISTS.items():
        assert len(set(entries)) == len(entries), name


def test_number_words_say_their_number() -> None:
    for name, pairs in wordlists.NUMBER_LISTS.items():
        for text, number in pairs:
            if text[0].isdigit():
                assert Fraction(text) == number, name
    words = [wordlists.english(n) for n in range(10_000)]
    assert len(set(words)) == len(words)
    assert [words[n] for n in (0, 13, 40, 105, 1999)] == [
        "zero",
        "thirteen",
        "forty",
        "one hundred five",
        "one thousand nine hundred ninety nine",
    ]
    assert dict(wordlists.FRACTION_WORDS)["three-fourths"] == Fraction(3, 4)
