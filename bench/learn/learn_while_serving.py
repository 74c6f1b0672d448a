#!/usr/bin/env python3
"""What learning while serving brings: acceptance of a head's guesses over requests of one domain, and what it costs.

Serves the same requests twice, with --learn and without, and prints for every window of them which share of the
head's guesses was accepted, and tokens per second. Guesses are a fixed number, so that shares can be compared.

  bench/learn/learn_while_serving.py --hunch build/release/hunch --model m.gguf --head head.gguf
"""
from __future__ import annotations

import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.request

HEADS = ("eagle3", "eagle2", "eagle", "medusa")
TABLES = ("orders", "customers", "invoices", "flights", "books", "students", "patients", "recipes", "songs", "stores",
          "tickets", "employees", "rooms", "races", "parcels", "trains", "lessons", "movies", "matches", "plants")
TASKS = ("counts the rows of each month of the column created_at", "lists the ten newest rows by created_at",
         "finds rows whose column name occurs more than once", "gives the average of the column price for each city",
         "deletes rows older than one year by created_at", "adds a column status that is 'new' by default",
         "joins it with the table owners over owner_id and lists the owner's name", "sums the column amount by year",
         "updates the column price by ten percent where city is 'Oslo'", "creates an index on city and created_at")


def domain_prompts(count: int) -> list[str]:
    """SQL questions; none of them is in any benchmark."""
    pairs = [(table, task) for task in TASKS for table in TABLES]
    # Neighbours differ in both.
    order = sorted(range(len(pairs)), key=lambda i: (i * 73) % len(pairs))
    return [f"Write an SQL query for the table {pairs[i][0]} that {pairs[i][1]}. Then explain it in two sentences."
            for i in order[:count]]


class Server:
    def __init__(self, args: argparse.Namespace, folder: pathlib.Path | None):
        config = {"method": args.method, "model": str(args.head), "num_speculative_tokens": args.guesses}
        command = [str(args.hunch), "serve", "--model", str(args.model), "--port", "0", "--audit-rate", "0",
                   "--max-num-seqs", str(args.at_once), "--max-model-len", "2048",
                   "--speculative-config", json.dumps(config)]
        if folder is not None:
            command += ["--learn", str(folder), "--learn-tokens", str(args.learn_tokens)]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        while line and "listening on" not in line:
            line = self.process.stderr.readline()
        if not line:
            sys.exit("the server did not start")
        self.url = line.split("listening on ")[1].split(" ")[0]

    def ask(self, prompt: str, most_tokens: int) -> int:
        """The tokens of the answer."""
        body = {"messages": [{"role": "user", "content": prompt}], "max_tokens": most_tokens, "temperature": 0}
        request = urllib.request.Request(self.url + "/v1/chat/completions", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=600) as answer:
            return json.load(answer)["usage"]["completion_tokens"]

    def state(self) -> dict:
        with urllib.request.urlopen(self.url + "/v1/speculation", timeout=60) as answer:
            return json.load(answer)

    def guesses(self) -> tuple[int, int]:
        drafters = [d for d in self.state()["drafters"] if d["name"] in HEADS]
        return sum(d["draft_tokens"] for d in drafters), sum(d["accepted_tokens"] for d in drafters)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)


def run(args: argparse.Namespace, folder: pathlib.Path | None) -> list[dict]:
    server = Server(args, folder)
    windows = []
    try:
        prompts = domain_prompts(args.requests)
        for begin in range(0, len(prompts), args.window):
            before, start = server.guesses(), time.monotonic()
            with concurrent.futures.ThreadPoolExecutor(args.at_once) as pool:
                tokens = sum(pool.map(lambda prompt: server.ask(prompt, args.max_tokens),
                                      prompts[begin:begin + args.window]))
            seconds = time.monotonic() - start
            after, learning = server.guesses(), server.state()["learning"]
            windows.append({"share": (after[1] - before[1]) / max(1, after[0] - before[0]),
                            "tokens_per_second": tokens / seconds, "learning": learning})
            note = "" if learning is None else f"  {learning['phase']}, {learning['swaps']} swaps"
            print(f"  {begin + 1:4}..{begin + args.window:<4} accepted {windows[-1]['share']:.3f}  "
                  f"{windows[-1]['tokens_per_second']:.1f} tokens/s{note}", flush=True)
            time.sleep(args.pause)
        return windows
    finally:
        server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hunch", type=pathlib.Path, required=True)
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--head", type=pathlib.Path, required=True)
    parser.add_argument("--method", default="eagle3", choices=HEADS)
    parser.add_argument("--guesses", type=int, default=4, help="of a step")
    parser.add_argument("--requests", type=int, default=200, help="at most 200")
    parser.add_argument("--window", type=int, default=25)
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument("--max-tokens", type=int, default=192)
    parser.add_argument("--learn-tokens", type=int, default=4096)
    parser.add_argument("--pause", type=float, default=0, help="seconds after each window in which nothing is asked")
    parser.add_argument("--only", choices=("plain", "learning"), help="leave the other run out")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures to a file")
    args = parser.parse_args()
    figures = {}
    if args.only != "learning":
        print("without learning", flush=True)
        figures["plain"] = run(args, None)
    if args.only != "plain":
        with tempfile.TemporaryDirectory() as folder:
            print("learning while serving", flush=True)
            figures["learning"] = run(args, pathlib.Path(folder) / "learn")
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
