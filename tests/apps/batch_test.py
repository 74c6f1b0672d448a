#!/usr/bin/env python3
"""hunch batch as a process: killed in the middle and run again, interrupted, and compared with hunch serve and hunch run.

    batch_test.py HUNCH [unittest's arguments]
"""
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

MODEL = pathlib.Path(__file__).resolve().parent.parent / "golden/tiny/llama.gguf"


def request(custom_id, url, **body):
    return {"custom_id": custom_id, "method": "POST", "url": url, "body": {"temperature": 0.8, "ignore_eos": True, **body}}


def requests(count, max_tokens):
    """Chats and completions in turn, without a seed."""
    for i in range(count):
        if i % 2:
            yield request(f"chat-{i}", "/v1/chat/completions", max_tokens=max_tokens,
                          messages=[{"role": "user", "content": f"number {i} and the rest"}])
        else:
            yield request(f"text-{i}", "/v1/completions", max_tokens=max_tokens, prompt=f"the {i} in the")


def read_lines(path):
    # By line feeds alone: a text may hold what Python takes for other ends of lines.
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def text_of(choice):
    return choice["message"]["content"] if "message" in choice else choice["text"]


class Batch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, lines):
        path = self.folder / "in.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    def start(self, source, out):
        return subprocess.Popen([HUNCH, "batch", "--model", str(MODEL), "--max-num-seqs", "4", str(source), "-o", str(out)],
                                stderr=subprocess.PIPE, text=True)

    def finish(self, process, code=0):
        err = process.communicate(timeout=120)[1]
        self.assertEqual(process.returncode, code, err)
        return err

    def run_whole(self, source, out):
        self.finish(self.start(source, out))
        return read_lines(out)

    def answers(self, lines):
        """What must not depend on how the batch was run, by custom_id; each once."""
        answers = {line["custom_id"]: (line["id"], line["error"], line["response"]["status_code"],
                                       line["response"]["body"]["choices"], line["response"]["body"]["seed"])
                   for line in lines}
        self.assertEqual(len(answers), len(lines), "a line came twice")
        return answers

    def grown(self, process, out, lines):
        """Waits until `out` has so many more lines. False: the process was through before."""
        wanted = (out.read_bytes().count(b"\n") if out.exists() else 0) + lines
        while process.poll() is None:
            if out.exists() and out.read_bytes().count(b"\n") >= wanted:
                return True
            time.sleep(0.0005)
        return False

    def test_killed_again_and_again_it_loses_and_repeats_nothing(self):
        source = self.write(requests(60, 400))
        whole = self.run_whole(source, self.folder / "whole.jsonl")
        self.assertEqual(len(whole), 60)
        out = self.folder / "out.jsonl"
        kills, kept = 0, b""
        while True:
            process = self.start(source, out)
            if not self.grown(process, out, 7):
                self.finish(process)
                break
            process.kill()
            process.wait()
            process.stderr.close()
            kills += 1
            now = out.read_bytes()
            self.assertTrue(now.startswith(kept))
            kept = now[:now.rfind(b"\n") + 1]
        self.assertGreaterEqual(kills, 3)
        self.assertEqual(self.answers(read_lines(out)), self.answers(whole))

    def test_a_line_torn_by_a_kill_is_answered_again(self):
        source = self.write(requests(6, 20))
        out = self.folder / "out.jsonl"
        whole = self.run_whole(source, out)
        contents = out.read_bytes()
        out.write_bytes(contents[:-100])
        err = self.finish(self.start(source, out))
        self.assertIn("a torn last line is dropped", err)
        self.assertEqual(self.answers(read_lines(out)), self.answers(whole))

    def test_an_interrupt_keeps_what_is_answered(self):
        source = self.write(requests(60, 400))
        out = self.folder / "out.jsonl"
        process = self.start(source, out)
        self.assertTrue(self.grown(process, out, 5))
        process.send_signal(signal.SIGINT)
        err = self.finish(process, 130)
        self.assertRegex(err, r"stopped: \d+ of 60 lines are answered")
        self.assertTrue(out.read_bytes().endswith(b"}\n"))
        self.assertEqual(len(self.run_whole(source, out)), 60)

    def test_two_at_once_do_not_share_a_file(self):
        source = self.write(requests(60, 400))
        out = self.folder / "out.jsonl"
        first = self.start(source, out)
        self.assertTrue(self.grown(first, out, 1))
        self.assertIn("another hunch batch is writing it", self.finish(self.start(source, out), 2))
        self.finish(first)
        self.assertEqual(len(read_lines(out)), 60)

    def test_says_what_the_server_and_a_lone_run_say(self):
        lines = list(requests(8, 60))
        answers = self.answers(self.run_whole(self.write(lines), self.folder / "out.jsonl"))
        server = subprocess.Popen([HUNCH, "serve", "--model", str(MODEL), "--port", "0"], stderr=subprocess.PIPE, text=True)
        try:
            url = re.search(r"listening on (http://\S+)", server.stderr.readline())[1]
            for line in lines:
                _, _, status, choices, seed = answers[line["custom_id"]]
                self.assertEqual(status, 200)
                body = json.dumps({**line["body"], "seed": seed}).encode()
                with urllib.request.urlopen(urllib.request.Request(url + line["url"], body), timeout=60) as answer:
                    self.assertEqual(json.load(answer)["choices"], choices)
                if "prompt" not in line["body"]:
                    continue
                alone = subprocess.run(
                    [HUNCH, "run", "--model", str(MODEL), "--raw", "--json", "--temperature", "0.8", "--ignore-eos",
                     "--max-tokens", "60", "--seed", str(seed), line["body"]["prompt"]],
                    capture_output=True, text=True, check=True)
                self.assertEqual(json.loads(alone.stdout)["text"], text_of(choices[0]))
        finally:
            server.terminate()
            server.wait(timeout=60)
            server.stderr.close()


if __name__ == "__main__":
    HUNCH = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
