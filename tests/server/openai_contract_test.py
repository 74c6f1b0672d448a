#!/usr/bin/env python3
"""The API's contract, held with OpenAI's own Python client: what is refused and by which field, what each field does,
streams that go on at another server, and calls of tools.

    openai_contract_test.py HUNCH [unittest's arguments]     PYTHONPATH: what scripts/setup_client prints
"""
import json
import sys
import unittest
import urllib.request

import openai_client_test as base
from openai_client_test import KEY, MESSAGES, POEM, SAMPLED, Server, model_path, openai, stream_text

TOOL_MODEL = model_path("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf")
WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "The weather of a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}
CHAT, COMPLETION = "/chat/completions", "/completions"


def function(name, **more):
    return {"tools": [{"type": "function", "function": {"name": name, **more}}]}


def chosen(name):
    return {"tool_choice": {"type": "function", "function": {"name": name}}}


def called(call):
    return {"messages": [{"role": "assistant", "content": None, "tool_calls": [call]}]}


# What is asked beside a good request, and the field that is named.
WRONG_IN_BOTH = [
    ({"temperature": -0.5}, "temperature"), ({"temperature": "hot"}, "temperature"),
    ({"top_p": 0}, "top_p"), ({"top_p": 1.5}, "top_p"), ({"top_k": -2}, "top_k"), ({"min_p": 2}, "min_p"),
    ({"typical_p": 0}, "typical_p"), ({"repetition_penalty": 0}, "repetition_penalty"),
    ({"presence_penalty": 2.5}, "presence_penalty"), ({"frequency_penalty": -3}, "frequency_penalty"),
    ({"n": 0}, "n"), ({"n": 65}, "n"), ({"n": 1.5}, "n"), ({"n": "2"}, "n"),
    ({"max_tokens": 0}, "max_tokens"), ({"max_tokens": "many"}, "max_tokens"), ({"max_completion_tokens": -1}, "max_completion_tokens"),
    ({"min_tokens": -1}, "min_tokens"), ({"seed": 1.5}, "seed"), ({"seed": "x"}, "seed"),
    ({"logit_bias": []}, "logit_bias"), ({"logit_bias": {"x": 1}}, "logit_bias"), ({"logit_bias": {"1": 101}}, "logit_bias"),
    ({"logit_bias": {"1": "a"}}, "logit_bias"), ({"logit_bias": {"-1": 1}}, "logit_bias"), ({"logit_bias": {"99999999": 1}}, "logit_bias"),
    ({"stop": ""}, "stop"), ({"stop": 5}, "stop"), ({"stop": ["a", 5]}, "stop"), ({"stop": ["a"] * 17}, "stop"),
    ({"stop_token_ids": [-1]}, "stop_token_ids"), ({"stop_token_ids": [99999999]}, "stop_token_ids"), ({"ignore_eos": 1}, "ignore_eos"),
    ({"stream_options": {"include_usage": 1}, "stream": True}, "stream_options.include_usage"),
    ({"stream_options": 5, "stream": True}, "stream_options"),
    ({"acceptance": "always"}, "acceptance"), ({"cache_salt": 5}, "cache_salt"), ({"model": 5}, "model"),
    ({"speculation": True}, "speculation"), ({"speculation": {"method": "magic"}}, "speculation.method"),
    ({"speculation": {"num_speculative_tokens": 65}}, "speculation.num_speculative_tokens"),
    ({"speculation": {"enabled": "no"}}, "speculation.enabled"), ({"temprature": 1}, "temprature"),
]
WRONG_IN_CHAT = [
    ({"messages": []}, "messages"), ({"messages": "Hi"}, "messages"), ({"messages": [5]}, "messages[0]"),
    ({"messages": [{"role": "king", "content": "Hi"}]}, "messages[0].role"), ({"messages": [{"content": "Hi"}]}, "messages[0].role"),
    ({"messages": [{"role": "user"}]}, "messages[0].content"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0].content[0].type"),
    ({"messages": [{"role": "user", "content": "word " * 2000}]}, "messages"),
    ({"logprobs": 3}, "logprobs"), ({"top_logprobs": 3}, "top_logprobs"), ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
    ({"logprobs": True, "top_logprobs": -1}, "top_logprobs"),
    ({"functions": [{"name": "f"}]}, "functions"), ({"function_call": "auto"}, "function_call"), ({"audio": {"voice": "x"}}, "audio"),
    ({"prompt": "Hi"}, "prompt"),
    ({"tools": {}}, "tools"), ({"tools": [{"type": "code"}]}, "tools[0].type"), ({"tools": [{"type": "function"}]}, "tools[0].function"),
    (function("a b"), "tools[0].function.name"), (function(""), "tools[0].function.name"), (function("a" * 65), "tools[0].function.name"),
    ({"tools": [WEATHER, WEATHER]}, "tools[1].function.name"), (function("f", parameters=[]), "tools[0].function.parameters"),
    (function("f", strict="yes"), "tools[0].function.strict"), (function("f", strict=True, parameters={"type": "string"}), "tools[0].function.parameters"),
    (function("f", strict=True, parameters={"type": "object", "properties": {"a": {"type": "odd"}}}), "tools[0].function.parameters"),
    ({"tool_choice": "required"}, "tool_choice"), ({"tools": [WEATHER], "tool_choice": "get_weather"}, "tool_choice"),
    ({"tools": [WEATHER], **chosen("time")}, "tool_choice.function.name"), ({"tools": [WEATHER], "parallel_tool_calls": 1}, "parallel_tool_calls"),
    ({"messages": [{"role": "tool", "content": "7"}]}, "messages[0].tool_call_id"),
    (called(5), "messages[0].tool_calls[0]"), (called({"id": "1"}), "messages[0].tool_calls[0].function"),
    (called({"id": "1", "function": {"name": "f", "arguments": 5}}), "messages[0].tool_calls[0].function.arguments"),
    # SmolLM2's template knows no tools.
    ({"tools": [WEATHER]}, "tools"),
]
WRONG_IN_COMPLETIONS = [
    ({"prompt": None}, "prompt"), ({"prompt": {"a": 1}}, "prompt"), ({"prompt": [1, "a"]}, "prompt"), ({"prompt": [-1]}, "prompt"),
    ({"prompt": ""}, "prompt"), ({"prompt": [99999999]}, "prompt"), ({"prompt": ["a"] * 65}, "prompt"), ({"prompt": "word " * 2000}, "prompt"),
    ({"suffix": "end"}, "suffix"), ({"best_of": 3}, "best_of"), ({"n": 2, "best_of": 1}, "best_of"), ({"logprobs": 21}, "logprobs"),
    ({"logprobs": True}, "logprobs"), ({"echo": 1}, "echo"), ({"messages": MESSAGES}, "messages"),
]


def events_of(lines):
    """[(id, object)] of a stream's lines, without what differs from run to run: how long it took."""
    events, number = [], None
    for line in lines:
        if line.startswith("id: "):
            number = line[4:]
        elif line.startswith("data: ") and line != "data: [DONE]":
            event = json.loads(line[6:])
            event.pop("timings", None)
            events.append((number, event))
    return events


class ContractTest(base.ServedTest):
    flags = ("--max-queue-len", "128", "--allowed-origins", "http://localhost:3000")

    def test_whatever_is_wrong_is_named(self):
        good = {CHAT: {"messages": MESSAGES, "max_tokens": 1}, COMPLETION: {"prompt": "Hi", "max_tokens": 1}}
        table = [(path, *row) for path in good for row in WRONG_IN_BOTH]
        table += [(CHAT, *row) for row in WRONG_IN_CHAT] + [(COMPLETION, *row) for row in WRONG_IN_COMPLETIONS]
        for path, wrong, param in table:
            for stream in [False, True]:
                body = {**good[path], "stream": stream, **wrong}
                with self.subTest(path=path, wrong=str(wrong)[:100], stream=stream):
                    with self.assertRaises(openai.BadRequestError) as caught:
                        self.client.post(path, body=body, cast_to=object)
                    error = caught.exception
                    self.assertEqual((error.param, error.type), (param, "invalid_request_error"))
                    self.assertGreater(len(error.body["message"]), 10)
        for path, body in good.items():
            self.client.post(path, body=body, cast_to=object)  # so it was not these
            with self.assertRaises(openai.NotFoundError) as caught:
                self.client.post(path, body={**body, "model": "gpt-4"}, cast_to=object)
            self.assertEqual((caught.exception.param, caught.exception.code), ("model", "model_not_found"))
            with self.assertRaises(openai.BadRequestError) as caught:
                self.client.post(path, body={**body, "stream_options": {"include_usage": True}}, cast_to=object)
            self.assertEqual(caught.exception.param, "stream_options")

    def test_the_earliest_of_several_stops(self):
        text = self.chat(messages=POEM).choices[0].message.content
        self.assertGreater(len(text), 15)
        stops = [text[-3:], text[8:11], text[-6:-2]]
        answer = self.chat(messages=POEM, stop=stops).choices[0]
        self.assertEqual(answer.message.content, text[:min(text.find(stop) for stop in stops)])
        self.assertEqual(answer.finish_reason, "stop")

    def test_max_completion_tokens(self):
        answer = self.client.chat.completions.create(model="smollm2", messages=MESSAGES, temperature=0,
                                                     max_completion_tokens=5)
        self.assertEqual((answer.usage.completion_tokens, answer.choices[0].finish_reason), (5, "length"))

    def test_logit_bias_moves_the_token_that_it_names(self):
        token = self.server.call("/tokenize", {"prompt": " river", "add_special_tokens": False})[1]["tokens"]
        self.assertEqual(len(token), 1)
        biased = self.chat(logit_bias={str(token[0]): 100}, temperature=0, max_tokens=3)
        self.assertEqual(biased.choices[0].message.content.strip().split(), ["river"] * 3)

    def test_usage_of_a_stream_with_choices(self):
        chunks = list(self.chat(n=3, stream=True, stream_options={"include_usage": True}, max_tokens=6))
        whole = self.chat(n=3, max_tokens=6)
        self.assertEqual(chunks[-1].choices, [])
        self.assertEqual(chunks[-1].usage.completion_tokens, whole.usage.completion_tokens)
        self.assertEqual(chunks[-1].usage.prompt_tokens, whole.usage.prompt_tokens)
        for i, choice in enumerate(whole.choices):
            own = [chunk for chunk in chunks if chunk.choices and chunk.choices[0].index == i]
            self.assertEqual(stream_text(own), choice.message.content)
            self.assertEqual(own[-1].choices[0].finish_reason, choice.finish_reason)

    def test_best_of_n_is_n(self):
        asked = {"model": "smollm2", "prompt": "One, two,", "max_tokens": 4, "n": 2, "seed": 3}
        self.assertEqual(self.client.completions.create(**asked, best_of=2).choices, self.client.completions.create(**asked).choices)

    def test_an_answer_says_what_made_it(self):
        first, second = self.chat(seed=None, max_tokens=1), self.chat(seed=None, max_tokens=1)
        self.assertNotEqual(first.seed, second.seed)
        self.assertRegex(first.system_fingerprint, r"^hunch-[0-9a-f]{16}-f16-\d+$")
        self.assertEqual(first.system_fingerprint, second.system_fingerprint)

    def test_pages_of_named_sites_only(self):
        for origin, allowed in [("http://localhost:3000", "http://localhost:3000"), ("http://elsewhere", None)]:
            request = urllib.request.Request(self.server.url + "/health", headers={"Origin": origin})
            with urllib.request.urlopen(request, timeout=60) as answer:
                self.assertEqual(answer.headers["Access-Control-Allow-Origin"], allowed)

    def lines(self, client, most=None, **more):
        """The first lines of a stream, after which the client leaves."""
        asked = {"model": "smollm2", "messages": POEM, "temperature": 0.8, "max_tokens": 30, "stream": True, **more}
        with client.chat.completions.with_streaming_response.create(**asked) as answer:
            lines = []
            for line in answer.iter_lines():
                lines.append(line)
                if most and len(events_of(lines)) == most:
                    break
        return lines

    def test_a_broken_stream_goes_on_at_another_server(self):
        other = Server("--api-key", KEY, "--served-model-name", "smollm2", "--speculative-config", '{"method": "none"}')
        try:
            for more in [{}, {"seed": 5, "logprobs": True, "stream_options": {"include_usage": True}}]:
                for most in [1, 4, 17]:
                    begun = events_of(self.lines(self.client, most, **more))
                    last = {"Last-Event-ID": begun[-1][0]}
                    whole = events_of(self.lines(self.client, **more, extra_headers={"Last-Event-ID": begun[0][0]}))
                    rest = self.lines(other.client(), **more, extra_headers=last)
                    self.assertIn("data: [DONE]", rest)
                    joined = begun + events_of(rest)
                    for events in joined, whole:
                        for _, event in events:  # another server's cache
                            (event.get("usage") or {}).pop("prompt_tokens_details", None)
                    self.assertEqual(joined, begun[:1] + whole)
                    self.assertGreater(len(joined), 20)
            with self.assertRaises(openai.BadRequestError) as caught:
                self.lines(other.client(), max_tokens=31, extra_headers=last)
            self.assertEqual(caught.exception.param, "Last-Event-ID")
        finally:
            self.assertEqual(other.stop(), 0)


@unittest.skipUnless(openai, "the openai client is missing: scripts/setup_client installs it")
@unittest.skipUnless(TOOL_MODEL.exists(), "model qwen2.5-coder-0.5b is not in the model folder")
class ToolsTest(unittest.TestCase):
    ASKED = {"model": "qwen", "tools": [WEATHER], "temperature": 0, "seed": 1, "max_tokens": 60,
             "messages": [{"role": "user", "content": "What is the weather in Paris?"}]}

    @classmethod
    def setUpClass(cls):
        cls.server = Server("--served-model-name", "qwen", model=TOOL_MODEL)
        cls.client = cls.server.client()

    @classmethod
    def tearDownClass(cls):
        code = cls.server.stop()
        assert code == 0, f"exit code {code}"

    def ask(self, **more):
        """The answer's choice, after its stream was found to say the same."""
        choice = self.client.chat.completions.create(**{**self.ASKED, **more}).choices[0]
        calls, content, reason = [], "", None
        for chunk in self.client.chat.completions.create(**{**self.ASKED, **more}, stream=True):
            delta = chunk.choices[0].delta
            content += delta.content or ""
            reason = chunk.choices[0].finish_reason or reason
            for call in delta.tool_calls or []:
                if call.id:
                    self.assertEqual(call.index, len(calls))
                    calls.append([call.function.name, ""])
                calls[call.index][1] += call.function.arguments
        self.assertEqual(calls, [[call.function.name, call.function.arguments] for call in choice.message.tool_calls or []])
        self.assertEqual((content, reason), (choice.message.content or "", choice.finish_reason))
        return choice

    def test_a_call_that_must_come_comes(self):
        for choice in ["required", chosen("get_weather")["tool_choice"]]:
            with self.subTest(choice=choice):
                answer = self.ask(tool_choice=choice)
                self.assertEqual(answer.finish_reason, "tool_calls")
                call = answer.message.tool_calls[0]
                self.assertEqual((call.type, call.function.name), ("function", "get_weather"))
                self.assertIn("Paris", json.loads(call.function.arguments)["city"])

    def test_strict_arguments_are_as_their_schema_says(self):
        parameters = {"type": "object", "properties": {"city": {"enum": ["Oslo", "Rome"]}, "days": {"type": "integer"}},
                      "required": ["city", "days"], "additionalProperties": False}
        strict = {"max_tokens": 100, "tools": [{"type": "function", "function": {"name": "forecast", "strict": True, "parameters": parameters}}, WEATHER],
                  "messages": [{"role": "user", "content": "Make a forecast for Paris, five days, warm and sunny!"}]}
        for choice in ["required", chosen("forecast")["tool_choice"], "auto"]:
            for more in [{}, {"parallel_tool_calls": False, "temperature": 1}, {"extra_body": {"speculation": {"enabled": False}}}]:
                with self.subTest(choice=choice, more=more):
                    answer = self.ask(tool_choice=choice, **strict, **more)
                    calls = answer.message.tool_calls or [] if answer.finish_reason == "tool_calls" else []
                    if choice != "auto":
                        self.assertEqual(answer.finish_reason, "tool_calls")
                        self.assertGreater(len(calls), 0)
                    for call in calls:
                        if call.function.name == "forecast":
                            arguments = json.loads(call.function.arguments)
                            self.assertEqual(set(arguments), {"city", "days"})
                            self.assertIn(arguments["city"], ["Oslo", "Rome"])
                            self.assertIsInstance(arguments["days"], int)
        plain = self.ask(tool_choice="required", **strict, extra_body={"speculation": {"enabled": False}})
        guessed = self.ask(tool_choice="required", **strict)
        self.assertEqual([call.function for call in plain.message.tool_calls], [call.function for call in guessed.message.tool_calls])

    def test_a_form_leaves_room_for_calls(self):
        form = {"type": "json_schema", "json_schema": {"name": "n", "schema": {
            "type": "object", "properties": {"greeting": {"type": "string", "maxLength": 20}}, "required": ["greeting"]}}}
        answer = self.ask(response_format=form, messages=[{"role": "user", "content": "Say hello in JSON."}])
        if not answer.message.tool_calls:
            self.assertEqual(set(json.loads(answer.message.content)), {"greeting"})
        # The token that opens a call is preferred wherever it may come, which is not within these arguments.
        opener, = self.server.call("/tokenize", {"prompt": "<tool_call>"})[1]["tokens"]
        tool = function("get_weather", strict=True, parameters={
            "type": "object", "properties": {"city": {"enum": ["Paris", "Rome"]}}, "required": ["city"]})
        called = self.ask(response_format=form, **tool, logit_bias={str(opener): 30}, parallel_tool_calls=False)
        self.assertEqual((called.finish_reason, called.message.tool_calls[0].function.name), ("tool_calls", "get_weather"))

    def test_the_result_goes_back(self):
        call = self.ask(tool_choice="required", parallel_tool_calls=False).message
        self.assertEqual(len(call.tool_calls), 1)
        messages = self.ASKED["messages"] + [call.model_dump(exclude_none=True),
                                             {"role": "tool", "tool_call_id": call.tool_calls[0].id, "content": '{"degrees": 7}'}]
        answer = self.ask(messages=messages, tool_choice="none")
        self.assertIn("7", answer.message.content)
        self.assertIsNone(answer.message.tool_calls)

    def test_the_model_may_choose(self):
        self.ask(tool_choice="auto")
        self.ask(tool_choice="auto", messages=[{"role": "user", "content": "Say hello."}])

    def test_a_call_that_is_cut_is_none(self):
        answer = self.ask(tool_choice="required", max_tokens=8)
        self.assertEqual(answer.finish_reason, "length")


if __name__ == "__main__":
    base.HUNCH = sys.argv.pop(1)
    unittest.main()
