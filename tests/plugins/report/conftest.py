"""A store with what reports and viewer have to cope with: studies, a later checkpoint, and answers of an enemy."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from variantbench.benchmarks.gsm import load_items
from variantbench.benchmarks.logic import load_items as load_logic_items
from variantbench.plugins.datatypes import (
    Completion,
    Decoding,
    Execution,
    ExecutionClass,
    Extraction,
    ExtractionStatus,
    FinishReason,
    Grade,
    Item,
    Prompt,
    Record,
    Verdict,
)
from variantbench.plugins.published import LogicRow, VariantRow
from variantbench.plugins.simulate import simulate, synthetic_rows
from variantbench.plugins.store import open_store
from variantbench.plugins.store.rows import record_rows

# Each must be seen as text: never run, never hidden, never turning its surroundings round.
HOSTILE = {
    "script": "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">",
    "closing": "</pre></td></table></script><!-- {{ 7*7 }} ${7*7} <svg onload=document.title='owned'>",
    "rtl": "\u202eevil si siht\u202c العربية עברית",
    "null": "a null\x00 and \x1b[31m red \ud800 alone",
    "long": "x" * 1_000_000,
    "markdown": "| [click](javascript:alert(1)) `code` *bold* \\ # head\n\n---",
    "latex": "\\input{/etc/passwd} $x_1$ 50% & {braces} ~ ^",
}


@dataclass(frozen=True, slots=True)
class Stored:
    """The store's path, and its runs."""

    path: str
    study: str
    before: str
    after: str
    hostile: str


@pytest.fixture(scope="session")
def hostile_texts() -> dict[str, str]:
    """What the model of the hostile run has answered, by kind."""
    return HOSTILE


@pytest.fixture(scope="session")
def stored(tmp_path_factory) -> Stored:
    """Written once a session; tests only read it."""
    path = str(tmp_path_factory.mktemp("reports") / "runs.db")
    gsm, logic = load_items(sample=24, variants_per_template=8), load_logic_items()
    styles = [
        LogicRow(model, style, batch, share)
        for model, shares in (("model-01", (0.6, 0.55, 0.7, 0.5)), ("model-02", (0.45, 0.5, 0.55, 0.6)))
        for style in ("zero_shot",)
        for batch, share in zip(("Q1", "Q2", "Q3", "Q4"), shares, strict=True)
    ]
    with open_store(path) as store:
        before = simulate(store, [VariantRow("step-1000", "gsm", 0.7, 0.6, -0.6)], gsm=gsm, seed=1)
        after = simulate(store, [VariantRow("step-2000", "gsm", 0.6, 0.5, -0.6)], gsm=gsm, seed=2)
        study = simulate(store, [*synthetic_rows(2, seed=3), *styles], gsm=gsm, logic=logic, seed=3)
        hostile = _hostile_run(store)
    return Stored(path, study, before, after, hostile)


@pytest.fixture(scope="module")
def address(stored):
    """The address that `variantbench view` prints."""
    command = [sys.executable, "-m", "variantbench.plugins.cli", "view", "--store", stored.path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as serving:
        yield serving.stdout.readline().split()[0]
        serving.terminate()


def _hostile_run(store) -> str:
    run = "99990101-000000-evil"
    name = "org/<b>model</b>"
    store.add_model("evil", name, {})
    store.start_run(run, {"models": [{"name": name, "identity": "evil"}], "command": ["pytest", "<script>"]})
    records = []
    for number, (kind, text) in enumerate(HOSTILE.items()):
        for variant in (0, 1):
            item = Item(f"{kind}-{variant}", "gsm", kind, f"How many? {HOSTILE['script']}", "12", variant)
            prompt = Prompt(item.id, "gsm", "<i>shots</i>", item.question, Decoding(16))
            done = Completion(text, FinishReason.LENGTH if variant else FinishReason.END, 3, 5, "scripted")
            key = f"evil-{kind}-{variant}"
            store.add_texts([prompt.prefix])
            store.add_completions([(key, prompt, done)], model_identity="evil", settings={"engine": "<u>"})
            verdict = Verdict.CORRECT if variant == 0 else Verdict.INCORRECT
            read = Grade(
                verdict,
                Extraction(list(ExtractionStatus)[number], text[:100], "<em>method</em>"),
                f"because {text[:50]}",
            )
            record = Record(f"case[{kind}&{variant}]", name, item, prompt, done, read, read, "2", key)
            ending = Execution(ExecutionClass.OK, "12", f"printed {text[:200]}", 0.1, "docker <s>")
            records.append(replace(record, execution=ending))
    store.add_records(run, [record_rows(each) for each in records])
    store.finish_run(run, "complete", {"models": [{"name": name, "identity": "evil"}]})
    return run


CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def browser(needs):
    """Debian's Chromium."""
    needs(CHROMIUM.is_file(), f"no Chromium at {CHROMIUM}: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=str(CHROMIUM), args=list(FLAGS))
        yield chromium
        chromium.close()
