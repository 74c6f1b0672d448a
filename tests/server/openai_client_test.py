#!/usr/bin/env python3
"""hunch serve on SmolLM2, asked by OpenAI's own Python client: what it answers, and that the text is `hunch run`'s.

    openai_client_test.py HUNCH [unittest's arguments]     PYTHONPATH: what scripts/setup_client prints
"""
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import unittest
import urllib.error
import urllib.request

try:
    import openai
except ImportError:
    if any((pathlib.Path(folder) / "openai").is_dir() for folder in sys.path):
        raise  # it is there and does not work
    openai = None

KEY = "test-key"
MESSAGES = [{"role": "user", "content": "Count from one to thirty."}]
POEM = [{"role": "user", "content": "Write a short poem about a river."}]
SAMPLED = {"temperature": 0.8, "seed": 11, "max_tokens": 40}


def model_path(file="SmolLM2-135M-Instruct.Q4_1.gguf"):
    folder = os.environ.get("HUNCH_MODELS_DIR")
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return (pathlib.Path(folder) if folder else pathlib.Path(cache) / "hunch/models") / file


class Server:
    """A running `hunch serve` on a free port."""

    def __init__(self, *flags, model=None):
        self.process = subprocess.Popen(
            [HUNCH, "serve", "--model", str(model or model_path()), "--port", "0", "--max-model-len", "1024", *flags],
            stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        match = re.search(r"listening on (http://\S+)", line)
        if not match:
            raise RuntimeError(f"the server did not start: {line}{self.process.stderr.read()}")
        self.url = match[1]

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        code = self.process.wait(timeout=60)
        self.process.stderr.close()
        return code

    def client(self, key=KEY, strict=True):
        """Strict: an answer that is not of the client's types is an error."""
        return openai.OpenAI(base_url=f"{self.url}/v1", api_key=key, max_retries=0, timeout=120,
                             _strict_response_validation=strict)

    def call(self, path, body=None, key=KEY):
        """(status, JSON) of a request by hand."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Authorization": f"Bearer {key}"})
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)


def hunch_run(prompt, *flags):
    """What `hunch run` says alone."""
    done = subprocess.run([HUNCH, "run", "--model", str(model_path()), "--max-model-len", "1024", "--json", *flags, prompt],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def stream_text(chunks):
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


@unittest.skipUnless(openai, "the openai client is missing: scripts/setup_client installs it")
@unittest.skipUnless(model_path().exists(), "model smollm2 is not in the model folder")
class ServedTest(unittest.TestCase):
    """Tests that share a server, and its client."""
    flags = ()

    @classmethod
    def setUpClass(cls):
        cls.server = Server("--api-key", KEY, "--served-model-name", "smollm2", "--max-num-seqs", "4", *cls.flags)
        cls.client = cls.server.client()
        cls.chat = staticmethod(lambda **more: cls.client.chat.completions.create(
            **{"model": "smollm2", "messages": MESSAGES, **SAMPLED, **more}))

    @classmethod
    def tearDownClass(cls):
        code = cls.server.stop()
        assert code == 0, f"exit code {code}"


class OpenAiClientTest(ServedTest):
    flags = ("--max-queue-len", "4")

    def assert_idle(self):
        """Within ten seconds nothing runs any more."""
        for _ in range(100):
            load = self.server.call("/health")[1]
            if load["running"] + load["waiting"] == 0:
                return
            time.sleep(0.1)
        self.fail(f"still busy: {load}")

    def test_models(self):
        self.assertEqual([model.id for model in self.client.models.list()], ["smollm2"])
        self.assertEqual(self.client.models.retrieve("smollm2").owned_by, "hunch")

    def test_answers_have_the_form_that_was_asked_for(self):
        schema = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 20}, "people": {"type": "integer"}},
                  "required": ["city", "people"]}
        form = {"type": "json_schema", "json_schema": {"name": "city", "strict": True, "schema": schema}}
        asked = [{"role": "user", "content": "Name a city."}]
        for temperature in (0, 1):
            answer = self.chat(messages=asked, response_format=form, temperature=temperature, max_tokens=120)
            city = json.loads(answer.choices[0].message.content)
            self.assertEqual(set(city), {"city", "people"})
            self.assertIsInstance(city["people"], int)
            plain = self.chat(messages=asked, response_format=form, temperature=temperature, max_tokens=120,
                              extra_body={"speculation": {"enabled": False}})
            self.assertEqual(plain.choices[0].message.content, answer.choices[0].message.content)
        streamed = stream_text(self.chat(messages=asked, response_format=form, max_tokens=120, stream=True))
        self.assertEqual(set(json.loads(streamed)), {"city", "people"})
        choice = self.chat(messages=asked, extra_body={"structured_outputs": {"choice": ["Rome", "Oslo"]}})
        self.assertIn(choice.choices[0].message.content, ("Rome", "Oslo"))
        with self.assertRaises(openai.BadRequestError) as refused:
            self.chat(response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "nonsense"}}})
        self.assertEqual(refused.exception.body["param"], "response_format.json_schema.schema")

    def test_a_chat_says_what_hunch_run_says(self):
        answer = self.chat()
        alone = hunch_run(MESSAGES[0]["content"], "--temperature", "0.8", "--seed", "11", "--max-tokens", "40")
        self.assertEqual(answer.choices[0].message.content, alone["text"])
        self.assertEqual(answer.choices[0].finish_reason, alone["finish_reason"])
        self.assertEqual(answer.usage.prompt_tokens, alone["prompt_tokens"])
        self.assertEqual(answer.usage.completion_tokens, alone["completion_tokens"])
        self.assertEqual(answer.seed, 11)
        self.assertTrue(answer.system_fingerprint)
        self.assertGreater(answer.timings["draft_n"], 0)
        plain = self.chat(extra_body={"speculation": {"enabled": False}})
        self.assertEqual(plain.choices[0].message.content, alone["text"])
        self.assertEqual(plain.timings["draft_n"], 0)

    def test_a_prompt_that_begins_alike_is_read_once(self):
        system = [{"role": "system", "content": "You know all about rivers. " * 8}]
        cold = self.chat(messages=system + POEM, extra_body={"cache_salt": "mine"})
        hot = self.chat(messages=system + POEM, extra_body={"cache_salt": "mine"})
        other = self.chat(messages=system + POEM, extra_body={"cache_salt": "other"})
        self.assertGreater(hot.usage.prompt_tokens_details.cached_tokens, 32)
        self.assertEqual(cold.usage.prompt_tokens_details.cached_tokens, 0)
        self.assertEqual(other.usage.prompt_tokens_details.cached_tokens, 0)
        self.assertEqual(hot.choices, cold.choices)

    def test_a_drawn_seed_gives_the_text_again(self):
        first = self.client.chat.completions.create(model="smollm2", messages=POEM, max_tokens=20)
        again = self.client.chat.completions.create(model="smollm2", messages=POEM, max_tokens=20, seed=first.seed)
        self.assertEqual(first.choices[0].message.content, again.choices[0].message.content)

    def test_a_stream_is_the_whole_in_pieces(self):
        whole = self.chat(stop=["5"])
        chunks = list(self.chat(stop=["5"], stream=True, stream_options={"include_usage": True}))
        self.assertEqual(stream_text(chunks), whole.choices[0].message.content)
        self.assertEqual(chunks[0].choices[0].delta.role, "assistant")
        self.assertEqual(chunks[-2].choices[0].finish_reason, whole.choices[0].finish_reason)
        self.assertEqual(chunks[-1].usage.completion_tokens, whole.usage.completion_tokens)
        self.assertGreater(len(chunks), 4)

    def test_completions(self):
        asked = {"model": "smollm2", "prompt": "Once upon a time", "max_tokens": 24, "temperature": 0}
        answer = self.client.completions.create(**asked)
        alone = hunch_run("Once upon a time", "--raw", "--max-tokens", "24")
        self.assertEqual(answer.choices[0].text, alone["text"])
        # Not strictly: the client's type of a chunk wants a finish_reason where OpenAI sends null.
        lenient = self.server.client(strict=False)
        pieces = [chunk.choices[0].text for chunk in lenient.completions.create(**asked, stream=True)]
        self.assertEqual("".join(pieces), alone["text"])
        echoed = self.client.completions.create(**{**asked, "prompt": ["Once upon a time", "The sky is"], "echo": True})
        self.assertEqual(echoed.choices[0].text, "Once upon a time" + alone["text"])
        self.assertTrue(echoed.choices[1].text.startswith("The sky is"))

    def test_logprobs(self):
        content = self.chat(logprobs=True, top_logprobs=3).choices[0].logprobs.content
        text = b"".join(bytes(entry.bytes) for entry in content).decode()
        self.assertEqual(text, self.chat().choices[0].message.content)
        for entry in content:
            self.assertEqual(len(entry.top_logprobs), 3)
            self.assertLessEqual(entry.logprob, entry.top_logprobs[0].logprob)
        streamed = [entry.logprob for chunk in self.chat(logprobs=True, stream=True)
                    if chunk.choices[0].logprobs for entry in chunk.choices[0].logprobs.content]
        self.assertEqual(streamed, [entry.logprob for entry in content])
        legacy = self.client.completions.create(model="smollm2", prompt="One, two,", max_tokens=4, logprobs=2, temperature=0).choices[0]
        self.assertEqual("".join(legacy.logprobs.tokens), legacy.text)
        self.assertEqual(legacy.logprobs.text_offset[1], len(legacy.logprobs.tokens[0]))

    def test_an_echoed_prompt_has_logprobs(self):
        asked = {"model": "smollm2", "max_tokens": 12, "logprobs": 2, "temperature": 0}
        prompt = ("Once upon a time there was a river. " * 8).strip()
        # Not strictly: the client's types want a number where OpenAI sends null, for the first token.
        lenient = self.server.client(strict=False).completions
        alone = self.client.completions.create(**asked, prompt=prompt).choices[0]
        whole = lenient.create(**asked, prompt=prompt, echo=True).choices[0]
        self.assertEqual(whole.text, prompt + alone.text)
        own = whole.logprobs
        self.assertEqual("".join(own.tokens), whole.text)
        self.assertEqual([whole.text[at:at + len(token)] for at, token in zip(own.text_offset, own.tokens)], own.tokens)
        self.assertEqual((own.token_logprobs[0], own.top_logprobs[0]), (None, None))
        begun = len(own.tokens) - len(alone.logprobs.tokens)
        self.assertEqual(own.token_logprobs[begun:], alone.logprobs.token_logprobs)
        self.assertTrue(all(logprob <= 0 for logprob in own.token_logprobs[1:]))
        # What the model said is scored as it was when it said it.
        scored = lenient.create(**asked, prompt=whole.text, echo=True).choices[0].logprobs
        self.assertEqual(scored.token_logprobs[:len(own.tokens)], own.token_logprobs)
        self.assertEqual(scored.top_logprobs[:len(own.tokens)], own.top_logprobs)
        chunks = list(lenient.create(**asked, prompt=prompt, echo=True, stream=True))
        self.assertEqual("".join(chunk.choices[0].text for chunk in chunks), whole.text)
        streamed = [chunk.choices[0].logprobs for chunk in chunks if chunk.choices[0].logprobs]
        for name in ["tokens", "token_logprobs", "text_offset", "top_logprobs"]:
            self.assertEqual([entry for part in streamed for entry in getattr(part, name)], getattr(own, name))

    def test_choices(self):
        several = self.chat(n=3)
        texts = [choice.message.content for choice in several.choices]
        self.assertEqual(texts[0], self.chat().choices[0].message.content)
        self.assertEqual(len(set(texts)), 3)
        chunks = list(self.chat(n=3, stream=True))
        for i, text in enumerate(texts):
            own = [chunk for chunk in chunks if chunk.choices[0].index == i]
            self.assertEqual(stream_text(own), text)

    def test_clients_side_by_side_read_what_each_would_alone(self):
        asked = [{"seed": seed, "messages": messages, "extra_body": {"speculation": {"method": method}}}
                 for seed, (messages, method) in enumerate([(MESSAGES, "auto"), (POEM, "ngram"), (POEM, "auto"), (MESSAGES, "none")])]
        alone = [self.chat(**one).choices[0].message.content for one in asked]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            together = list(pool.map(lambda one: stream_text(self.chat(**one, stream=True)), asked))
        self.assertEqual(together, alone)

    def test_guessing_is_swapped_while_requests_run(self):
        """Also to a draft model that was not there; no request is dropped, and no text changes."""
        server = Server("--api-key", KEY, "--audit-rate", "1", "--max-num-batched-tokens", "16")
        self.addCleanup(server.process.kill)
        long = {**SAMPLED, "max_tokens": 400, "extra_body": {"ignore_eos": True}}
        chat = lambda **more: server.client().chat.completions.create(model=model_path().stem, messages=MESSAGES, **long, **more)
        alone = chat().choices[0].message.content
        begun = threading.Barrier(4, timeout=60)

        def read_stream():
            stream = chat(stream=True)
            first = [next(stream), next(stream)]
            begun.wait()
            return stream_text(first + list(stream))
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            running = [pool.submit(read_stream) for _ in range(3)]
            begun.wait()
            for config in [{"method": "ngram"}, {"model": str(model_path()), "num_speculative_tokens": 3}, {"method": "none"},
                           {"disable_by_batch_size": 2, "max_model_len": 100}]:
                status, state = server.call("/v1/speculation", config)
                self.assertEqual(status, 200, state)
                self.assertEqual(state["enabled"], config.get("method") != "none")
                time.sleep(0.05)
            texts = [future.result() for future in running]
        self.assertEqual(texts, [alone] * 3)
        self.assertEqual(server.call("/v1/speculation", {"model": "no-such-file.gguf"})[0], 400)
        self.assertEqual(server.call("/v1/speculation", {}, key="wrong")[0], 401)
        drafters = [drafter["name"] for drafter in server.call("/v1/speculation")[1]["drafters"]]
        self.assertIn("draft_model", drafters)

        def metric(name):
            with urllib.request.urlopen(f"{server.url}/metrics", timeout=60) as answer:
                return float(re.search(rf"^{name}{{.*}} (.*)$", answer.read().decode(), re.MULTILINE)[1])
        deadline = time.time() + 300  # sanitized, an audit takes 20 seconds
        while metric("hunch_lossless_audit_checked_total") < 4 and time.time() < deadline:
            time.sleep(0.1)
        self.assertEqual(metric("hunch_lossless_audit_checked_total"), 4)
        self.assertEqual(metric("hunch_lossless_audit_mismatch_total"), 0)
        self.assertEqual(metric("hunch_kernel_self_check"), 1)
        self.assertEqual(server.stop(), 0)

    def test_wrong_input_names_the_field(self):
        for field, value in [("temperature", -1), ("n", 0), ("top_logprobs", 21), ("messages", []), ("logit_bias", {"1": 1000}),
                             ("stop", [""]), ("max_tokens", "many")]:
            more = {"logprobs": True} if field == "top_logprobs" else {}
            with self.subTest(field), self.assertRaises(openai.BadRequestError) as caught:
                self.chat(**{field: value}, **more)
            self.assertEqual(caught.exception.param, field)
        with self.assertRaises(openai.BadRequestError) as caught:
            self.chat(messages=[{"role": "king", "content": "Hi"}])
        self.assertEqual(caught.exception.param, "messages[0].role")
        with self.assertRaisesRegex(openai.BadRequestError, "no room in the context"):
            self.chat(messages=[{"role": "user", "content": "word " * 2000}], stream=True)
        with self.assertRaises(openai.NotFoundError) as caught:
            self.chat(model="gpt-4")
        self.assertEqual(caught.exception.code, "model_not_found")
        with self.assertRaises(openai.AuthenticationError):
            self.server.client(key="wrong").models.list()
        for path, body, status in [("/v1/chat/completions", b"{not json", 400), ("/v1/nothing", None, 404),
                                   ("/v1/completions", None, 405), ("/v1/completions", b'{"prompt": "' + b"a" * (9 << 20) + b'"}', 413)]:
            with self.subTest(path=path, status=status):
                got, answer = self.server.call(path, body)
                self.assertEqual(got, status)
                self.assertIn("message", answer["error"])

    def test_a_client_that_leaves_frees_its_place(self):
        endless = {"max_tokens": 900, "extra_body": {"ignore_eos": True}, "stream": True}
        with self.chat(**endless) as stream:
            next(iter(stream))
        self.assert_idle()

    def test_tokens(self):
        status, tokens = self.server.call("/tokenize", {"prompt": "Hello, world", "return_token_strs": True})
        self.assertEqual(status, 200)
        self.assertEqual("".join(tokens["token_strs"]), "Hello, world")
        self.assertEqual(self.server.call("/detokenize", {"tokens": tokens["tokens"]})[1]["prompt"], "Hello, world")
        chat = self.server.call("/tokenize", {"messages": MESSAGES})[1]
        self.assertEqual(chat["count"], self.chat(max_tokens=1).usage.prompt_tokens)

    def test_a_full_queue_is_said_and_a_signal_lets_answers_finish(self):
        server = Server("--max-num-seqs", "1", "--max-queue-len", "0")
        chat = server.client().chat.completions
        name = model_path().stem
        stream = iter(chat.create(model=name, messages=MESSAGES, **{**SAMPLED, "max_tokens": 200}, stream=True))
        begun = [next(stream)]
        with self.assertRaises(openai.RateLimitError) as caught:
            chat.create(model=name, messages=MESSAGES)
        self.assertEqual(caught.exception.response.headers["retry-after"], "1")
        server.process.send_signal(signal.SIGTERM)
        chunks = begun + list(stream)
        whole = self.chat(max_tokens=200).choices[0]
        self.assertEqual(chunks[-1].choices[0].finish_reason, whole.finish_reason)
        self.assertEqual(stream_text(chunks), whole.message.content)
        self.assertEqual(server.stop(signal.SIGCONT), 0)


if __name__ == "__main__":
    HUNCH = sys.argv.pop(1)
    unittest.main()
