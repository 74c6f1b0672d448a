#!/usr/bin/env python3
"""Checks that every include in src/ and include/ is allowed by docs/layers.txt and that the folders form no cycle."""
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
allowed = {}
for line in (root / "docs/layers.txt").read_text().splitlines():
    if match := re.match(r"([a-z]+):\s*(.*)", line):
        names = match[2].split()
        # A folder may only name folders above it in the file, so the file itself admits no cycle.
        unknown = [n for n in names if n != "*" and n not in allowed]
        if unknown:
            sys.exit(f"docs/layers.txt: {match[1]} names {unknown} before they are listed")
        allowed[match[1]] = set(allowed) if names == ["*"] else set(names)

bad = []
for path in sorted([*root.glob("src/**/*.h"), *root.glob("src/**/*.cc"), *root.glob("include/**/*.h")]):
    folder = path.relative_to(root).parts[1]
    public = path.relative_to(root).parts[0] == "include"
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not (match := re.match(r'#include "([a-z_]+)/', line)):
            continue
        target = match[1]
        fine = target == "hunch" or (not public and (target == folder or target in allowed.get(folder, ())))
        if not fine:
            bad.append(f"{path.relative_to(root)}:{number}: {folder} may not include {target}")
print("\n".join(bad) or f"layers: {len(allowed)} folders, no forbidden include")
sys.exit(bool(bad))
