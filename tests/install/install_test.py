#!/usr/bin/env python3
"""Installs a build into an empty folder, builds examples/ against that and nothing else, and runs it.

    install_test.py CMAKE CXX BUILD_FOLDER     of a build that is complete
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODEL = ROOT / "tests/golden/tiny/llama.gguf"


def call(*command):
    """What it prints, byte for byte: a random model prints every kind of line end."""
    done = subprocess.run([str(word) for word in command], capture_output=True, check=False)
    out, err = done.stdout.decode(), done.stderr.decode()
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{out}{err}")
    return out


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.prefix = pathlib.Path(folder.name) / "prefix"
        build = pathlib.Path(folder.name) / "build"
        call(CMAKE, "--install", BUILD, "--prefix", cls.prefix)
        call(CMAKE, "-S", ROOT / "examples", "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={cls.prefix}",
             f"-DCMAKE_CXX_COMPILER={CXX}", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
        call(CMAKE, "--build", build)
        cls.ask = build / "ask"

    def hunch(self, prompt):
        """What the installed program answers with what the example asks for."""
        answer = call(self.prefix / "bin/hunch", "run", "--json", "--model", MODEL, "--temperature", "0.7", "--seed", "1",
                      "--max-tokens", "100", prompt)
        return json.loads(answer)["text"]

    def test_the_example_says_what_the_program_says(self):
        prompt = "the and the"
        self.assertEqual(call(self.ask, MODEL, prompt), self.hunch(prompt) + "\n")

    def test_several_prompts_at_once_say_what_each_says_alone(self):
        prompts = ["the and the", "in the", "re re re"]
        expected = "".join(f"> {prompt}\n{self.hunch(prompt)}\n" for prompt in prompts)
        self.assertEqual(call(self.ask, MODEL, *prompts), expected)

    def test_the_program_looks_for_heads_where_they_are_installed(self):
        installed = self.prefix / "share/hunch/heads"
        shipped = sorted(path.name for path in (ROOT / "heads").glob("*.gguf"))
        self.assertEqual(sorted(path.name for path in installed.iterdir()), shipped)
        # What is no head there is named by whoever looks.
        other = self.prefix / "other"
        other.mkdir()
        for folder, environment in ((installed, {}), (other, {"HUNCH_HEADS": str(other)}), (None, {"HUNCH_HEADS": ""})):
            if folder:
                (folder / "broken.gguf").write_text("GGUF")
            done = subprocess.run([self.prefix / "bin/hunch", "inspect", MODEL], capture_output=True, text=True,
                                  env={**os.environ, **environment}, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stderr.count("broken.gguf"), 1 if folder else 0, done.stderr)
            if folder:
                self.assertIn(str(folder / "broken.gguf"), done.stderr)
                (folder / "broken.gguf").unlink()

    def test_errors_are_told(self):
        done = subprocess.run([self.ask, "no.gguf", "hi"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no.gguf", done.stderr)

    def test_every_header_stands_alone_and_shows_no_source_folder(self):
        headers = sorted((self.prefix / "include/hunch").iterdir())
        self.assertIn("llm.h", [header.name for header in headers])
        for header in headers:
            call(CXX, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", self.prefix / "include", "-x", "c++", header)
        for file in self.prefix.rglob("*.cmake"):
            self.assertNotIn(str(ROOT), file.read_text(), file.name)


if __name__ == "__main__":
    CMAKE, CXX, BUILD = sys.argv[1:4]
    del sys.argv[1:4]
    unittest.main()
