"""All options, turned into one frozen RunConfig. Nonsense ends here, before anything heavy loads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import pytest

from variantbench.plugins.errors import UserError
from variantbench.plugins.sandbox.choose import SandboxTask, check_choice
from variantbench.plugins.shards import parse_shard

CHAT_TEMPLATES = ("auto", "none", "model")
DTYPES = ("auto", "float32", "bfloat16", "float16", "int8", "int4")
FAIL_ON = ("invalid", "wrong")
DEFAULT_STORE = ".variantbench/runs.db"


@dataclass(frozen=True, slots=True)
class RunConfig:
    """What the user asked for. `models` empty means that no case runs; None means that the format's default stands."""

    models: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    engine: str = "transformers"
    base_url: str = ""
    max_requests: int | None = None
    ray_address: str = ""
    engine_args: tuple[str, ...] = ()
    device: str = "auto"
    dtype: str = "auto"
    batch_size: int | None = None
    max_new_tokens: int | None = None
    temperature: float | None = None
    chat_template: str = "auto"
    seed: int = 0
    sample: int | None = None
    shard: str = ""
    gsm_source: str = "builtin"
    variants_per_template: int = 50
    logic_source: str = "builtin"
    logic_seed: int | None = None
    logic_repeats: int = 3
    store: str = DEFAULT_STORE
    fresh: bool = False
    fail_on: str = "invalid"
    baseline: str | None = None
    tolerance: float = 0.01
    margin: float | None = None
    alpha: float = 0.05
    allow_overlap: bool = False
    stop_early: bool = False
    limits: tuple[str, ...] = ()
    preflight: bool = False
    html_report: bool = True
    sandbox: str = "auto"
    sandbox_runtime: str = ""
    sandbox_image: str = ""

    @property
    def sandbox_task(self) -> SandboxTask:
        """The sandbox asked for."""
        return SandboxTask(self.sandbox, self.sandbox_runtime, self.sandbox_image)

    @property
    def shard_place(self) -> tuple[int, int] | None:
        """Which of how many shards; None if the run is not one of several."""
        return parse_shard(self.shard)

    def as_dict(self) -> dict[str, Any]:
        """The options as plain values, for the run's manifest."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> RunConfig:
        """The options that `as_dict` gave, also after a way through JSON."""
        restored: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
        }
        return cls(**restored)


def add_options(parser: pytest.Parser) -> None:
    """Declare the command-line options, in three short groups."""
    add = parser.getgroup("variantbench: the model").addoption
    add("--model", action="append", default=[], metavar="NAME", dest="vb_models",
        help="name from `variantbench models`, hub id, or path; repeatable. Write paths as --model=PATH.")  # fmt: skip
    add("--engine", default="transformers", metavar="NAME", dest="vb_engine",
        help="what generates: transformers, vllm, openai or ray")  # fmt: skip
    add("--engine-arg", action="append", default=[], metavar="NAME=VALUE", dest="vb_engine_args",
        help="to vLLM, such as tensor_parallel_size=4; to ray: engine=vllm, replicas=4; repeatable")  # fmt: skip
    add("--ray-address", default="", metavar="ADDRESS", dest="vb_ray_address",
        help="of the cluster for --engine ray: auto, or host:port (default: this machine alone)")  # fmt: skip
    add("--base-url", default="", metavar="URL", dest="vb_base_url", help="of the server, for --engine openai")
    add("--max-requests", default=None, type=_at_least(1), metavar="N", dest="vb_max_requests",
        help="stop after N requests to the server; the same command goes on")  # fmt: skip
    add("--device", default="auto", metavar="DEVICE", dest="vb_device", help="auto, cpu, cuda, cuda:N or mps")
    add("--dtype", default="auto", metavar="TYPE", dest="vb_dtype", help=f"{', '.join(DTYPES)}; auto is float32 on CPU")
    add("--batch-size", default=None, type=_at_least(1), metavar="N", dest="vb_batch_size", help="prompts at once")
    add("--max-new-tokens", default=None, type=_at_least(1), metavar="N", dest="vb_max_new_tokens",
        help="length limit of an answer (default: the format's own)")  # fmt: skip
    add("--temperature", default=None, type=_temperature, metavar="T", dest="vb_temperature",
        help="0 is greedy (default: the format's own)")  # fmt: skip
    add("--chat-template", default="auto", metavar="MODE", dest="vb_chat_template",
        help="auto (as the format says), none, or model")  # fmt: skip

    add = parser.getgroup("variantbench: the questions").addoption
    add("--prompts", action="append", default=[], metavar="A,B", dest="vb_prompts",
        help="prompt formats (default: all of each benchmark); A-nospace drops the trailing blanks")  # fmt: skip
    add("--seed", default=0, type=_at_least(0), metavar="S", dest="vb_seed", help="seed of variants and samples")
    add("--sample", default=None, type=_at_least(1), metavar="N", dest="vb_sample",
        help="draw N whole templates (logic: N questions of each batch)")  # fmt: skip
    add("--shard", default="", metavar="I/N", dest="vb_shard",
        help="ask the I-th of N parts: whole templates, whole premise sets; all reported together")  # fmt: skip
    add("--gsm-source", default="builtin", metavar="SOURCE", dest="vb_gsm_source",
        help="builtin, apple:PATH, hub, or jsonl:PATH")  # fmt: skip
    add("--variants-per-template", default=50, type=_at_least(0), metavar="N", dest="vb_variants_per_template",
        help="variants of each template besides its base question (50)")  # fmt: skip
    add("--logic-source", default="builtin", metavar="SOURCE", dest="vb_logic_source", help="builtin or raganato:PATH")
    add(
        "--logic-seed",
        default=None,
        type=_at_least(0),
        metavar="S",
        dest="vb_logic_seed",
        help="draw a fresh logic set",
    )
    add("--logic-repeats", default=3, type=_at_least(1), metavar="N", dest="vb_logic_repeats",
        help="answers sampled per logic question, with seeds 1..N (3)")  # fmt: skip

    add(
        "--preflight",
        action="store_true",
        default=False,
        dest="vb_preflight",
        help="only check that right answers would be graded as right; no model is needed",
    )

    add = parser.getgroup("variantbench: answers that are code").addoption
    add("--sandbox", default="auto", metavar="NAME", dest="vb_sandbox",
        help="where programs run: auto (the first that works), docker, bubblewrap, or off (not executed)")  # fmt: skip
    add("--sandbox-runtime", default="", metavar="NAME", dest="vb_sandbox_runtime",
        help="a runtime of Docker's, such as runsc (gVisor)")  # fmt: skip

    add("--sandbox-image", default="", metavar="NAME", dest="vb_sandbox_image",
        help="an image of your own for the boxes (default: made of this machine's Python)")  # fmt: skip

    add = parser.getgroup("variantbench: the results").addoption
    add("--store", default=DEFAULT_STORE, metavar="URL", dest="vb_store", help=f"file or URL ({DEFAULT_STORE})")
    add(
        "--fresh",
        action="store_true",
        default=False,
        dest="vb_fresh",
        help="generate again what the store already holds",
    )
    add("--no-html-report", action="store_false", default=True, dest="vb_html_report",
        help="do not draw the run's HTML report beside the store (needs the extra `report`)")  # fmt: skip
    add("--fail-on", default="invalid", metavar="WHAT", dest="vb_fail_on",
        help="invalid (default: wrong answers are measurements) or wrong (pytest's usual status)")  # fmt: skip

    add = parser.getgroup("variantbench: is it worse than a baseline?").addoption
    add("--baseline", default=None, metavar="RUN", dest="vb_baseline",
        help="compare with this run: tag:NAME, id of a stored run, or file of an exported one")  # fmt: skip
    add("--tolerance", default="1pp", metavar="SHARE", dest="vb_tolerance", help="a drop that is fine (1pp)")
    add("--margin", default=None, metavar="SHARE", dest="vb_margin",
        help="a drop that must be excluded to pass (default by size: 3pp for 100 templates of 51)")  # fmt: skip
    add("--alpha", default=0.05, type=float, metavar="RATE", dest="vb_alpha", help="error rate of the verdict (0.05)")
    add("--allow-overlap", action="store_true", default=False, dest="vb_allow_overlap",
        help="compare what both runs hold, where they do not hold the same")  # fmt: skip
    add("--stop-early", action="store_true", default=False, dest="vb_stop_early",
        help="generate in random order, and only until the verdict on --baseline is reached")  # fmt: skip
    add("--limit", action="append", default=[], metavar="NAME=RATE", dest="vb_limits",
        help="share of answers above which the run is invalid: truncated, void, empty (50%%), errors (0)")  # fmt: skip


def read_options(option: Any) -> RunConfig:
    """The RunConfig in pytest's parsed options; UserError names the first value that is not allowed."""
    for name, value, allowed in (
        ("--dtype", option.vb_dtype, DTYPES),
        ("--chat-template", option.vb_chat_template, CHAT_TEMPLATES),
        ("--fail-on", option.vb_fail_on, FAIL_ON),
    ):
        if value not in allowed:
            raise UserError(f"{name} {value!r} is not known: choose from {', '.join(allowed)}")
    parse_shard(option.vb_shard)
    check_choice(SandboxTask(option.vb_sandbox, option.vb_sandbox_runtime, option.vb_sandbox_image))
    prompts = tuple(name.strip() for text in option.vb_prompts for name in text.split(",") if name.strip())
    values = {name.removeprefix("vb_"): value for name, value in vars(option).items() if name.startswith("vb_")}
    values |= {
        "models": tuple(option.vb_models),
        "prompts": prompts,
        "limits": tuple(option.vb_limits),
        "engine_args": tuple(option.vb_engine_args),
        "tolerance": share(option.vb_tolerance, option="--tolerance"),
        "margin": None if option.vb_margin is None else share(option.vb_margin, option="--margin"),
    }
    run = RunConfig(**values)
    _check_gate(run)
    return run


def _check_gate(run: RunConfig) -> None:
    if run.baseline == "":
        raise UserError("--baseline is empty: give tag:NAME, the id of a run or a file, or leave the option out")
    if run.stop_early and not run.baseline:
        raise UserError("--stop-early needs --baseline RUN: without one there is no verdict to stop at")
    if run.stop_early and len(run.models) > 1:
        raise UserError(f"--stop-early takes one model at a time, not {len(run.models)}: run them one by one")


def share(text: str, *, option: str) -> float:
    """A share of 1 written ``3pp``, ``3%`` or ``0.03``."""
    number = text.strip()
    unit = next((unit for unit in ("pp", "%") if number.endswith(unit)), "")
    try:
        value = float(number.removesuffix(unit)) / (100 if unit else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise UserError(f"{option} {text!r} is no share: write 3pp, 3% or 0.03, from 0 to 1 (0 to 100 points)")
    return value


def _at_least(least: int) -> Callable[[str], int]:
    def whole_number(text: str) -> int:
        value = int(text)
        if value < least:
            raise ValueError
        return value

    whole_number.__name__ = f"whole number of at least {least}"  # argparse prints the name of the type
    return whole_number


def _temperature(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 10:
        raise ValueError
    return value


_temperature.__name__ = "temperature between 0 and 10"
