#!/usr/bin/env python3
"""deploy/Dockerfile without Docker: that the image has what the program links, and that its commands are those of this project.

    dockerfile_test.py HUNCH
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TEXT = (ROOT / "deploy/Dockerfile").read_text().replace("\\\n", " ")
BUILD, RUN = TEXT.split("FROM debian:12-slim")[1:]
# Of debian:12-slim itself: apt stands on them.
IN_EVERY_IMAGE = {"libc6", "libstdc++6", "libgcc-s1"}


class Dockerfile(unittest.TestCase):
    @unittest.skipUnless(shutil.which("dpkg-query"), "no Debian system: dpkg-query is missing")
    def test_the_image_has_what_the_program_links(self):
        linked = subprocess.run(["ldd", HUNCH], capture_output=True, text=True, check=True).stdout
        packages = set()
        for path in re.findall(r"=> (/\S+)", linked):
            # On a merged /usr, packages name the file under either.
            real = str(pathlib.Path(path).resolve())
            for name in (real, real.removeprefix("/usr"), path):
                found = subprocess.run(["dpkg-query", "-S", name], capture_output=True, text=True, check=False)
                if found.returncode == 0:
                    packages.add(found.stdout.split(":")[0])
                    break
            else:
                self.fail(f"no package has {path}")
        installed = set(re.search(r"--no-install-recommends ([^&]*)&&", RUN)[1].split())
        self.assertEqual(packages - IN_EVERY_IMAGE, installed)

    def test_it_copies_what_is_there_and_builds_what_can_be_built(self):
        for source in re.findall(r"^COPY (?!--from)(\S+)", BUILD, re.M):
            self.assertTrue((ROOT / source).exists(), source)
        script = re.search(r"RUN (scripts/\S+)", BUILD)[1]
        self.assertTrue((ROOT / script).stat().st_mode & 0o111, script)
        presets = (ROOT / "CMakePresets.json").read_text()
        for preset in re.findall(r"--preset (\S+)", BUILD):
            self.assertIn(f'"name": "{preset}"', presets)
        for option in re.findall(r"-D(\w+)=", BUILD):
            self.assertIn(f"option({option} ", (ROOT / "CMakeLists.txt").read_text())
        self.assertIn("build/release", re.search(r"cmake --install (\S+)", BUILD)[1])
        self.assertIn("COPY --from=build /opt/hunch/bin/hunch /usr/local/bin/", RUN)
        self.assertIn("COPY --from=build /opt/hunch/share/hunch/heads /usr/local/share/hunch/heads\n", RUN)

    def test_the_program_takes_its_flags(self):
        words = re.findall(r'"([^"]*)"', re.search(r"^ENTRYPOINT \[(.*)\]", RUN, re.M)[1])
        self.assertEqual(words[0], "hunch")
        done = subprocess.run([HUNCH, *words[1:], "--help"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_health_check_tells_a_server_from_none(self):
        command = json.loads(re.search(r"HEALTHCHECK .*? CMD (\[.*\])", RUN)[1])
        self.assertEqual(command[:2], ["bash", "-c"])
        model = ROOT / "tests/golden/tiny/llama.gguf"
        server = subprocess.Popen([HUNCH, "serve", "--model", str(model), "--port", "0"], stderr=subprocess.PIPE, text=True)
        port = re.search(r"http://127.0.0.1:(\d+)", server.stderr.readline())[1]
        check = [*command[:2], command[2].replace("/8000", f"/{port}")]
        self.assertEqual(subprocess.run(check, check=False).returncode, 0)
        server.terminate()
        server.wait(timeout=60)
        server.stderr.close()
        self.assertNotEqual(subprocess.run(check, check=False, stderr=subprocess.DEVNULL).returncode, 0)


if __name__ == "__main__":
    HUNCH = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
