"""What the figures were taken on: the processor, its instruction sets, the load, the versions."""
from __future__ import annotations

import datetime
import hashlib
import os
import pathlib
import platform
import re
import subprocess

# What makes a difference to the speed of int8 and 4-bit kernels.
TELLING_FLAGS = re.compile(r"^(avx2|fma|f16c|avx_vnni|avx512(f|bw|vl|dq|_vnni|vbmi|_vbmi2|_bf16|_fp16)|amx_\w+|"
                           r"asimd|asimddp|i8mm|sve|sve2)$")


def parse_cpuinfo(text: str) -> dict[str, str]:
    """{cpu, isa} of the first processor of /proc/cpuinfo."""
    fields: dict[str, str] = {}
    for line in text.split("\n\n")[0].splitlines():
        name, _, value = line.partition(":")
        fields[name.strip()] = value.strip()
    numbers = ", ".join(f"{label} {fields[key]}" for label, key in
                        (("family", "cpu family"), ("model", "model"), ("stepping", "stepping")) if key in fields)
    name = fields.get("model name", platform.machine())
    flags = fields.get("flags", fields.get("Features", "")).split()
    return {"cpu": f"{name} ({numbers})" if numbers else name,
            "isa": " ".join(flag for flag in flags if TELLING_FLAGS.match(flag))}


def describe() -> dict[str, str]:
    return parse_cpuinfo(pathlib.Path("/proc/cpuinfo").read_text()) | {"cpus": str(len(os.sched_getaffinity(0)))}


def now() -> dict[str, str]:
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    return {"date": date, "load": " ".join(f"{load:.2f}" for load in os.getloadavg())}


def commit(repository: pathlib.Path) -> str:
    """The commit of the checkout, and whether sources differ from it."""
    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=repository, capture_output=True, text=True,
                              check=False).stdout.strip()
    return (git("rev-parse", "--short", "HEAD") or "unknown") + \
        (" and uncommitted changes" if git("status", "--porcelain", "src", "include") else "")


def fingerprint(file: pathlib.Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]
