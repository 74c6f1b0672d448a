#!/usr/bin/env python3
"""Mixed load on `hunch serve` for a while, and whether it stands: no wrong text, no lost request, no growing memory.

    soak.py HUNCH MODEL.gguf [SECONDS]      600 seconds unless said otherwise

Clients ask at once, whole and streamed, greedy and sampled, with every way of guessing; some leave in the middle, some
send nonsense, some send half a request and wait. What an undisturbed request answers is what the server answered to it
alone, without guessing, before the load began. Resident memory is compared between the end of the first fifth and the
end. Exit status: 0 it stands, 1 it does not (one fault a line), 2 wrong use.
"""
import concurrent.futures
import http.client
import json
import pathlib
import random
import re
import socket
import subprocess
import sys
import time
import urllib.parse

import openai_client_test as base

CLIENTS = 6
GROWTH = 1.02  # of resident memory
METHODS = ["auto", "none", "suffix", "ngram+token_recycling", "lookahead"]
PROMPTS = ["Count from one to thirty.", "Write a short poem about a river.", "List ten animals.", "Why is the sky blue?",
           "Repeat the word hello twenty times.", "Write a function that reverses a list."]
NONSENSE = [b"", b"{", b"[]", b'{"messages": 3}', b'{"messages": []}', b'{"messages": [{"role": "robot", "content": "x"}]}',
            b'{"messages": [{"role": "user", "content": "x"}], "temperature": -1}',
            b'{"messages": [{"role": "user", "content": "x"}], "n": 0}', b"\xff" * 100, b'{"a":' * 5000]


class Server(base.Server):
    def __init__(self, model):
        super().__init__("--max-num-seqs", "4", model=model)
        address = urllib.parse.urlsplit(self.url)
        self.address = (address.hostname, address.port)

    def post(self, body):
        connection = http.client.HTTPConnection(*self.address, timeout=300)
        connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
        return connection, connection.getresponse()

    def resident_kb(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1])


def request(case, **more):
    prompt, sampled = case
    body = {"messages": [{"role": "user", "content": prompt}], "max_tokens": 64, "seed": 5,
            "temperature": 0.8 if sampled else 0, **more}
    return json.dumps(body).encode()


def whole(server, case, method):
    connection, response = server.post(request(case, speculation={"method": method}))
    answer = json.loads(response.read())
    connection.close()
    return answer["choices"][0]["message"]["content"] if response.status == 200 else f"status {response.status}: {answer}"


def streamed(server, case, method):
    connection, response = server.post(request(case, stream=True, speculation={"method": method}))
    text, ended = "", False
    for line in response:
        ended = ended or line == b"data: [DONE]\n"
        if line.startswith(b"data: {"):
            text += json.loads(line[6:])["choices"][0]["delta"].get("content", "")
    connection.close()
    return text if ended else "the stream ended early: " + text


def leave(server, dice, case):
    """A client that goes: before the answer, or after some of it."""
    with socket.create_connection(server.address, timeout=60) as connection:
        body = request(case, stream=True)
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        message = head + body
        connection.sendall(message[:dice.randrange(1, len(message))] if dice.random() < 0.3 else message)
        if dice.random() < 0.7:
            connection.settimeout(dice.random())
            try:
                connection.recv(dice.randrange(1, 4000))
            except TimeoutError:
                pass


def client(server, number, expected, end):
    """Yields what goes wrong."""
    dice, faults, asked = random.Random(number), [], 0
    while time.monotonic() < end and len(faults) < 5:
        case, method, kind = dice.choice(list(expected)), dice.choice(METHODS), dice.random()
        try:
            if kind < 0.2:
                leave(server, dice, case)
                continue
            if kind < 0.3:
                nonsense = dice.choice(NONSENSE)
                connection, response = server.post(nonsense)
                if response.status != 400 or "message" not in json.loads(response.read())["error"]:
                    faults.append(f"{nonsense[:40]!r} is answered with status {response.status}")
                connection.close()
                continue
            text = (whole if kind < 0.6 else streamed)(server, case, method)
            asked += 1
            if text != expected[case]:
                faults.append(f"{case} by {method}: {text!r} instead of {expected[case]!r}")
        except (OSError, ValueError, KeyError, http.client.HTTPException) as error:
            faults.append(f"{case} by {method}: {error!r}")
    return asked, faults


def main(arguments):
    if len(arguments) not in (2, 3):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    seconds = float(arguments[2]) if len(arguments) == 3 else 600
    base.HUNCH = arguments[0]
    server = Server(arguments[1])
    cases = [(prompt, sampled) for prompt in PROMPTS for sampled in (False, True)]
    expected = {case: whole(server, case, "none") for case in cases}
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        clients = [pool.submit(client, server, number, expected, begin + seconds) for number in range(CLIENTS)]
        time.sleep(seconds / 5)
        warm_kb = server.resident_kb()
        results = [job.result() for job in clients]
    end_kb = server.resident_kb()
    faults = [fault for _, of_client in results for fault in of_client]
    if end_kb > warm_kb * GROWTH:
        faults.append(f"resident memory grew from {warm_kb} to {end_kb} KB")
    try:
        code = server.stop()
    except subprocess.TimeoutExpired:
        server.process.kill()
        code = "none: it had to be killed"
    if code != 0:
        faults.append(f"the server's exit status is {code}")
    print("\n".join(faults) or f"{sum(asked for asked, _ in results)} answers in {seconds:.0f} s, all as alone; "
          f"{warm_kb} KB resident after a fifth of it, {end_kb} at the end")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
