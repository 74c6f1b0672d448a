"""Runs programs and measures them: output, wall time, peak resident memory. Not thread safe."""
from __future__ import annotations

import dataclasses
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time


class Failed(RuntimeError):
    """A program could not be run or did not do its job; the message goes into the table."""


@dataclasses.dataclass(frozen=True)
class Finished:
    stdout: str
    stderr: str
    wall_s: float
    max_rss_mb: float


def scrub(text: str) -> str:
    """Without folders: results name files, never where they lie on this machine."""
    return re.sub(r"(?<![\w:/])/(?:[\w.+@~-]+/)+", "", text)


def reason(text: str, limit: int = 160) -> str:
    """The last line of an error output that looks like an error, with what its colon announces; else the last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return "no message"
    telling = [i for i, line in enumerate(lines) if re.search(r"error|exception|fail|invalid", line, re.IGNORECASE)]
    last = telling[-1] if telling else len(lines) - 1
    return scrub(" ".join(lines[last:last + (2 if lines[last].endswith(":") else 1)]))[:limit]


class Child:
    """A started program. Always leave it through `with`: the end kills what still runs."""

    def __init__(self, argv: list[str], stdin: str = "") -> None:
        self.name = os.path.basename(argv[0])
        self._files = [tempfile.TemporaryFile() for _ in range(3)]
        self._files[0].write(stdin.encode())
        self._files[0].seek(0)
        self.started = time.monotonic()
        try:
            # A session of its own: Ctrl-C reaches this script alone, which then ends the child.
            self._process = subprocess.Popen(argv, stdin=self._files[0], stdout=self._files[1],
                                             stderr=self._files[2], start_new_session=True)
        except OSError as error:
            self._close()
            raise Failed(f"{self.name}: {error.strerror}") from error
        self._wall_s = self._max_rss_mb = 0.0
        # wait4 gives this child's peak memory alone, and blocks: hence the thread.
        self._waiter = threading.Thread(target=self._wait, daemon=True)
        self._waiter.start()

    def _wait(self) -> None:
        _, status, usage = os.wait4(self._process.pid, 0)
        self._wall_s = time.monotonic() - self.started
        self._max_rss_mb = usage.ru_maxrss * 1024 / 1e6
        self._process.returncode = os.waitstatus_to_exitcode(status)

    @property
    def running(self) -> bool:
        return self._waiter.is_alive()

    def _read(self, index: int) -> str:
        self._files[index].seek(0)
        return self._files[index].read().decode(errors="replace")

    def error(self) -> str:
        return reason(self._read(2) or self._read(1))

    def stop(self) -> None:
        for signal_, seconds in ((signal.SIGTERM, 10), (signal.SIGKILL, 10)):
            if not self.running:
                return
            os.kill(self._process.pid, signal_)
            self._waiter.join(seconds)

    def wait(self, timeout_s: float) -> Finished:
        """Waits for the end; a program that fails or takes too long is Failed."""
        self._waiter.join(timeout_s)
        if self.running:
            self.stop()
            raise Failed(f"{self.name}: not done after {timeout_s:.0f} s")
        if self._process.returncode != 0:
            raise Failed(f"{self.name}: exit code {self._process.returncode}: {self.error()}")
        return self.finished()

    def finished(self) -> Finished:
        return Finished(self._read(1), self._read(2), self._wall_s, self._max_rss_mb)

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._close()

    def _close(self) -> None:
        for file in self._files:
            file.close()


def run(argv: list[str], timeout_s: float = 1800, stdin: str = "") -> Finished:
    with Child(argv, stdin) as child:
        return child.wait(timeout_s)


def last_object(text: str) -> dict:
    """Of a child's output, the last line that is a JSON object: libraries print of their own."""
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            try:
                return json.loads(line)
            except ValueError:
                break
    raise Failed("no answer in what it printed")
