"""What is measured in each section, as jobs: one engine, one model, one run that gives figures by setting."""
from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import Callable
from typing import Any

import llama_cpp
import openvino_peer
from hunch_cli import Hunch
from llama_cpp import LlamaCpp
from openvino_peer import OpenVino
from process import Failed

Results = dict[str, dict[str, float]]  # by setting, then by figure
HUNCH, LLAMA, OPENVINO = "Hunch", "llama.cpp", "OpenVINO GenAI"
TITLES = {"decode": "Plain decoding", "rows": "Passes of M rows", "prompt": "Prompts",
          "speculation": "Speculation", "load": "Time to load and resident memory"}


@dataclasses.dataclass(frozen=True)
class Job:
    model: str  # as tables name it
    engine: str
    name: str  # distinguishes the jobs of an engine
    run: Callable[[], Results]


@dataclasses.dataclass(frozen=True)
class Plan:
    """Lengths of everything; `short` proves that all parts work and measures nothing worth keeping."""
    models: dict[str, str]  # name to path
    target: str
    draft: str
    prompts: pathlib.Path
    context: int = 128  # tokens before the measured ones
    generate: int = 64
    rows: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8)
    steps: int = 16  # passes of llama-batched-bench for each M
    prompt_tokens: tuple[int, ...] = (128, 1024)
    max_tokens: int = 128
    per_category: int = 0  # 0: all

    def short(self) -> Plan:
        return dataclasses.replace(self, context=32, generate=8, rows=(1, 2, 4), steps=2, prompt_tokens=(16, 32),
                                   max_tokens=16, per_category=1)


@dataclasses.dataclass(frozen=True)
class Engines:
    """Those that are to run, and why others cannot (by name)."""
    hunch: Hunch | None
    llama: LlamaCpp | None
    openvino: OpenVino | None
    missing: dict[str, str]


def jobs(section: str, plan: Plan, engines: Engines) -> list[list[Job]]:
    """Lists of jobs that are to alternate, one list a model."""
    if section == "speculation":
        groups = [_speculation(plan, engines)]
    else:
        make = {"decode": _decode, "rows": _rows, "prompt": _prompt, "load": _load}[section]
        groups = [make(pathlib.Path(path).stem, path, plan, engines) for path in plan.models.values()]
    return [group + [_failing(group[0].model, *item) for item in engines.missing.items()] for group in groups if group]


def _failing(model: str, engine: str, why: str) -> Job:
    def run() -> Results:
        raise Failed(why)
    return Job(model, engine, "", run)


def _decode(model: str, path: str, plan: Plan, e: Engines) -> list[Job]:
    def ours() -> Results:
        rows = e.hunch.rows(path, plan.context, [1], [1])
        return {"": {"tokens_per_second": rows.decode_tokens_per_second, "limit_ms": rows.limit_ms(),
                     "read_gb_s": rows.read_gb_s}}

    def llama() -> Results:
        speeds = e.llama.bench(path, generate=plan.generate, depth=plan.context)
        return {"": {"tokens_per_second": speeds[0, plan.generate]}}

    def openvino(precision: str) -> Job:
        def run() -> Results:
            job = {"tokens": plan.context, "max_new_tokens": plan.generate, "ignore_eos": True}
            done = e.openvino.run(path, [job], precision=precision)["jobs"][0]
            return {f"precision {precision}": {"tokens_per_second": (done["tokens"] - 1) / done["decode_s"]}}
        return Job(model, OPENVINO, f"precision {precision}", run)

    return ([Job(model, HUNCH, "", ours)] if e.hunch else []) + ([Job(model, LLAMA, "", llama)] if e.llama else []) + \
        ([openvino(name) for name in openvino_peer.CONFIGS] if e.openvino else [])


def _rows(model: str, path: str, plan: Plan, e: Engines) -> list[Job]:
    """OpenVINO GenAI has no call that runs a pass of M rows, so it has no job here."""
    rows = list(plan.rows)

    def ours() -> Results:
        measured = e.hunch.rows(path, plan.context, rows, [1])
        share = {f"percent {m}": measured.percent_of_limit[m] for m in rows}
        return {"": {str(m): measured.ms[m] for m in rows} | share}

    def batched() -> Results:
        return {"all logits": {str(m): ms for m, ms in e.llama.passes(path, rows, plan.context, plan.steps).items()}}

    def prompt_pass() -> Results:
        speeds = e.llama.bench(path, prompts=rows, depth=plan.context)
        return {"last row's logits only": {str(m): m / speeds[m, 0] * 1e3 for m in rows}}

    return ([Job(model, HUNCH, "", ours)] if e.hunch else []) + \
        ([Job(model, LLAMA, "batched", batched), Job(model, LLAMA, "prompt pass", prompt_pass)] if e.llama else [])


def _prompt(model: str, path: str, plan: Plan, e: Engines) -> list[Job]:
    lengths = list(plan.prompt_tokens)

    def ours() -> Results:
        return {"": {str(n): speed for n, speed in e.hunch.rows(path, plan.context, [1], lengths).prompt.items()}}

    def llama() -> Results:
        speeds = e.llama.bench(path, prompts=lengths)
        return {"": {str(n): speeds[n, 0] for n in lengths}}

    def openvino() -> Results:
        warm_up = {"tokens": 8, "max_new_tokens": 1}
        answers = e.openvino.run(path, [warm_up, *({"tokens": n, "max_new_tokens": 1} for n in lengths)])["jobs"][1:]
        return {"": {str(n): n / answer["ttft_s"] for n, answer in zip(lengths, answers)}}

    return _each(model, e, ours, llama, openvino)


def _load(model: str, path: str, plan: Plan, e: Engines) -> list[Job]:
    def ours() -> Results:
        return {"": e.hunch.load(path, llama_cpp.CONTEXT)}

    def llama() -> Results:
        # The prompt is so short that a warm-up pass would only add to the time.
        with e.llama.server(path, ["--no-warmup"]) as server:
            server.await_ready()
            answer = server.chat("Hello!", 1)
            seconds = server.seconds_since_start() - answer["prompt_s"]
            return {"": {"load_s": seconds, "max_rss_mb": server.stop().max_rss_mb}}

    def openvino() -> Results:
        answer = e.openvino.run(path, [{"prompt": "Hello!", "max_new_tokens": 1}])
        return {"": {name: answer[name] for name in ("load_s", "max_rss_mb")}}

    return _each(model, e, ours, llama, openvino)


def _each(model: str, e: Engines, *runs: Callable[[], Results]) -> list[Job]:
    named = zip((HUNCH, LLAMA, OPENVINO), (e.hunch, e.llama, e.openvino), runs)
    return [Job(model, name, "", run) for name, engine, run in named if engine]


def read_prompts(file: pathlib.Path, per_category: int) -> list[str]:
    """The same choice as `hunch bench --prompts FILE --n N` makes."""
    taken: dict[str, int] = {}
    prompts = []
    for line in filter(str.strip, file.read_text().splitlines()):
        entry = json.loads(line)
        taken[entry["category"]] = taken.get(entry["category"], 0) + 1
        if not per_category or taken[entry["category"]] <= per_category:
            prompts.append(entry["prompt"])
    return prompts


def _speculation(plan: Plan, e: Engines) -> list[Job]:
    model = f"{pathlib.Path(plan.target).stem}, draft {pathlib.Path(plan.draft).stem}"
    prompts = read_prompts(plan.prompts, plan.per_category)

    def ours() -> Results:
        return e.hunch.speculation(plan.target, plan.draft, plan.prompts, plan.max_tokens, plan.per_category,
                                   llama_cpp.CONTEXT)

    def llama(setting: str, flags: list[str]) -> Job:
        def run() -> Results:
            draft = ["-md", plan.draft] if "draft" in setting else []
            with e.llama.server(plan.target, [*flags, *draft]) as server:
                server.await_ready()
                server.chat("Hello!", 4)
                return {setting: total([server.chat(prompt, plan.max_tokens) for prompt in prompts])}
        return Job(model, LLAMA, setting, run)

    def openvino(setting: str, generation: dict[str, int], **how: Any) -> Job:
        def run() -> Results:
            requests = [{"prompt": p, "max_new_tokens": plan.max_tokens, "generation": generation} for p in prompts]
            warm_up = {"tokens": 8, "max_new_tokens": 1, "generation": generation}
            return {setting: total(e.openvino.run(plan.target, [warm_up, *requests], **how)["jobs"][1:])}
        return Job(model, OPENVINO, setting, run)

    return ([Job(model, HUNCH, "", ours)] if e.hunch else []) + \
        ([llama(*item) for item in llama_cpp.SPECULATION.items()] if e.llama else []) + \
        ([openvino("plain", {}), openvino("prompt lookup", openvino_peer.LOOKUP, lookup=True),
          openvino("draft model", openvino_peer.DRAFT, draft=plan.draft)] if e.openvino else [])


def total(answers: list[dict[str, float]]) -> dict[str, float]:
    """Over the answers of one run: decoding speed after the first token of each, and the whole requests' times."""
    decode_s = sum(answer["decode_s"] for answer in answers)
    tokens = sum(answer["tokens"] for answer in answers)
    figures = {"tokens_per_second": (tokens - len(answers)) / decode_s,
               "wall_tokens_per_second": tokens / sum(answer["wall_s"] for answer in answers)}
    if "drafted" in answers[0]:
        figures |= {key: sum(answer[key] for answer in answers) for key in ("drafted", "accepted")}
    return figures
