#!/usr/bin/env python3
"""Checks the form of the sources: clang-format, length, and that the names of models agree.

    check_style.py [--fix | format | sizes | models]    no argument: every check; --fix formats
"""
import pathlib
import runpy
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_LINES = 700  # of a file in src/; past it nobody reads a file in one go


def sources(*folders):
    return [str(path.relative_to(ROOT)) for folder in folders for ending in ("h", "cc")
            for path in sorted((ROOT / folder).rglob(f"*.{ending}"))]


def clang_format(*options):
    if not shutil.which("clang-format"):
        sys.exit("clang-format is missing: make deps installs it")
    files = sources("src", "include", "tests", "bench", "examples")
    return subprocess.run(["clang-format", *options, *files], cwd=ROOT, capture_output=True, text=True, check=False)


def check_format():
    """One line for each file that clang-format would change, not each place in it."""
    result = clang_format("--dry-run", "-Werror", "-ferror-limit=0")
    files = sorted({line.split(":")[0] for line in result.stderr.splitlines() if "-Wclang-format-violations" in line})
    bad = [f"{file}: not formatted; make format does it" for file in files]
    if result.returncode != 0 and not bad:
        bad = [f"clang-format failed: {result.stderr.strip()}"]
    return bad


def check_sizes():
    for file in sources("src"):
        lines = len((ROOT / file).read_text().splitlines())
        if lines > MAX_LINES:
            yield f"{file}: {lines} lines, more than {MAX_LINES}; split it by meaning"


def check_models():
    """The tests must look for the very files that fetch_model writes."""
    text = (ROOT / "tests/support/models.cc").read_text()
    for name, model in runpy.run_path(str(ROOT / "scripts/fetch_model"))["MODELS"].items():
        if f'{{"{name}", "{model.file}"}}' not in text:
            yield f"tests/support/models.cc: does not have {name} as {model.file}, as scripts/fetch_model has"


def main(arguments):
    if arguments == ["--fix"]:
        result = clang_format("-i")
        sys.stderr.write(result.stderr)
        return result.returncode
    checks = {"format": check_format, "sizes": check_sizes, "models": check_models}
    if any(argument not in checks for argument in arguments):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    bad = [line for name in arguments or checks for line in checks[name]()]
    print("\n".join(bad) or f"{', '.join(arguments or checks)}: nothing to say")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
