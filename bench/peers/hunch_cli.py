"""Hunch itself: its command lines and what they print. The parsers are pure."""
from __future__ import annotations

import dataclasses
import json
import pathlib

from process import Failed, run

# Without the draft model (what `auto` is where none is named), with it alone, and with both; the last as a user of
# other engines would set it.
METHODS = ("none", "suffix+token_recycling", "draft_model", "auto", "draft_model:4")


@dataclasses.dataclass(frozen=True)
class Rows:
    """What `hunch bench rows --json` says of one context."""
    decode_tokens_per_second: float
    read_gb_s: float
    dot_gmac_s: float
    isa: str
    ms: dict[int, float]  # by rows of the pass
    percent_of_limit: dict[int, float]  # by rows of the pass
    prompt: dict[int, float]  # tokens per second by tokens

    def limit_ms(self) -> float:
        """The least time of a pass of one row: what it must read over the read bandwidth."""
        return self.ms[1] * self.percent_of_limit[1] / 100


@dataclasses.dataclass(frozen=True)
class Hunch:
    binary: pathlib.Path
    threads: int

    def rows(self, model: str, context: int, rows: list[int], prompts: list[int]) -> Rows:
        """Medians of 5 passes of each kind; `prompts` may not be empty."""
        argv = [str(self.binary), "bench", "rows", "--model", model, "--threads", str(self.threads), "--json", "-",
                "--repeat", "5", "--context", str(context), "--rows", ",".join(map(str, rows)),
                "--prompt", ",".join(map(str, prompts))]
        return parse_rows(run(argv).stdout, context)

    def speculation(self, target: str, draft: str, prompts: pathlib.Path, max_tokens: int, count: int,
                    context: int) -> dict[str, dict[str, float]]:
        config = json.dumps({"model": draft, "draft_quantization": "q4_0"})
        argv = [str(self.binary), "bench", "--model", target, "--threads", str(self.threads), "--json",
                "--max-model-len", str(context), "--prompts", str(prompts), "--n", str(count), "--rounds", "1",
                "--max-tokens", str(max_tokens), "--methods", ",".join(METHODS), "--speculative-config", config]
        return parse_methods(run(argv, 3600).stdout)

    def load(self, model: str, context: int) -> dict[str, float]:
        argv = [str(self.binary), "run", "--model", model, "--threads", str(self.threads), "--json",
                "--max-model-len", str(context), "--max-tokens", "1", "Hello!"]
        done = run(argv)
        return {"load_s": done.wall_s - json.loads(done.stdout)["timings"]["prefill_ms"] / 1e3,
                "max_rss_mb": done.max_rss_mb}

    def version(self) -> str:
        return run([str(self.binary), "--version"], 60).stdout.strip().removeprefix("hunch ")


def parse_rows(text: str, context: int) -> Rows:
    try:
        parsed = json.loads(text)
        entries = parsed if isinstance(parsed, list) else [parsed]
        entry = next(e for e in entries if len(entries) == 1 or e["context"] == context)
        by_rows = {int(row["m"]): row for row in entry["rows"]}
        return Rows(entry["decode_tokens_per_second"], entry["read_gb_s"], entry["dot_gmac_s"], entry["isa"],
                    {m: row["ms"] for m, row in by_rows.items()},
                    {m: row["percent_of_limit"] for m, row in by_rows.items()},
                    {int(p["tokens"]): p["tokens_per_second"] for p in entry["prompt"]})
    except (ValueError, KeyError, TypeError, StopIteration) as error:
        raise Failed(f"hunch bench rows: output not understood: {error!r}") from error


def parse_methods(text: str) -> dict[str, dict[str, float]]:
    """By method; an output that differs from plain decoding's fails the run, as a figure of it means nothing."""
    try:
        bench = json.loads(text)
        if bench["mismatches"]:
            raise Failed(f"hunch bench: {bench['mismatches'][0]}")
        return {("plain" if name == "none" else name): {
            "tokens_per_second": method["tokens_per_second"], "speedup": method["speedup"],
            "drafted": method["draft_tokens"], "accepted": method["accepted_tokens"]}
            for name, method in bench["methods"].items()}
    except (ValueError, KeyError, TypeError) as error:
        raise Failed(f"hunch bench: output not understood: {error!r}") from error
