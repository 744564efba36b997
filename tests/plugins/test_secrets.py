"""What must not be kept, reported or loaded: secrets, telemetry, pickled weights, a model's own code."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys

import pytest
from click.testing import CliRunner

from tests.conftest import ROOT
from variantbench.plugins import manifest, store, telemetry
from variantbench.plugins.cli import variantbench
from variantbench.plugins.errors import UserError
from variantbench.plugins.models.engines import EngineSettings
from variantbench.plugins.models.registry import ModelSpec, registry
from variantbench.plugins.options import RunConfig
from variantbench.plugins.run import check, engine_arguments
from variantbench.plugins.store.store import shown_url

SECRET = "hunter2secret"  # noqa: S105 - the one that must not be seen
URLS = (
    f"postgresql+psycopg://me:{SECRET}@host/db",
    f"postgresql+psycopg://me:a/b@{SECRET}@host/db",
    f"postgresql+psycopg://host/db?user=me&password={SECRET}",
    f"postgresql+psycopg://host/db?sslpassword={SECRET}&x=1",
    f"postgresql://me:{SECRET}@[::1/db",
)


@pytest.mark.parametrize("url", URLS)
def test_a_stores_password_is_shown_nowhere(url, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["pytest", f"--store={url}", "--store", url])
    assert SECRET not in shown_url(url)
    assert SECRET not in " ".join(manifest.command_line())


@pytest.mark.parametrize(
    "command",
    [["store", "migrate"], ["simulate", "--models=1", "--templates=2", "--variants-per-template=1"]],
    ids=["migrate", "simulate"],
)
def test_commands_show_no_password(command, tmp_path, monkeypatch):
    opened = store.open_store(str(tmp_path / "runs.db"))
    monkeypatch.setattr(store, "open_store", lambda *_, **__: opened)
    result = CliRunner().invoke(variantbench, [*command, f"--store={URLS[0]}"])
    assert result.exit_code == 0, result.output
    assert SECRET not in result.output
    assert "postgresql+psycopg://me:***@host/db" in result.output


@pytest.mark.parametrize(
    "url", [f"https://me:{SECRET}@host/v1", f"https://{SECRET}@host", f"https://host/v1?key={SECRET}"]
)
def test_a_secret_in_the_servers_address_is_refused_and_not_shown(url):
    with pytest.raises(UserError, match="VARIANTBENCH_API_KEY") as caught:
        check(RunConfig(models=("m",), engine="openai", base_url=url))
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("name", ["hf_token", "api_key", "db_password"])
def test_a_secret_for_an_engine_is_refused_and_not_shown(name):
    with pytest.raises(UserError, match="would be kept with the run") as caught:
        engine_arguments([f"{name}={SECRET}"])
    assert SECRET not in str(caught.value)
    assert engine_arguments(["max_num_batched_tokens=8"]) == {"max_num_batched_tokens": 8}


def test_keys_of_the_environment_are_not_in_store_report_or_output(suite, script, pytester, monkeypatch):
    for name in ("VARIANTBENCH_API_KEY", "OPENAI_API_KEY", "HF_TOKEN", "PGPASSWORD"):
        monkeypatch.setenv(name, SECRET)
    result = suite(*script(default="The final answer is 10."), html=True)
    assert result.ret == 0
    kept = [path for path in (pytester.path / ".variantbench").rglob("*") if path.is_file()]
    assert kept
    assert not [path for path in kept if SECRET.encode() in path.read_bytes()]
    assert SECRET not in result.stdout.str() + result.stderr.str()
    with sqlite3.connect(pytester.path / ".variantbench" / "runs.db") as connection:
        assert SECRET not in "".join(connection.iterdump())


def test_telemetry_is_switched_off_in_the_process_that_loads_libraries():
    code = (
        "import os, sys; from variantbench.plugins import telemetry\n"
        "from variantbench.plugins.generation import engine_process\n"
        "sys.stdin = open(os.devnull); engine_process._read = lambda lines: lines.put('{}');\n"
        "try: engine_process.main()\nexcept TypeError: pass\n"
        "print(all(os.environ[name] == value for name, value in telemetry.SWITCHES.items()), file=sys.stderr)"
    )
    clean = {name: value for name, value in os.environ.items() if name not in telemetry.SWITCHES}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=clean)
    assert done.stderr.strip().endswith("True"), done.stderr


def test_what_the_user_has_set_stays(monkeypatch):
    monkeypatch.setenv("DO_NOT_TRACK", "0")
    telemetry.switch_off()
    assert os.environ["DO_NOT_TRACK"] == "0"


def test_a_models_own_code_is_off_unless_its_entry_says_so():
    assert not ModelSpec("any").trust_remote_code
    assert not EngineSettings("transformers", "m", "m", "cpu", "float32", 1).trust_remote_code
    assert [spec.name for spec in registry().values() if spec.trust_remote_code] == TRUSTED


# Entries whose makers' code has to run (nobody here has reviewed it); a new one must be put here, too.
TRUSTED = ["phi-3-small-128k-instruct"]


def test_the_lock_has_a_hash_for_everything_and_the_versions_of_the_constraints():
    entries = re.split(r"\n(?=[a-z0-9])", (ROOT / "requirements.lock").read_text())[1:]
    locked = {re.match(r"([\w.-]+?)(?:\[.*?\])?==([^\s;]+)", entry): "--hash=sha256:" in entry for entry in entries}
    assert all(locked.values())
    versions = {match[1].replace("_", "-"): match[2] for match in locked if match}
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        name, pinned, version = line.partition("==")
        if pinned and (found := versions.get(name.replace("_", "-").lower())):
            assert found == version, f"{name}: make requirements.lock anew, as its first lines say"
    assert versions["pytest"]
