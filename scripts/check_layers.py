#!/usr/bin/env python3
"""Checks that every include in src/ and include/ is allowed by docs/layers.txt.

The file lists each folder after those that it may include, so it admits no cycle by itself.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def read_layers(path):
    """Folder -> the folders it may include."""
    allowed = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        match = re.fullmatch(r"([a-z_]+):\s*(.*)", line)
        if not match:
            sys.exit(f"{path.name}:{number}: not of the form `folder: folder folder`")
        name, names = match[1], match[2].split()
        if name in allowed:
            sys.exit(f"{path.name}:{number}: {name} is listed twice")
        if unknown := [n for n in names if n not in allowed]:
            sys.exit(f"{path.name}:{number}: {name} names {', '.join(unknown)} before they are listed")
        allowed[name] = set(names)
    return allowed


def forbidden_includes(allowed):
    for path in sorted([*ROOT.glob("src/**/*.h"), *ROOT.glob("src/**/*.cc"), *ROOT.glob("include/**/*.h")]):
        place = path.relative_to(ROOT)
        public = place.parts[0] == "include"
        folder = "include/hunch" if public else place.parts[1]
        if not public and folder not in allowed:
            yield f"{place}: docs/layers.txt does not list {folder}"
            continue
        may = {"hunch"} if public else {"hunch", folder} | allowed[folder]
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*"([^"]*)"', line)
            # Quotes are for our own headers, so that no include escapes this check.
            if match and match[1].split("/")[0] not in may:
                yield f"{place}:{number}: {folder} may not include {match[1]}"


def main():
    allowed = read_layers(ROOT / "docs/layers.txt")
    bad = list(forbidden_includes(allowed))
    print("\n".join(bad) or f"layers: {len(allowed)} folders, no forbidden include")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
