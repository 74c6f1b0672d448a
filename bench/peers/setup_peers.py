"""Brings the peers into one folder: DIR/bin (llama.cpp's programs), DIR/openvino and DIR/transformers
(virtual environments)."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys

from process import Failed, reason, scrub

# Exact versions, so that a figure can be taken again.
LLAMA_VERSION = "0.3.36"
LLAMA_SDIST_SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
OPENVINO_VERSION = "2026.4.1.0"
TRANSFORMERS = ("transformers==5.23.0", "torch==2.15.0", "gguf==0.19.0", "accelerate==1.15.0")
PROGRAMS = ("llama-bench", "llama-batched-bench", "llama-server")


def _call(argv: list[str], cwd: pathlib.Path) -> None:
    try:
        done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Failed(f"{argv[0]}: {error.strerror}") from error
    if done.returncode != 0:
        raise Failed(f"{scrub(' '.join(argv[:3]))}: {reason(done.stderr or done.stdout)}")


def llama_cpp(folder: pathlib.Path) -> pathlib.Path:
    """The folder of the programs; builds them from the sources inside llama-cpp-python where they are missing."""
    programs = folder / "bin"
    if all(os.access(programs / name, os.X_OK) for name in PROGRAMS):
        return programs
    print("building llama.cpp: about 15 minutes on 2 cores", flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / f"llama_cpp_python-{LLAMA_VERSION}"
    if not source.is_dir():
        # pip checks the hash; an sdist is not built by this, only its metadata is.
        pinned = folder / "llama.txt"
        pinned.write_text(f"llama-cpp-python=={LLAMA_VERSION} --hash=sha256:{LLAMA_SDIST_SHA256}\n")
        _call([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:",
               "--require-hashes", "-r", str(pinned), "-d", "."], folder)
        (folder / "partial").mkdir(exist_ok=True)
        _call(["tar", "xzf", f"{source.name}.tar.gz", "-C", "partial"], folder)
        os.replace(folder / "partial" / source.name, source)  # whole or not at all
    # The compiler's best for this very machine, as a user of llama.cpp would build it.
    _call(["cmake", "-S", str(source / "vendor/llama.cpp"), "-B", "build", "-G", "Ninja",
           "-DCMAKE_BUILD_TYPE=Release", "-DGGML_NATIVE=ON", "-DBUILD_SHARED_LIBS=OFF", "-DLLAMA_CURL=OFF",
           "-DLLAMA_BUILD_TESTS=OFF"], folder)
    _call(["cmake", "--build", "build", "--target", *PROGRAMS], folder)
    programs.mkdir(exist_ok=True)
    for name in PROGRAMS:
        os.replace(folder / "build/bin" / name, programs / name)
    return programs


def openvino(folder: pathlib.Path) -> pathlib.Path:
    """The Python that has openvino-genai; installs it where it is missing."""
    return _environment(folder, "openvino", "openvino_genai", [f"openvino-genai=={OPENVINO_VERSION}"])


def transformers(folder: pathlib.Path) -> pathlib.Path:
    """The Python that has transformers; installs it where it is missing."""
    return _environment(folder, "transformers", "transformers", list(TRANSFORMERS))


def _environment(folder: pathlib.Path, name: str, module: str, packages: list[str]) -> pathlib.Path:
    environment = folder / name
    python = environment / "bin/python"
    if python.exists() and list(environment.glob(f"lib/*/site-packages/{module}")):
        return python
    print(f"installing {packages[0]}", flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    _call([sys.executable, "-m", "venv", str(environment)], folder)
    _call([str(python), "-m", "pip", "install", "--quiet", *packages], folder)
    return python
