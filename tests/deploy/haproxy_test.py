#!/usr/bin/env python3
"""deploy/haproxy.cfg with two replicas, of which one is killed under load: nothing is lost, and every text is a lone server's.

    haproxy_test.py HUNCH [unittest's arguments]
"""
import concurrent.futures
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CONFIG = ROOT / "deploy/haproxy.cfg"
MODEL = ROOT / "tests/golden/tiny/llama.gguf"
PATIENCE = 60  # seconds; for a sanitizer on a busy machine
CLIENTS = 12
REQUESTS = 96


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ask(port, body, path="/v1/chat/completions", headers=()):
    """(status, headers, bytes) of one request on a connection of its own, nothing retried."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("POST" if body else "GET", path, json.dumps(body) if body else None, dict(headers))
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def chat(index, max_tokens, **more):
    """Each is another text, and each of another length."""
    return {"messages": [{"role": "user", "content": f"number {index} of {index * 7}"}], "seed": index, "temperature": 0.9,
            "ignore_eos": True, "max_tokens": max_tokens, **more}


class Stream:
    """A streamed chat that goes on when its connection breaks: from its last event where events have ids, else from the
    beginning, and what was there must come again."""

    def __init__(self, port, body, on_begin):
        self.port, self.body, self.on_begin = port, {**body, "stream": True}, on_begin
        self.text, self.last_id, self.breaks = "", None, 0
        while not self.go_on():
            self.breaks += 1
            if self.breaks > 5:
                raise AssertionError("the stream broke again and again")

    def read_events(self, answer):
        """To the last one, an event at a time: what comes without the blank line after it has not come."""
        event_id, data = None, None
        for line in answer:
            field, _, value = line.decode().rstrip("\n").partition(": ")
            if field == "id":
                event_id = value
            elif field == "data":
                data = value
            elif not field and data == "[DONE]":
                return True
            elif not field and data is not None:
                choices = json.loads(data)["choices"]
                self.text += choices[0]["delta"].get("content") or "" if choices else ""
                self.last_id = event_id or self.last_id
                event_id, data = None, None
        return False

    def go_on(self):
        """False: it broke."""
        if self.last_id is None:
            before, self.text = self.text, ""
        else:
            before = ""
        headers = {} if self.last_id is None else {"Last-Event-ID": self.last_id}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            # What breaks before there is an answer is HAProxy's to mend, and an error here.
            connection.request("POST", "/v1/chat/completions", json.dumps(self.body), headers)
            answer = connection.getresponse()
            if answer.status != 200:
                raise AssertionError(f"status {answer.status}: {answer.read()}")
            self.on_begin(answer.headers["X-Replica"])
            try:
                done = self.read_events(answer)
            except (http.client.IncompleteRead, ConnectionError):
                done = False
        finally:
            connection.close()
        if before and not (self.text.startswith(before) or before.startswith(self.text)):
            raise AssertionError(f"another text the second time: {before!r}, {self.text!r}")
        return done


@unittest.skipUnless(shutil.which("haproxy"), "haproxy is missing: scripts/install_deps.sh haproxy")
class HAProxy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.log_path = pathlib.Path(folder.name) / "haproxy.log"
        self.port = free_port()
        self.ports = {"a": free_port(), "b": free_port()}
        self.replicas = {}
        for name in self.ports:
            self.start(name)
        with self.log_path.open("wb") as log:
            self.proxy = subprocess.Popen(
                ["haproxy", "-db", "-f", str(CONFIG)], stdout=log, stderr=log,
                env={**os.environ, "HUNCH_LISTEN": f"127.0.0.1:{self.port}",
                     **{f"HUNCH_{name.upper()}": f"127.0.0.1:{port}" for name, port in self.ports.items()}})
        self.addCleanup(self.end, self.proxy, signal.SIGKILL)
        self.wait_for_replicas(2)

    def start(self, name):
        self.replicas[name] = subprocess.Popen(
            [HUNCH, "serve", "--model", str(MODEL), "--port", str(self.ports[name]), "--max-num-seqs", "4", "--threads", "1"],
            stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, self.replicas[name], signal.SIGKILL)
        self.assertIn("listening", self.replicas[name].stderr.readline())

    @staticmethod
    def end(process, number):
        if process.poll() is None:
            process.send_signal(number)
            process.wait(PATIENCE)
        if process.stderr:
            process.stderr.close()

    def wait_for_replicas(self, count):
        """Until that many answer: whoever asks for other texts gets to all of them."""
        end = time.monotonic() + PATIENCE
        index = 0
        seen = {}
        while len({name for name, when in seen.items() if when > time.monotonic() - 5}) < count:
            self.assertLess(time.monotonic(), end, f"{self.log_path.read_text()[-2000:]}")
            try:
                status, headers, _ = ask(self.port, chat(index, 1))
                if status == 200:
                    seen[headers["X-Replica"]] = time.monotonic()
            except (ConnectionError, http.client.HTTPException):
                pass
            index += 1
            time.sleep(0.02)

    def replica_of(self, body, **headers):
        status, answered, text = ask(self.port, body, headers={name.replace("_", "-"): value for name, value in headers.items()}.items())
        self.assertEqual(status, 200, text)
        return answered["X-Replica"]

    def test_all_turns_of_a_chat_go_to_one_replica_and_chats_to_both(self):
        for system in (None, "be brief " * 10):
            counts = {"a": 0, "b": 0}
            for index in range(24):
                body = chat(index, 1)
                if system:
                    body["messages"].insert(0, {"role": "system", "content": system})
                replica = self.replica_of(body)
                counts[replica] += 1
                for turn in range(3):
                    body["messages"] += [{"role": "assistant", "content": f"answer {turn}"}, {"role": "user", "content": "go on"}]
                    self.assertEqual(self.replica_of({"temperature": turn / 2, **body}), replica)
            self.assertGreaterEqual(min(counts.values()), 3, counts)

    def test_a_client_can_say_what_belongs_together(self):
        for session in range(6):
            replicas = {self.replica_of(chat(index, 1), X_Session_Affinity=f"session {session}") for index in range(6)}
            self.assertEqual(len(replicas), 1)

    def test_raw_prompts_that_begin_alike_go_to_one_replica(self):
        start = "the and " * 40
        replicas = set()
        for end in ("one", "two", "three", "four", "five", "six"):
            status, headers, _ = ask(self.port, {"prompt": start + end, "max_tokens": 1}, "/v1/completions")
            self.assertEqual(status, 200)
            replicas.add(headers["X-Replica"])
        self.assertEqual(len(replicas), 1)

    def test_what_is_each_replicas_own_is_not_passed_on(self):
        for path in ("/metrics", "/v1/speculation"):
            self.assertEqual(ask(self.port, None, path)[0], 404)
        self.assertEqual(ask(self.ports["a"], None, "/metrics")[0], 200)

    def test_without_a_replica_it_says_so(self):
        self.assertEqual(ask(self.port, None, "/health")[0], 200)
        for process in self.replicas.values():
            self.end(process, signal.SIGKILL)
        end = time.monotonic() + PATIENCE
        while ask(self.port, None, "/health")[0] != 503:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        status, headers, text = ask(self.port, chat(1, 1))
        self.assertEqual((status, headers["Retry-After"], json.loads(text)["error"]["code"]), (503, "1", "no_replica"))
        for name in self.ports:
            self.start(name)
        self.wait_for_replicas(2)

    def test_a_replica_that_drains_loses_nothing(self):
        stop = threading.Event()

        def client(number):
            answers = 0
            while not stop.is_set() or answers == 0:
                status, _, text = ask(self.port, chat(1000 * number + answers, 20))
                if status != 200:
                    return f"status {status}: {text}"
                answers += 1
            return None

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            clients = [pool.submit(client, number) for number in range(4)]
            time.sleep(0.3)
            self.end(self.replicas["a"], signal.SIGTERM)
            time.sleep(0.3)
            stop.set()
            self.assertEqual([each.result(PATIENCE) for each in clients], [None] * 4)
        self.assertEqual(self.replicas["a"].returncode, 0)

    def test_one_is_killed_under_load_and_nothing_is_lost(self):
        bodies = [chat(index, 300 if index % 2 else 60 + 10 * (index % 20)) for index in range(REQUESTS)]

        def expected(body):
            status, _, text = ask(self.ports["b"], body)
            self.assertEqual(status, 200)
            return json.loads(text)["choices"][0]["message"]["content"]

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            texts = list(pool.map(expected, bodies))
        answered = []
        in_the_middle = threading.Event()  # of the load, and of a stream from the replica that will be killed

        def began(replica):
            if replica == "a" and len(answered) >= REQUESTS // 4:
                in_the_middle.set()

        def client(index):
            """(text, how often its stream broke)."""
            if index % 2:
                stream = Stream(self.port, bodies[index], began)
                result = stream.text, stream.breaks
            else:
                status, _, text = ask(self.port, bodies[index])
                if status != 200:
                    return f"status {status}: {text}", 0
                result = json.loads(text)["choices"][0]["message"]["content"], 0
            answered.append(index)
            return result

        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            results = [pool.submit(client, index) for index in range(REQUESTS)]
            self.assertTrue(in_the_middle.wait(PATIENCE))
            self.replicas["a"].kill()
            self.replicas["a"].wait(PATIENCE)
            self.start("a")  # as a supervisor would
            results = [result.result(PATIENCE) for result in results]
        for index, (text, _) in enumerate(results):
            self.assertEqual(text, texts[index], index)
        broken = sum(breaks for _, breaks in results)
        # HAProxy's fifth count of connections is of retries, with a plus when one went to another server.
        retried = len(re.findall(r" \d+/\d+/\d+/\d+/\+?[1-9]\d* \d+/\d+ ", self.log_path.read_text()))
        print(f"\n{REQUESTS} requests, {broken} streams broken and resumed, {retried} requests sent again by HAProxy", file=sys.stderr)
        self.assertGreater(broken, 0)
        self.assertGreater(retried, 0)
        self.wait_for_replicas(2)


if __name__ == "__main__":
    HUNCH = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
