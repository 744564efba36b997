"""Looking at a single prompt: its exact text, and the tokens a model reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from variantbench.plugins.cases import uses_chat_template
from variantbench.plugins.datatypes import Item, Prompt
from variantbench.plugins.errors import UserError
from variantbench.plugins.models.engines import find_engine
from variantbench.plugins.models.registry import resolve_model
from variantbench.plugins.models.tokens import token_ids
from variantbench.plugins.options import RunConfig
from variantbench.plugins.run import is_chat_model, model_folder
from variantbench.prompts.format import AnswerKind, load_format, shots_from_items


def run_lines(run: Mapping[str, Any]) -> Iterator[str]:
    """How a stored run came about: what was asked for, of which models, on what machine, and what the gate said."""
    manifest = run["manifest"]
    hardware, git = manifest.get("hardware", {}), manifest.get("git", {})
    yield f"run {run['id']}: {run['status']}, {run['records']:,} answers"
    yield f"started   {run['started']}, finished {run['finished'] or 'never'}"
    if "command" in manifest:  # no run that was imported or simulated has one, nor what stands below
        yield f"command   {' '.join(manifest['command'])}"
    for file in manifest.get("imported", {}).get("files", ()):
        written_by = f"{file['tool']} {file['version']}".strip()
        yield f"imported  {file['answers']:,} answers of {file['name']} ({written_by}), sha256 {file['sha256'][:12]}"
    for model in manifest["models"]:
        settings = model.get("settings", {})
        how = " ".join(str(settings[name]) for name in ("engine", "device", "dtype") if name in settings)
        yield f"model     {model['name']} {model.get('identity', '')[:12]} {how}".rstrip()
    if hardware:
        yield f"machine   {hardware.get('processor', '')} x {hardware.get('cpus', '?')}"
    if "versions" in manifest:
        yield "versions  " + ", ".join(f"{name} {value}" for name, value in manifest["versions"].items())
    if git:
        yield f"git       {git['commit'][:12]} ({git['state']})"
    if manifest.get("gate", {}).get("baseline"):
        yield f"gate      {manifest['gate']['outcome']} against {manifest['gate']['baseline']}"


def prompt_of(format_name: str, item_id: str, *, model: str | None, say: Callable[[str], None]) -> Prompt:
    """The prompt of a built-in item in a format, as the suite would ask `model`.

    Where only its files show whether it has a chat template, they are brought to disk, and `say` hears of it.
    """
    form = load_format(format_name)
    item, shots = _item(item_id, logic=form.kind is AnswerKind.YESNO)
    chat = False
    if model is not None:
        spec = resolve_model(model)
        known_chat = (
            spec.chat if spec.chat is not None else is_chat_model(spec, model_folder(spec, "transformers", say=say))
        )
        chat = uses_chat_template(form, RunConfig(), is_chat_model=known_chat)
    return form.render(item, shots=shots_from_items(shots if form.item_shots else ()), chat=chat)


def token_lines(prompt: Prompt, model: str, *, say: Callable[[str], None]) -> Iterator[str]:
    """The token ids of a prompt with their texts, BOS marked.

    Of the model only its tokenizer is loaded; what is not on disk yet is downloaded whole, and `say` hears of it.
    """
    find_engine("transformers")  # says what to install if it is not there
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model_folder(resolve_model(model), "transformers", say=say))
    ids = token_ids(tokenizer, prompt)
    yield f"{len(ids)} tokens" + (", behind the chat template" if prompt.chat else "")
    for place, token in enumerate(ids):
        mark = "  <- BOS" if token == tokenizer.bos_token_id else ""
        yield f"{place:>5} {token:>7} {tokenizer.convert_ids_to_tokens(token)!r}{mark}"


def _item(item_id: str, *, logic: bool) -> tuple[Item, tuple[Item, ...]]:
    """The built-in item of that id, and the solved items of its batch."""
    from variantbench.benchmarks import gsm
    from variantbench.benchmarks import logic as logic_items

    items = logic_items.load_items() if logic else (*gsm.load_items(), *gsm.load_easy_items())
    found = next((item for item in items if item.id == item_id), None)
    if found is None:
        kind = "logic" if logic else "GSM"
        raise UserError(f"no {kind} item {item_id!r}: ids are like {items[0].id} and {items[-1].id}")
    return found, logic_items.few_shot_items(batch=found.batch) if logic and found.batch else ()
