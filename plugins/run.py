"""From the options to what a run needs: models on disk with their identity, device, dtype, engine. No torch here."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from variantbench.plugins.cases import check_prompts
from variantbench.plugins.datatypes import text_hash
from variantbench.plugins.errors import UserError
from variantbench.plugins.generation.model_task import ModelTask
from variantbench.plugins.models.device import resolve_device, resolve_dtype
from variantbench.plugins.models.embedded import get_embedded, get_gguf
from variantbench.plugins.models.engines import (
    EngineSettings,
    answered_by,
    distributes,
    engine_version,
    find_engine,
    is_served,
)
from variantbench.plugins.models.fingerprint import fingerprint
from variantbench.plugins.models.hub import snapshot
from variantbench.plugins.models.registry import ModelSpec, registry, resolve_model
from variantbench.plugins.options import RunConfig

Say = Callable[[str], None]

_SECRET = re.compile("token$|password|secret|api_?key", re.IGNORECASE)
# Prompts generated together where --batch-size does not say.
_BATCH_ON_CPU, _BATCH_ON_GPU = 32, 128


def check(run: RunConfig) -> tuple[RunConfig, list[ModelSpec]]:
    """Everything that can be checked without loading or downloading; the run with its models' short names."""
    find_engine(run.engine)
    check_prompts(run)
    _check_engine_options(run)
    if is_served(run.engine):
        if not run.base_url:
            raise UserError(f"--engine {run.engine} needs --base-url, such as http://127.0.0.1:8000/v1")
        specs = [_served_spec(name) for name in run.models]
    elif run.base_url:
        raise UserError(f"--base-url {run.base_url} does not go with --engine {run.engine}: take --engine openai")
    else:
        specs = [resolve_model(name) for name in run.models]
    names = [spec.name for spec in specs]
    if len(set(names)) < len(names):
        raise UserError(
            f"--model names a model twice: {', '.join(names)}; give each once (folders need different names)"
        )
    if distributes(run.engine):  # what takes longest first: the others fill what is left of the night
        specs.sort(key=lambda spec: -(spec.parameters or 0))
        names = [spec.name for spec in specs]
    device = resolve_device(run.device, elsewhere=distributes(run.engine))
    return replace(run, models=tuple(names), device=device), specs


def _check_engine_options(run: RunConfig) -> None:
    if "@" in run.base_url or "?" in run.base_url:  # not shown: it may be a secret
        raise UserError(
            "--base-url holds a user, a password or a query, which would be kept with the run: give the key "
            "in the environment (VARIANTBENCH_API_KEY) and the bare URL"
        )
    if run.engine_args and run.engine not in ("vllm", "ray"):
        raise UserError(f"--engine-arg goes with --engine vllm and ray, not with {run.engine}")
    answered_by(run.engine, engine_arguments(run.engine_args))
    if run.ray_address and run.engine != "ray":
        raise UserError(f"--ray-address {run.ray_address} does not go with --engine {run.engine}: take --engine ray")


def prepare(run: RunConfig, specs: list[ModelSpec], *, say: Say) -> list[ModelTask]:
    """The models of a checked run, on disk and identified; downloads and converts what is not there yet."""
    return [_task(run, spec, say=say) for spec in specs]


def is_chat_model(spec: ModelSpec, folder: Path) -> bool:
    """Whether the model has a chat template: as the registry says, else as its files show."""
    if spec.chat is not None:
        return spec.chat
    if any((folder / name).is_file() for name in ("chat_template.jinja", "chat_template.json")):
        return True
    try:
        return bool(json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8")).get("chat_template"))
    except (OSError, ValueError):
        return False


def model_dtype(spec: ModelSpec, folder: Path) -> str:
    """The number type that the model was saved in: as the registry says, else as its configuration does."""
    if spec.dtype != "auto":
        return spec.dtype
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "auto"
    return str(config.get("dtype") or config.get("torch_dtype") or "auto")


def _served_spec(name: str) -> ModelSpec:
    """A model by the name that its server has for it, with what the registry knows of one so called."""
    short = name.rsplit("/", 1)[-1]
    known = registry().get(short.lower(), ModelSpec(name=short))
    return replace(known, name=short, path=name, embedded="")


def _served_task(run: RunConfig, spec: ModelSpec) -> ModelTask:
    engine = find_engine(run.engine)
    said = engine.identify(run.base_url, spec.path)
    chat = run.chat_template == "model" if spec.chat is None else spec.chat
    sampling = engine.settle(run.base_url, spec.path, chat=chat)
    settings = EngineSettings(
        engine=run.engine,
        model=spec.name,
        source=spec.path,
        device="server",
        dtype="server",
        batch_size=run.batch_size or _BATCH_ON_CPU,
        base_url=run.base_url,
        max_requests=run.max_requests,
        arguments=sampling,
    )
    return ModelTask(
        name=spec.name,
        identity=text_hash(json.dumps([run.base_url, said], sort_keys=True)),
        details={
            **spec.as_dict(),
            "served": said,
            "base_url": run.base_url,
            "sampling": sampling,
            "chat": chat,
        },
        settings=settings,
        key_settings={
            "engine": engine_version(run.engine),
            "device": "server",
            "dtype": "server",
            "arguments": sampling,
        },
    )


def _task(run: RunConfig, spec: ModelSpec, *, say: Say) -> ModelTask:
    if is_served(run.engine):
        return _served_task(run, spec)
    arguments = engine_arguments(run.engine_args)
    writer, own_arguments = answered_by(run.engine, arguments)
    folder = model_folder(spec, writer, say=say)
    identity = fingerprint(folder)
    chat = is_chat_model(spec, folder)
    if run.chat_template == "model" and not chat:
        raise UserError(f"--chat-template model: {spec.name} has no chat template: use auto or none")
    dtype = resolve_dtype(run.dtype, device=run.device, model_dtype=model_dtype(spec, folder))
    on_cpu = run.device == "cpu"
    settings = EngineSettings(
        engine=run.engine,
        model=spec.name,
        source=str(folder),
        device=run.device,
        dtype=dtype,
        batch_size=run.batch_size or (_BATCH_ON_CPU if on_cpu else _BATCH_ON_GPU),
        context=spec.context,
        trust_remote_code=spec.trust_remote_code,
        ray_address=run.ray_address,
        arguments=arguments,
    )
    return ModelTask(
        name=spec.name,
        identity=identity,
        details={
            **spec.as_dict(),
            # the hub's cache names its folders by the revision that was resolved
            "revision": folder.name if folder.parent.name == "snapshots" else spec.revision,
            "folder": str(folder),
            "chat": chat,
        },
        settings=settings,
        key_settings={
            "engine": engine_version(writer),  # who distributes changes no answer
            "device": run.device.split(":")[0],
            "dtype": dtype,
            "context": spec.context,
            **({"arguments": dict(own_arguments)} if own_arguments else {}),
        },
    )


def engine_arguments(texts: Sequence[str]) -> dict[str, Any]:
    """What ``--engine-arg NAME=VALUE`` gives an engine: values as JSON has them, else as text."""
    arguments: dict[str, Any] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name.isidentifier():
            raise UserError(f"--engine-arg {text!r}: write NAME=VALUE, as in tensor_parallel_size=4")
        if _SECRET.search(name):
            raise UserError(
                f"--engine-arg {name}=... would be kept with the run: give secrets in the environment (HF_TOKEN)"
            )
        try:
            arguments[name] = json.loads(value)
        except (ValueError, RecursionError):
            arguments[name] = value
    return arguments


def model_folder(spec: ModelSpec, engine: str, *, say: Say) -> Path:
    """Where the model's files lie on this machine."""
    if spec.access == "api":
        raise UserError(f"model {spec.name} is served by its maker only: --engine {engine} cannot run it")
    if spec.embedded:
        return get_embedded(spec.embedded, say=say)
    if spec.hub:
        return snapshot(spec, say=say)
    path = Path(spec.path)
    if path.suffix == ".gguf" and engine == "transformers":
        return get_gguf(path, say=say)
    if path.is_dir() and not (path / "config.json").is_file():
        raise UserError(f"--model={path} holds no config.json: give the folder of a saved model, or a .gguf file")
    return path
