"""OpenVINO GenAI, reached through openvino_child.py in a virtual environment of its own."""
from __future__ import annotations

import dataclasses
import json
import pathlib

from process import last_object, run

CHILD = pathlib.Path(__file__).resolve().with_name("openvino_child.py")
# Properties of the CPU plugin. All are tried in plain decoding; --openvino-precision says which is used elsewhere.
CONFIGS: dict[str, dict[str, str]] = {"f32": {"INFERENCE_PRECISION_HINT": "f32"}, "default": {}}
# Fields of GenerationConfig that prompt lookup and draft models want.
LOOKUP = {"num_assistant_tokens": 4, "max_ngram_size": 3}
DRAFT = {"num_assistant_tokens": 4}


@dataclasses.dataclass(frozen=True)
class OpenVino:
    python: pathlib.Path
    threads: int
    precision: str  # of CONFIGS

    def run(self, model: str, jobs: list[dict], *, precision: str = "", lookup: bool = False, draft: str = "",
            timeout_s: float = 3600) -> dict:
        config = CONFIGS[precision or self.precision] | ({"prompt_lookup": True} if lookup else {})
        request = {"model": model, "threads": self.threads, "config": config, "draft": draft, "jobs": jobs}
        # -P: this folder's modules must not be found before the packages'.
        return last_object(run([str(self.python), "-P", str(CHILD)], timeout_s, json.dumps(request)).stdout)

    def version(self) -> str:
        return run([str(self.python), "-c", "import importlib.metadata as m; print(m.version('openvino-genai'))"],
                   60).stdout.strip()
