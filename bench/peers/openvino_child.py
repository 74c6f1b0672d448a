"""Runs inside the virtual environment that has openvino-genai: a JSON request on standard input, one JSON line out.

Request: {model, threads, config: {...}, draft?,
          jobs: [{prompt | tokens, max_new_tokens, ignore_eos?, generation?: {...}}]}
Answer:  {load_s, max_rss_mb, jobs: [{prompt_tokens, tokens, ttft_s, decode_s, wall_s}]}
"""
import json
import resource
import sys
import time

import numpy
import openvino
import openvino_genai


def generate(pipe, job, number):
    config = openvino_genai.GenerationConfig()
    config.do_sample = False
    config.max_new_tokens = job["max_new_tokens"]
    if job.get("ignore_eos"):
        config.ignore_eos = True
    for name, value in job.get("generation", {}).items():
        setattr(config, name, value)
    if "tokens" in job:
        # Any ordinary tokens do: the time of a dense model does not depend on which. But the library keeps
        # prompts' keys and values, so no job may begin as another does.
        first = 1000 + 3000 * number
        ids = numpy.arange(first, first + job["tokens"], dtype=numpy.int64)[None, :]
        source = openvino_genai.TokenizedInputs(openvino.Tensor(ids), openvino.Tensor(numpy.ones_like(ids)))
    else:
        source = [job["prompt"]]
    begin = time.monotonic()
    metrics = pipe.generate(source, config).perf_metrics
    wall_s = time.monotonic() - begin
    tokens = metrics.get_num_generated_tokens()
    ttft_s = metrics.get_ttft().mean / 1e3
    return {"prompt_tokens": metrics.get_num_input_tokens(), "tokens": tokens, "ttft_s": ttft_s,
            "decode_s": max(0.0, metrics.get_generate_duration().mean / 1e3 - ttft_s), "wall_s": wall_s}


def main():
    request = json.load(sys.stdin)
    options = {"INFERENCE_NUM_THREADS": request["threads"], **request["config"]}
    if request.get("draft"):
        options["draft_model"] = openvino_genai.draft_model(request["draft"], "CPU")
    begin = time.monotonic()
    pipe = openvino_genai.LLMPipeline(request["model"], "CPU", **options)
    answer = {"load_s": time.monotonic() - begin}
    answer["jobs"] = [generate(pipe, job, number) for number, job in enumerate(request["jobs"])]
    answer["max_rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    print("\n" + json.dumps(answer))


main()
