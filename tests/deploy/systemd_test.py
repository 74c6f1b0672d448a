#!/usr/bin/env python3
"""deploy/hunch@.service by systemd's own checks.

    systemd_test.py HUNCH
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

UNIT = pathlib.Path(__file__).resolve().parent.parent.parent / "deploy/hunch@.service"
MOST_EXPOSED = 20  # of 100, systemd's own score; a service without any setting has 96


@unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is missing")
class Systemd(unittest.TestCase):
    def analyze(self, *words):
        """The unit, with the program that was built."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "hunch@8001.service"
            path.write_text(re.sub(r"^ExecStart=\S+", f"ExecStart={HUNCH}", UNIT.read_text(), flags=re.M))
            return subprocess.run(["systemd-analyze", *words, str(path)], capture_output=True, text=True, check=False)

    def test_it_is_a_unit(self):
        done = self.analyze("verify", "--man=no")
        said = [line for line in (done.stdout + done.stderr).splitlines() if "hunch" in line]
        self.assertEqual((done.returncode, said), (0, []), done.stderr)

    def test_little_is_allowed(self):
        done = self.analyze("security", "--offline=yes", f"--threshold={MOST_EXPOSED}", "--no-pager")
        self.assertEqual(done.returncode, 0, done.stdout[-300:] + done.stderr)


if __name__ == "__main__":
    HUNCH = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
