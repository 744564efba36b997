"""Ray: replicas of another engine, over the GPUs or CPUs of one machine or of many.

`--engine ray [--ray-address auto]`; without an address a Ray of this machine alone is started for the run.
`--engine-arg engine=vllm` says of which engine the replicas are (transformers), `--engine-arg replicas=4` how many (one
a GPU, or `tensor_parallel_size` of them; on CPUs one a node). Every other `--engine-arg` goes to vLLM.

Replicas are given whole batches of the plan and stream their answers back. If one dies, Ray starts it again, on another
node if need be, and what it had left is given to whoever is free; a batch that three died of is set aside as an
error. Each replica must hold the same versions and the same files of the model as this process: else the run stops.
"""

from __future__ import annotations

import os
import platform
import socket
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

from variantbench.plugins.datatypes import Completion, FinishReason
from variantbench.plugins.errors import EngineError, UserError, VariantbenchError
from variantbench.plugins.generation.engine_client import CPU_ENVIRONMENT
from variantbench.plugins.generation.plan import Batch
from variantbench.plugins.models.engines import (
    Engine,
    EngineSettings,
    engine_version,
    find_engine,
)
from variantbench.plugins.models.fingerprint import fingerprint
from variantbench.plugins.models.replicas import DEATHS, Backlog, largest_share, places_for

REQUIRES = ("ray",)
EXTRA = "ray"
REVISION = "1"

_PAUSE = 20.0  # seconds between two lines of progress
_POLL = 5.0
_KNOCK = 10.0  # seconds within which a cluster's head takes a connection
_PATIENCE = 1800.0  # so long no replica need be there: a queue may have to give us nodes
_NAMED = 5  # prompts of a batch that is set aside

_INNER = ("transformers", "vllm", "scripted")
_OWN = ("engine", "replicas")  # the arguments that are for us, not for the replicas' engine
_GPUS_EACH = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")


def answered_by(arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The replicas' engine and its own arguments: whose answers these are. UserError if it cannot be."""
    name = arguments.get("engine", "transformers")
    if name not in _INNER:
        raise UserError(f"--engine-arg engine={name}: --engine ray can hold replicas of {', '.join(_INNER)}")
    for count in ("replicas", *_GPUS_EACH):
        if type(value := arguments.get(count, 1)) is not int or value < 1:
            raise UserError(f"--engine-arg {count}={value}: a whole number of at least 1 is needed")
    find_engine(name)
    others = {key: value for key, value in arguments.items() if key not in _OWN}
    if others and name != "vllm":
        raise UserError(f"--engine-arg {next(iter(others))} is not for {name}: engine, replicas, or engine=vllm first")
    return name, others


def load(settings: EngineSettings) -> RayEngine:
    """Replicas in the cluster, the first of them loaded; EngineError in one line if there can be none."""
    import ray

    _connect(ray, settings.ray_address)
    engine = RayEngine(ray, settings, _share(ray.nodes(), settings))
    engine.wait_for_first()
    return engine


def _connect(ray: Any, address: str) -> None:
    # what Ray will do by default one day, and warns of until then
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if ray.is_initialized():
        return
    try:
        if address:
            _knock(address)
            ray.init(address=address, log_to_driver=False)
        else:
            ray.init(address="local", log_to_driver=False, include_dashboard=False)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise EngineError(
            f"--ray-address {address or '(none)'}: no Ray there ({_first_line(error)}); "
            "give auto on a node of the cluster, or the host:port that `ray start --head` prints"
        ) from error


def _knock(address: str) -> None:
    """OSError or ValueError at once where nobody listens: Ray would wait for minutes."""
    host, colon, port = address.rpartition(":")
    if colon:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_KNOCK).close()


@dataclass(frozen=True, slots=True)
class Share:
    """How many replicas there are, and how many devices each has."""

    replicas: int
    cpus: int
    gpus: int


def _share(nodes: Iterable[Mapping[str, Any]], settings: EngineSettings) -> Share:
    """One replica a GPU, or group of GPUs; on CPUs one a node, or as many as are wanted with equal parts."""
    wanted = settings.arguments.get("replicas")
    kind = "GPU" if settings.device.startswith("cuda") else "CPU"
    here = [devices for node in nodes if node["Alive"] and (devices := node["Resources"].get(kind, 0)) >= 1]
    if kind == "GPU":
        each = prod(int(settings.arguments.get(name, 1)) for name in _GPUS_EACH)
    elif wanted:
        each = largest_share(here, wanted) or 1
    else:
        each = int(min(here, default=1))
    room = places_for(here, each)
    if (wanted or 1) > room:
        raise EngineError(
            f"--engine-arg replicas={wanted or 1}: the cluster has room for {room} with {each} {kind} each; "
            "add nodes or ask for fewer"
        )
    if kind == "GPU":
        return Share(wanted or room, cpus=1, gpus=each)
    return Share(wanted or len(here), cpus=each, gpus=0)


class Replica:
    """What runs in a Ray actor: one loaded engine. It is loaded anew by whoever asks first after a restart."""

    def __init__(self, settings: EngineSettings) -> None:
        self.settings = settings
        self.engine: Engine | None = None

    def load(self) -> dict[str, Any]:
        """Load the model; where that was, with what, and what the engine says of it. Or why it failed."""
        where = f"{platform.node()} ({os.getpid()})"
        source = self.settings.source
        if not Path(source).exists():
            return {
                "failed": f"{where} has no {source}: keep models where every node sees them (HF_HOME, XDG_CACHE_HOME)"
            }
        try:
            self.engine = self.engine or find_engine(self.settings.engine).load(self.settings)
            held = {"version": engine_version(self.settings.engine), "files": fingerprint(Path(source))}
            return {"where": where, "pid": os.getpid(), "held": held, "engine": self.engine.describe()}
        except VariantbenchError as error:
            return {"failed": str(error)}

    def generate(self, batches: list[Batch]) -> Iterator[dict[str, Any]]:
        """Completions by job id, as they come. Or why the engine gave up."""
        assert self.engine is not None  # noqa: S101 - nothing is given to a replica that has not loaded
        try:
            for completions in self.engine.generate(batches):
                yield {"completions": completions}
        except VariantbenchError as error:
            yield {"failed": str(error)}


@dataclass(slots=True, eq=False)
class _Seat:
    """One replica as seen from here."""

    number: int
    actor: Any
    where: str = ""
    answers: int = 0
    pid: int = 0
    since: float = 0.0  # when it had loaded


@dataclass(frozen=True, slots=True)
class _Task:
    """What a replica was asked for: to load, or to generate."""

    seat: _Seat
    batches: tuple[Batch, ...] = ()


class RayEngine:
    """Feeds the replicas and hands on what they answer."""

    def __init__(self, ray: Any, settings: EngineSettings, share: Share) -> None:
        self.ray, self.share = ray, share
        name, arguments = answered_by(settings.arguments)
        self.inner = replace(settings, engine=name, arguments=arguments, ray_address="")
        self.held = {"version": engine_version(name), "files": fingerprint(Path(settings.source))}
        self.described: dict[str, Any] = {}
        self.news: list[str] = []
        self.idle: list[_Seat] = []
        self.running: dict[Any, _Task] = {}  # by the reference that Ray gave
        self.heard = self.told = time.monotonic()
        actor = ray.remote(
            num_cpus=share.cpus, num_gpus=share.gpus, max_restarts=-1, max_task_retries=0, scheduling_strategy="SPREAD"
        )(Replica)
        environment = {} if share.gpus else {"runtime_env": {"env_vars": CPU_ENVIRONMENT}}
        self.seats = [_Seat(n, actor.options(**environment).remote(self.inner)) for n in range(share.replicas)]
        for seat in self.seats:
            self._ask_to_load(seat)

    def describe(self) -> dict[str, Any]:
        """What the replicas hold, and where the first of them are."""
        return {
            **self.described,
            "ray": self.ray.__version__,
            "engine": self.held["version"],
            "replicas": self.share.replicas,
            "cpus_each": self.share.cpus,
            "gpus_each": self.share.gpus,
        }

    def wait_for_first(self) -> None:
        """Wait until one replica has loaded; EngineError if none will."""
        while not self.idle:
            for ref in self._ready():
                self._loaded(ref)

    def generate(self, batches: Iterable[Batch]) -> Iterator[dict[str, Completion]]:
        """Completions by job id, as they come, from whichever replica."""
        backlog = Backlog(batches, replicas=self.share.replicas)
        while backlog.owed or any(task.batches for task in self.running.values()):
            self._feed(backlog)
            for ref in self._ready():
                if self.running[ref].batches:
                    yield from self._answered(ref, backlog)
                else:
                    self._loaded(ref)
            self._tell_rates()

    def take_news(self) -> list[str]:
        """What happened since the last time, in lines for the user."""
        news, self.news = self.news, []
        return news

    def _feed(self, backlog: Backlog) -> None:
        while self.idle and (batches := backlog.take()):
            seat = self.idle.pop(0)
            stream = seat.actor.generate.options(num_returns="streaming").remote(batches)
            self.running[stream] = _Task(seat, tuple(batches))

    def _ask_to_load(self, seat: _Seat) -> None:
        self.running[seat.actor.load.options(max_task_retries=DEATHS).remote()] = _Task(seat)

    def _ready(self) -> list[Any]:
        """The references that have something to say; EngineError if there has been nothing for too long."""
        if not self.running and not self.idle:
            raise EngineError(f"no replica is left: {'; '.join(self.news) or 'none loads'}")
        ready, _ = self.ray.wait(list(self.running), timeout=_POLL)
        now = time.monotonic()
        if ready or any(task.batches for task in self.running.values()):
            self.heard = now
        if now - self.heard > _PATIENCE:
            raise EngineError(
                f"no replica could be placed in {_PATIENCE / 60:.0f} minutes: `ray status` shows what is lacking; "
                "run the same command again, what was stored is not generated twice"
            )
        return list(ready)

    def _loaded(self, ref: Any) -> None:
        """A replica has loaded, or died of it."""
        seat = self.running.pop(ref).seat
        try:
            message = self._checked(self.ray.get(ref))
        except self.ray.exceptions.RayError as error:
            self.news.append(f"replica {seat.number} is given up, it died while it loaded: {self._cause(error)}")
            return
        seat.where, seat.pid, seat.since = message["where"], message["pid"], time.monotonic()
        self.described = message["engine"]
        self.idle.append(seat)

    def _answered(self, ref: Any, backlog: Backlog) -> Iterator[dict[str, Completion]]:
        """A replica has some answers, has given all, or has died."""
        task = self.running[ref]
        try:
            completions = backlog.keep(self._checked(self.ray.get(next(ref)))["completions"])
        except StopIteration:
            del self.running[ref]
            self.idle.append(task.seat)
            yield from self._set_aside(backlog.give_back(task.batches), "they ended without its answers")
        except self.ray.exceptions.RayError as error:
            del self.running[ref]
            seat, cause = task.seat, self._cause(error)
            self.news.append(f"replica {seat.number} on {seat.where} died: {cause}; others take what it had")
            self._start_again(seat, error)
            yield from self._set_aside(backlog.give_back(task.batches), cause)
        else:
            task.seat.answers += len(completions)
            yield completions

    def _set_aside(self, batches: Iterable[Batch], cause: str) -> Iterator[dict[str, Completion]]:
        for batch in batches:
            names = [job.prompt.item_id for job in batch.jobs]
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            words = f"{DEATHS} replicas died of the batch of {', '.join(names[:_NAMED])}{more}: {cause}"
            self.news.append(f"set aside: {words}")
            failure = Completion(words, FinishReason.ERROR, 0, 0, self.inner.engine, batch.id)
            yield {job.id: failure for job in batch.jobs}

    def _start_again(self, seat: _Seat, error: Exception) -> None:
        """Ray restarts an actor whose process died; one whose engine only failed is in no state to go on."""
        if isinstance(error, self.ray.exceptions.RayTaskError):
            self.ray.kill(seat.actor, no_restart=False)
        seat.answers = 0
        self._ask_to_load(seat)

    def _cause(self, error: Exception) -> str:
        """A death in a few words; Ray's own many are printed, for the log."""
        print(error, file=sys.stderr)  # noqa: T201
        if isinstance(error, self.ray.exceptions.RayTaskError):
            return str(error).strip().splitlines()[-1][:200]  # a traceback ends in what was raised
        return "its process or its node ended"

    def _checked(self, message: dict[str, Any]) -> dict[str, Any]:
        """The message of a replica that can be used; EngineError else."""
        if "failed" in message:
            raise EngineError(message["failed"])
        for what, here in self.held.items():
            there = message.get("held", self.held)[what]
            if there != here:
                raise EngineError(
                    f"{message['where']} has other {what} of {self.inner.model} than this machine "
                    f"({there}, not {here}): install and copy the same everywhere"
                )
        return message

    def _tell_rates(self) -> None:
        now = time.monotonic()
        if now - self.told < _PAUSE:
            return
        self.told = now
        rates = [f"{seat.where} {seat.answers / (now - seat.since):.1f}" for seat in self.seats if seat.answers]
        if rates:
            self.news.append(f"answers a second by replica: {', '.join(rates)}")


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:200] if lines else type(error).__name__
