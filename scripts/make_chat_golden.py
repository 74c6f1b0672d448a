#!/usr/bin/env python3
"""Makes the golden files of tests/golden/chat with jinja2, set up as Hugging Face sets it up.

    make_chat_golden.py cases               writes cases.jsonl: small templates, one construct each, and their output
    make_chat_golden.py models DIR          writes model_templates.jsonl: for every *.jinja in DIR and every row of
                                            chats.jsonl the length and FNV-1a hash of the output, or that it fails

The templates of published models are other people's files, so only hashes of what they print are kept; the test
that compares with them runs where HUNCH_CHAT_TEMPLATES_DIR names a folder of them (llama.cpp's models/templates,
which the llama-cpp-python 0.3.36 sdist has). Needs jinja2 3.1.6.
"""

import datetime
import json
import pathlib
import sys

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = 1_700_000_000
GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden" / "chat"


class Generation(jinja2.ext.Extension):
    """{% generation %}: prints its body, as when nobody asks for the assistant's tokens."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_print"), [], [], body).set_lineno(line)

    def _print(self, caller):
        return caller()


def environment():
    env = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                          sort_keys=sort_keys)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def strftime_now(text):
        return datetime.datetime.fromtimestamp(NOW, datetime.timezone.utc).strftime(text)

    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = strftime_now
    return env


def render(source, chat):
    """The output, or the exception."""
    variables = {
        "messages": chat.get("messages", []),
        "tools": chat.get("tools"),
        "documents": None,
        "add_generation_prompt": chat.get("add_generation_prompt", True),
        "bos_token": chat.get("bos_token", "<s>"),
        "eos_token": chat.get("eos_token", "</s>"),
        **chat.get("extra", {}),
    }
    try:
        return environment().from_string(source).render(**variables)
    except Exception as error:  # whatever a template can make Python raise
        return error


def fnv1a(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"


def write(name, rows):
    with open(GOLDEN / name, "w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(f"{name}: {len(rows)} rows")


def make_cases():
    import chat_golden_cases
    rows = []
    extra = chat_golden_cases.VARIABLES
    for source in chat_golden_cases.all_cases():
        row = {"template": source}
        result = render(source, {"extra": extra})
        if isinstance(result, Exception):
            row["error"] = f"{type(result).__name__}: {result}"
        else:
            row["output"] = result
        rows.append(row)
    write("cases.jsonl", [{"variables": chat_golden_cases.VARIABLES}] + rows)


def make_models(folder):
    chats = [json.loads(line) for line in open(GOLDEN / "chats.jsonl", encoding="utf-8")]
    rows = []
    for path in sorted(pathlib.Path(folder).glob("*.jinja")):
        source = path.read_text(encoding="utf-8")
        for index, chat in enumerate(chats):
            result = render(source, chat)
            row = {"file": path.name, "chat": index}
            if isinstance(result, jinja2.exceptions.TemplateError) and type(
                    result) is jinja2.exceptions.TemplateError:
                row["raised"] = fnv1a(str(result).encode())
            elif isinstance(result, Exception):
                row["failed"] = type(result).__name__
            else:
                data = result.encode()
                row.update(bytes=len(data), fnv1a=fnv1a(data))
            rows.append(row)
    write("model_templates.jsonl", rows)


if __name__ == "__main__":
    if sys.argv[1:] == ["cases"]:
        make_cases()
    elif len(sys.argv) == 3 and sys.argv[1] == "models":
        make_models(sys.argv[2])
    else:
        sys.exit(__doc__)
