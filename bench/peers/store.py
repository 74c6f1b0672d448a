"""The raw figures: one JSON file that survives an interruption at any moment and is continued by the next run."""
from __future__ import annotations

import json
import os
import pathlib
from typing import Any


class Mixed(RuntimeError):
    """The file holds figures that must not be put beside new ones."""


class Store:
    """{machine, sections: {name: {stamp, date, load, versions, samples: [...]}}}

    A sample is {model, engine, job, repeat} and either `results` ({setting: {figure: value}}) or `error`.
    """

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self.data: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"machine": {}, "sections": {}}

    def set_machine(self, machine: dict[str, str]) -> None:
        known = self.data["machine"]
        if known and known["cpu"] != machine["cpu"]:
            raise Mixed(f"{self._path.name} is of another machine ({known['cpu']}); name another --out")
        self.data["machine"] = machine

    def begin(self, name: str, header: dict[str, Any], redo: bool) -> None:
        """Opens a section. What it holds is kept if it was measured with the same stamp (program and options)."""
        section = self.data["sections"].get(name)
        if section and not redo:
            different = [key for key, value in header["stamp"].items() if section["stamp"].get(key) != value]
            if different:
                raise Mixed(f"section {name} was measured with another {', '.join(different)}; --redo measures it anew")
        else:
            self.data["sections"][name] = header | {"samples": []}
        self.save()

    def samples(self, section: str) -> list[dict[str, Any]]:
        return self.data["sections"][section]["samples"]

    def done(self, section: str, key: dict[str, Any]) -> bool:
        return any("results" in sample and all(sample[name] == value for name, value in key.items())
                   for sample in self.samples(section))

    def add(self, section: str, key: dict[str, Any], outcome: dict[str, Any]) -> None:
        """Takes the place of an earlier outcome of the same job and repeat."""
        samples = self.samples(section)
        samples[:] = [s for s in samples if any(s[name] != value for name, value in key.items())]
        samples.append(key | outcome)
        self.save()

    def save(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        partial = self._path.with_name(self._path.name + ".partial")
        partial.write_text(json.dumps(self.data, indent=1) + "\n")
        os.replace(partial, self._path)
