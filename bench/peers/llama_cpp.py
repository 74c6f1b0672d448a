"""llama.cpp: its command lines, what they print, and its server. The parsers are pure."""
from __future__ import annotations

import dataclasses
import http.client
import json
import pathlib
import socket
import statistics
import time
from collections.abc import Sequence

from process import Child, Failed, Finished, run

# Settings of the server for each way of guessing; the draft model's path is added where it is used.
SPECULATION: dict[str, list[str]] = {
    "plain": [],
    **{f"draft-simple n-max {n}{label}": ["--spec-type", "draft-simple", "--spec-draft-n-max", str(n), *flags]
       for n in (2, 4, 8)
       for label, flags in (("", []), (", p-min 0.7", ["--spec-draft-p-min", "0.7"]))},
    "ngram-simple": ["--spec-type", "ngram-simple"],
    "ngram-simple n 3, m 4": ["--spec-type", "ngram-simple", "--spec-ngram-simple-size-n", "3",
                              "--spec-ngram-simple-size-m", "4"],
}
CONTEXT = 4096


@dataclasses.dataclass(frozen=True)
class LlamaCpp:
    folder: pathlib.Path  # of the programs
    threads: int

    def bench(self, model: str, *, prompts: Sequence[int] = (0,), generate: int = 0,
              depth: int = 0) -> dict[tuple[int, int], float]:
        """Tokens per second of llama-bench by (prompt tokens, generated tokens): medians of 3."""
        argv = [self._program("llama-bench"), "-m", model, "-t", str(self.threads), "-r", "3", "-o", "json",
                "-p", ",".join(map(str, prompts)), "-n", str(generate), "-d", str(depth)]
        return parse_bench(run(argv).stdout)

    def passes(self, model: str, rows: list[int], depth: int, steps: int) -> dict[int, float]:
        """Milliseconds of a pass of M rows, all with logits, behind a shared prefix of `depth` tokens.

        The median of 3 runs of each M, taken in turn, as Hunch's own are.
        """
        argv = [self._program("llama-batched-bench"), "-m", model, "-t", str(self.threads),
                "-npp", str(depth), "-ntg", str(steps), "-npl", ",".join(map(str, rows * 3)), "-pps", "-kvu",
                "-c", str(depth + steps * max(rows) + 256), "--output-format", "jsonl"]
        done = run(argv)
        return parse_batched(done.stdout + "\n" + done.stderr)

    def version(self) -> str:
        done = run([self._program("llama-bench"), "--version"], 60)
        return (done.stdout + done.stderr).strip().splitlines()[0].removeprefix("version: ")

    def server(self, model: str, flags: list[str]) -> Server:
        return Server([self._program("llama-server"), "-m", model, "-t", str(self.threads), "-np", "1",
                       "-c", str(CONTEXT), "--jinja", "--no-ui", *flags])

    def _program(self, name: str) -> str:
        return str(self.folder / name)


def parse_bench(text: str) -> dict[tuple[int, int], float]:
    try:
        return {(test["n_prompt"], test["n_gen"]): statistics.median(test["samples_ts"]) for test in json.loads(text)}
    except (ValueError, KeyError, TypeError) as error:
        raise Failed(f"llama-bench: output not understood: {error!r}") from error


def parse_batched(text: str) -> dict[int, float]:
    """Rows to milliseconds a pass, from the JSON lines amid llama-batched-bench's log."""
    passes: dict[int, list[float]] = {}
    for line in text.splitlines():
        start = line.find('{"n_kv_max"')
        if start >= 0:
            test = json.loads(line[start:])
            passes.setdefault(test["pl"], []).append(test["t_tg"] / test["tg"] * 1e3)
    if not passes:
        raise Failed("llama-batched-bench: no line of results")
    return {rows: statistics.median(times) for rows, times in passes.items()}


def parse_answer(answer: dict) -> dict[str, float]:
    """What the server says of one request. Its generation time begins with the first token, as ours does."""
    try:
        timings = answer["timings"]
        return {"tokens": timings["predicted_n"], "prompt_s": timings["prompt_ms"] / 1e3,
                "decode_s": timings["predicted_ms"] / 1e3, "drafted": timings.get("draft_n", 0),
                "accepted": timings.get("draft_n_accepted", 0)}
    except (KeyError, TypeError) as error:
        raise Failed(f"llama-server: answer not understood: {error!r}") from error


class Server:
    """A llama-server, or another that has its routes, on a free port of this machine; use with `with`."""

    def __init__(self, argv: list[str]) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self._child = Child([*argv, "--host", "127.0.0.1", "--port", str(self._port)])

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.__exit__()

    def await_ready(self, timeout_s: float = 300) -> None:
        while time.monotonic() - self._child.started < timeout_s:
            if not self._child.running:
                raise Failed(f"{self._child.name}: {self._child.error()}")
            try:
                status, _ = self._request("GET", "/health", None, 5)
                if status == 200:
                    return
            except OSError:
                pass
            time.sleep(0.005)
        raise Failed(f"{self._child.name}: not ready after {timeout_s:.0f} s")

    def chat(self, prompt: str, max_tokens: int, timeout_s: float = 900) -> dict[str, float]:
        """One greedy answer, nothing reused from earlier ones; `wall_s` is by this side's clock."""
        body = {"messages": [{"role": "user", "content": prompt}], "max_tokens": max_tokens, "temperature": 0,
                "cache_prompt": False}
        begin = time.monotonic()
        try:
            status, answer = self._request("POST", "/v1/chat/completions", body, timeout_s)
        except OSError as error:
            raise Failed(f"{self._child.name}: {error}; {self._child.error()}") from error
        if status != 200:
            raise Failed(f"{self._child.name}: status {status}: {str(answer)[:120]}")
        return parse_answer(answer) | {"wall_s": time.monotonic() - begin}

    def seconds_since_start(self) -> float:
        return time.monotonic() - self._child.started

    def stop(self) -> Finished:
        self._child.stop()
        return self._child.finished()

    def connect(self, method: str, path: str, body: dict | None, timeout_s: float) -> http.client.HTTPConnection:
        """A connection on which this was asked."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=timeout_s)
        connection.request(method, path, None if body is None else json.dumps(body),
                           {"Content-Type": "application/json"})
        return connection

    def _request(self, method: str, path: str, body: dict | None, timeout_s: float) -> tuple[int, dict]:
        connection = self.connect(method, path, body, timeout_s)
        try:
            response = connection.getresponse()
            return response.status, json.loads(response.read() or b"{}")
        finally:
            connection.close()
