"""Raw figures to markdown: one table a section. Pure functions of the stored JSON."""
from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from typing import Any

from sections import HUNCH, LLAMA, TITLES

Sample = dict[str, Any]
Series = dict[int, float]  # a figure by repeat
Key = tuple[str, str, str]  # model, engine, setting


def table(columns: list[str], rows: Iterable[list[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "/") for cell in line) + " |" for line in lines)


def number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def spread(values: Iterable[float]) -> str:
    """Median (least - most)."""
    sorted_ = sorted(values)
    if not sorted_:
        return "-"
    middle = number(statistics.median(sorted_))
    return middle if len(sorted_) == 1 else f"{middle} ({number(sorted_[0])} - {number(sorted_[-1])})"


def quotient(above: Series, below: Series) -> Series:
    """Repeat by repeat, as what the neighbours take from one takes it from the other too."""
    return {repeat: above[repeat] / below[repeat] for repeat in above if below.get(repeat)}


def ratio(above: Series, below: Series) -> str:
    return spread(quotient(above, below).values())


class Figures:
    """The samples of one section, by (model, engine, setting)."""

    def __init__(self, samples: list[Sample]) -> None:
        self._series: dict[Key, dict[str, Series]] = {}
        self.errors: dict[Key, str] = {}
        for sample in samples:
            for setting, figures in sample.get("results", {}).items():
                by_name = self._series.setdefault((sample["model"], sample["engine"], setting), {})
                for name, value in figures.items():
                    by_name.setdefault(name, {})[sample["repeat"]] = value
        for sample in samples:
            key = (sample["model"], sample["engine"], sample["job"])
            if "error" in sample and key not in self._series:
                self.errors[key] = sample["error"]

    def keys(self) -> list[Key]:
        return list(self._series) + list(self.errors)

    def models(self) -> list[str]:
        return list(dict.fromkeys(model for model, _, _ in self.keys()))

    def of(self, key: Key, name: str) -> Series:
        return self._series.get(key, {}).get(name, {})

    def lines(self, model: str, cells: Callable[[Key], list[str]], width: int) -> Iterable[list[str]]:
        """A row for each engine and setting of the model, ours first; what failed says why."""
        keys = sorted((key for key in self.keys() if key[0] == model), key=lambda key: key[1] != HUNCH)
        for key in keys:
            name = f"{key[1]}, {key[2]}" if key[2] else key[1]
            failed = self.errors.get(key)
            yield [model, name, *([f"failed: {failed}"] + ["-"] * (width - 1) if failed else cells(key))]


def decode(f: Figures) -> str:
    def cells(key: Key) -> list[str]:
        ours, speed = (key[0], HUNCH, ""), f.of(key, "tokens_per_second")
        least = f.of(ours, "limit_ms")
        share = {r: 100 * v * least[r] / 1e3 for r, v in speed.items() if r in least}
        return [spread(speed.values()), ratio(f.of(ours, "tokens_per_second"), speed), spread(share.values())]

    rows = [row for model in f.models() for row in f.lines(model, cells, 3)]
    bandwidth = [v for m in f.models() for v in f.of((m, HUNCH, ""), "read_gb_s").values()]
    return table(["model", "engine", "tok/s", "Hunch / it", "% of read bandwidth"], rows) + \
        f"\n\nRead bandwidth, measured by Hunch in each run: {spread(bandwidth)} GB/s."


def passes(f: Figures) -> str:
    def cells(key: Key, m: str, ours: Key) -> list[str]:
        ms = f.of(key, m)
        rate = {r: int(m) * 1e3 / v for r, v in ms.items()}
        cost = ratio(ms, f.of(key, "1"))
        return [spread(ms.values()), cost, spread(rate.values())] + \
            ([] if key == ours else [ratio(ms, f.of(ours, m))])

    text = []
    for model in f.models():
        ours, theirs = (model, HUNCH, ""), (model, LLAMA, "all logits")
        other = (model, LLAMA, "last row's logits only")
        sizes = sorted({int(m) for key in (ours, theirs) for m in f._series.get(key, {}) if m.isdigit()})
        rows = [[str(m), *cells(ours, str(m), ours), spread(f.of(ours, f"percent {m}").values()),
                 *cells(theirs, str(m), ours), spread(f.of(other, str(m)).values())] for m in sizes]
        text += [f"{model}\n", table(
            ["M", "Hunch ms", "T(M)/T(1)", "rows/s", "% of limit", "llama.cpp ms", "T(M)/T(1)", "rows/s",
             "Hunch / it, rows/s", "llama.cpp ms, last row's logits only"], rows), ""]
        text += [f"{key[1]}, {key[2]}: failed: {error}\n" for key, error in f.errors.items() if key[0] == model]
    return "\n".join(text).rstrip()


def prompts(f: Figures) -> str:
    lengths = sorted({int(n) for key in f.keys() for n in f._series.get(key, {})})

    def cells(key: Key) -> list[str]:
        ours = (key[0], HUNCH, "")
        return [cell for n in map(str, lengths)
                for cell in (spread(f.of(key, n).values()), ratio(f.of(ours, n), f.of(key, n)))]

    rows = [row for model in f.models() for row in f.lines(model, cells, max(1, 2 * len(lengths)))]
    heads = [head for n in lengths for head in (f"{n} tokens, tok/s", "Hunch / it")]
    return table(["model", "engine", *(heads or ["tok/s"])], rows)


def speculation(f: Figures) -> str:
    best: dict[str, tuple[float, Key]] = {}
    for key in f.keys():
        speed = f.of(key, "tokens_per_second")
        if speed:
            best[key[1]] = max(best.get(key[1], (0.0, key)), (statistics.median(speed.values()), key))

    def cells(key: Key) -> list[str]:
        speed, plain = f.of(key, "tokens_per_second"), (key[0], key[1], "plain")
        wall, plain_wall = (f.of(k, "wall_tokens_per_second") for k in (key, plain))
        gain = f.of(key, "speedup") or quotient(wall, plain_wall)
        drafted, accepted = (sum(f.of(key, name).values()) for name in ("drafted", "accepted"))
        ours = f.of(best[HUNCH][1], "tokens_per_second") if HUNCH in best else {}
        mark = " (its best)" if best[key[1]][1] == key else ""
        return [spread(speed.values()) + mark, spread(gain.values()),
                f"{accepted / drafted:.2f}" if drafted else "-", ratio(ours, speed)]

    rows = [row for model in f.models() for row in f.lines(model, cells, 4)]
    return table(["target and draft", "engine and setting", "decoding tok/s", "whole request / its own plain",
                  "accepted of guessed", "Hunch's best / it"], rows)


def load(f: Figures) -> str:
    def cells(key: Key) -> list[str]:
        ours = (key[0], HUNCH, "")
        return [cell for name in ("load_s", "max_rss_mb")
                for cell in (spread(f.of(key, name).values()), ratio(f.of(key, name), f.of(ours, name)))]

    rows = [row for model in f.models() for row in f.lines(model, cells, 4)]
    return table(["model", "engine", "load, s", "it / Hunch", "most resident, MB", "it / Hunch"], rows)


TABLES: dict[str, Callable[[Figures], str]] = {"decode": decode, "rows": passes, "prompt": prompts,
                                               "speculation": speculation, "load": load}


def render(data: dict[str, Any], notes: dict[str, str]) -> str:
    """The whole result file. `notes` says for each section how it was taken."""
    machine = data["machine"]
    text = [f"# Hunch beside its peers, {machine['cpu']}", "",
            f"ISA: {machine['isa']}; {machine['cpus']} CPUs. Figures are medians (least - most); a ratio is the median "
            "of the ratios of each repeat, in which the engines took turns.", ""]
    for name in TABLES:
        section = data["sections"].get(name)
        if not section or not section["samples"]:
            continue
        stamp = section["stamp"]
        repeats = len({sample["repeat"] for sample in section["samples"]})
        versions = ", ".join(f"{engine} {version}" for engine, version in section["versions"].items())
        text += [f"## {TITLES[name]}", "",
                 f"{section['date']}, load average at the start {section['load']}, {stamp['threads']} threads, "
                 f"{repeats} repeat(s). {versions}.", "", notes[name].format(**stamp["plan"]), "",
                 TABLES[name](Figures(section["samples"])), ""]
    return "\n".join(text)
