"""What a user gets wrong ends at start-up: one line that says what was wrong, what is allowed and what to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROMPT = Path(__file__).parents[2] / "prompts" / "gsm.toml"


def error_line(result: pytest.RunResult) -> str:
    """The one line of ours on standard error."""
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    lines = [line for line in result.errlines if line.strip()]
    assert len(lines) == 1, lines
    return lines[0]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--model=smolm2-135m"], "no model 'smolm2-135m': did you mean smollm2-135m"),
        (
            ["--model=nonsense"],
            "no model 'nonsense': give a name that `variantbench models` lists, a hub id (org/name)",
        ),
        (["--model=gpt-4-0613"], "model gpt-4-0613 is served by its maker only"),
        (["--model=smollm2-135m", "--prompts=nonsense"], "no prompt format 'nonsense': choose from cot_after,"),
        (["--model=smollm2-135m", "--prompts=gsm,gsm"], "--prompts names a format twice"),
        (
            ["--model=smollm2-135m", "--engine=nonsense"],
            "--engine 'nonsense' is not known: choose from openai, ray, scripted,",
        ),
        (["--model=smollm2-135m", "--device=cuda:7"], "--device 'cuda:7' is not on this machine: here are cpu"),
        (["--model=smollm2-135m", "--device=gpu"], "--device 'gpu' is no device name"),
        (["--model=smollm2-135m", "--dtype=float8"], "--dtype 'float8' is not known: choose from auto, float32"),
        (["--model=smollm2-135m", "--chat-template=yes"], "--chat-template 'yes' is not known: choose from auto"),
        (["--model=smollm2-135m", "--model=SmolLM2-135M"], "--model names a model twice"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_option_is_one_line(suite, arguments, expected):
    assert f"ERROR: {expected}" in error_line(suite(*arguments))


@pytest.mark.parametrize("option", ["--sample=0", "--max-new-tokens=none", "--temperature=-1", "--batch-size=0"])
def test_a_number_out_of_range_is_refused_by_name(suite, option):
    result = suite("--model=smollm2-135m", option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert any(option.split("=")[0] in line and "invalid" in line for line in result.errlines)


def test_a_folder_that_is_no_model(suite, tmp_path):
    assert "holds no config.json: give the folder of a saved model" in error_line(suite(f"--model={tmp_path}"))


def test_a_model_that_the_hub_does_not_give(suite, monkeypatch, tmp_path):
    pytest.importorskip("huggingface_hub", reason="needs huggingface_hub")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    line = error_line(suite("--model=gemma-2b"))
    assert "google/gemma-2b is not in the local hub cache" in line
    assert "--model=PATH" in line


def test_no_torch(suite, pytester, monkeypatch):
    # a torch that cannot be found: its name is taken out of the search path by a finder put first
    pytester.makepyfile(
        sitecustomize="""
        import importlib.util
        find = importlib.util.find_spec
        importlib.util.find_spec = lambda name, package=None: None if name == "torch" else find(name, package)
        """
    )
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    line = error_line(suite("--model=smollm2-135m"))
    assert "--engine transformers needs torch, not installed here: pip install 'variantbench[transformers]'" in line


def test_a_store_that_is_no_store(suite, script, tmp_path):
    store = tmp_path / "runs.db"
    store.write_text("this is no database\n" * 100)
    line = error_line(suite(*script(default="7"), f"--store={store}"))
    assert "cannot be opened (file is not a database): check that it is a variantbench store" in line


def test_a_store_where_nobody_may_write(suite, script, tmp_path):
    line = error_line(suite(*script(default="7"), "--store=/proc/variantbench/runs.db"))
    assert "--store '/proc/variantbench/runs.db' is no path or URL that can be opened" in line
    assert "give a file in a folder that you may write" in line


def test_a_store_url_of_an_unknown_kind(suite, script):
    line = error_line(suite(*script(default="7"), "--store=oracledb://somewhere"))
    assert "--store 'oracledb://somewhere' is no path or URL that can be opened" in line


def test_a_prompt_file_with_an_unknown_key(suite, script, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(PROMPT.read_text().replace("temperature", "temprature"))
    line = error_line(suite(*script(default="7"), f"--prompts={path}"))
    assert f"{path}: unknown key [decoding].temprature: allowed are max_new_tokens, temperature, top_p, stops" in line


def test_a_prompt_file_of_ones_own_is_a_format(suite, script, tmp_path, pytester):
    shutil.copy(PROMPT, tmp_path / "mine.toml")
    result = suite(*script(default="The final answer is 10."), f"--prompts={tmp_path / 'mine.toml'}")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*gsm *mine *base*"])


def test_items_that_cannot_be_had_are_an_error_of_collection(pytester, script):
    pytester.makepyfile(
        test_bad="""
        import pytest
        from variantbench.plugins.errors import UserError

        def none(run):
            raise UserError("no items in /nowhere: give a folder of templates")

        @pytest.mark.questions(items=none, formats=("gsm",))
        def test_bad(answer):
            assert answer.is_correct
        """
    )
    result = pytester.runpytest_subprocess(*script(default="7"))
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["no items in /nowhere: give a folder of templates"])
    assert "Traceback" not in result.stdout.str()


def test_python_versions_without_the_package_get_one_line(tmp_path):
    # the root conftest.py on its own, in an interpreter that does not know the package
    shutil.copy(Path(__file__).parents[2] / "conftest.py", tmp_path)
    (tmp_path / "test_any.py").write_text("def test_any(): pass\n")
    blocker = tmp_path / "block.py"
    blocker.write_text(
        "import sys, pytest\n"
        "class Block:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] == 'variantbench':\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Block())\n"
        "sys.exit(pytest.main(['-p', 'no:variantbench', '-q', sys.argv[1]]))\n"
    )
    done = subprocess.run(
        [sys.executable, str(blocker), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    assert done.returncode == 4
    assert "variantbench is not installed here: pip install -e '.[transformers]'" in done.stdout + done.stderr
