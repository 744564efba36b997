from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from variantbench.benchmarks.gsm.gamma import covariates, gamma, gamma_code
from variantbench.plugins.integers import integers


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("at 7:13 and 3:30 pm", ["7", "13", "3", "30"]),
        ("400 000 ants and 12 345 678 bees", ["400000", "12345678"]),
        ("room 12 3456", ["12", "3456"]),
        ("1,234 or 12,345,678", ["1234", "12345678"]),
        ("1,23 and 1,2345", ["1", "23", "1", "2345"]),
        ("pages 3,4,5", ["3", "4", "5"]),
        ("5% of $3, #7", ["5", "3", "7"]),
        ("in 2021, the 1st and 22nd", ["2021", "1", "22"]),
        ("1/2 of 8, 2 1/2 cups, 7/4/2021", ["8"]),
        ("$2.50, .75, 1,234.50 and 1.000.000", []),
        ("$5.00 and 2,500.00", ["5", "2500"]),
        ("costs 5. Then 6.", ["5", "6"]),
        ("-12 to 30, 10-20", ["12", "30", "10", "20"]),
        ("a 6-foot board, COVID-19, 3x", ["6", "19", "3"]),
        ("three dogs, ½ a cake", []),
    ],
)
def test_integers_that_count(text: str, counted: list[str]) -> None:
    assert integers(text) == counted


def test_gamma_is_the_sum_of_logarithms_with_zero_as_one() -> None:
    assert gamma("0 apples, 10 pears and 1,000 figs") == pytest.approx(4)
    assert gamma("no digits at all") == 0.0


def test_both_readings_agree_with_the_reference_cases(gamma_cases: Path) -> None:
    cases = json.loads(gamma_cases.read_text(encoding="utf-8"))["cases"]
    assert len(cases) > 30
    for case in cases:
        assert gamma(case["text"]) == pytest.approx(case["strict"], abs=1e-9), case["text"][:60]
        expected = case["seed"] if case["seed"] is None else pytest.approx(case["seed"], abs=1e-9)
        assert gamma_code(case["text"]) == expected, case["text"][:60]


def test_the_rule_of_the_code_is_left_out_where_it_has_no_value() -> None:
    assert covariates("three dogs") == {"gamma": 0.0}
    assert covariates("1/2 of 8") == {
        "gamma": pytest.approx(math.log10(8)),
        "gamma_code": pytest.approx(math.log10(16)),
    }


@given(st.text())
def test_gamma_is_a_finite_number_for_any_text(text: str) -> None:
    assert math.isfinite(gamma(text))
    code = gamma_code(text)
    assert code is None or math.isfinite(code)


@pytest.mark.parametrize("digits", [299, 301, 400, 5000])
def test_very_long_integers_neither_overflow_nor_vanish(digits: int) -> None:
    assert gamma("9" * digits) == pytest.approx(digits)
