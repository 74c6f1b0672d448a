#!/usr/bin/env python3
"""Tests bench/peers without peers: what programs print is recorded here, and small scripts stand for programs."""
import json
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
PEERS = pathlib.Path(__file__).resolve().parents[2] / "bench/peers"
sys.path.insert(0, str(PEERS))

import hunch_cli  # noqa: E402
import llama_cpp  # noqa: E402
import machine  # noqa: E402
import process  # noqa: E402
import sections  # noqa: E402
import store  # noqa: E402
import tables  # noqa: E402
from notes import NOTES  # noqa: E402

LLAMA_BENCH = """[
  {"build_commit": "0c1e570", "n_threads": 2, "n_prompt": 2, "n_gen": 0, "n_depth": 64, "avg_ns": 61605528,
   "avg_ts": 31.0, "samples_ts": [ 32.5, 28.0, 33.0 ]},
  {"build_commit": "0c1e570", "n_threads": 2, "n_prompt": 0, "n_gen": 8, "n_depth": 64, "avg_ts": 150.0,
   "samples_ts": [ 150.5 ]}
]"""
BATCHED_BENCH = """0.00.123 I llama_context: n_ctx = 512

{"n_kv_max": 512, "n_threads": 2, "pp": 64, "tg": 4, "pl": 1, "n_kv": 68, "t_pp": 2.620536, "t_tg": 0.100000}
0.02.001 I {"n_kv_max": 512, "n_threads": 2, "pp": 64, "tg": 4, "pl": 8, "n_kv": 96, "t_pp": 1.295921, "t_tg": 0.240000}
{"n_kv_max": 512, "n_threads": 2, "pp": 64, "tg": 4, "pl": 1, "n_kv": 68, "t_pp": 2.620536, "t_tg": 0.104000}
{"n_kv_max": 512, "n_threads": 2, "pp": 64, "tg": 4, "pl": 1, "n_kv": 68, "t_pp": 2.620536, "t_tg": 9.000000}

llama_perf_context_print:        load time =    1234.56 ms
"""
SERVER_ANSWER = {"choices": [], "timings": {
    "cache_n": 0, "prompt_n": 31, "prompt_ms": 250.0, "predicted_n": 17, "predicted_ms": 800.0,
    "predicted_per_second": 20.0, "draft_n": 12, "draft_n_accepted": 9}}
ROWS = {"cpu": "c", "isa": "avx512", "threads": 2, "model": "m.gguf", "context": 128, "read_gb_s": 27.0,
        "dot_gmac_s": 455.0, "decode_tokens_per_second": 50.0,
        "rows": [{"m": 1, "ms": 20.0, "percent_of_limit": 80.0}, {"m": 4, "ms": 24.0, "percent_of_limit": 70.0}],
        "prompt": [{"tokens": 128, "tokens_per_second": 251.0}]}
METHOD = {"tokens_per_second": 60.0, "speedup": 1.5, "draft_tokens": 20, "accepted_tokens": 15, "identical": True}
CPUINFO = """processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 207
model name\t: Intel(R) Xeon(R) Processor
stepping\t: 2
flags\t\t: fpu sse2 avx2 fma avx512f avx512_vnni amx_int8 hypervisor

processor\t: 1
model name\t: another
"""


class ParsersTest(unittest.TestCase):
    def test_llama_bench(self):
        self.assertEqual(llama_cpp.parse_bench(LLAMA_BENCH), {(2, 0): 32.5, (0, 8): 150.5})

    def test_llama_bench_that_printed_something_else(self):
        for text in ("", "error: unable to load model", '[{"n_prompt": 1}]'):
            with self.assertRaisesRegex(process.Failed, "not understood"):
                llama_cpp.parse_bench(text)

    def test_batched_bench_gives_the_time_of_a_pass_by_its_rows(self):
        self.assertEqual(llama_cpp.parse_batched(BATCHED_BENCH), {1: 26.0, 8: 60.0})
        with self.assertRaises(process.Failed):
            llama_cpp.parse_batched("llama_perf_context_print: load time")

    def test_server_answer(self):
        self.assertEqual(llama_cpp.parse_answer(SERVER_ANSWER),
                         {"tokens": 17, "prompt_s": 0.25, "decode_s": 0.8, "drafted": 12, "accepted": 9})
        with self.assertRaises(process.Failed):
            llama_cpp.parse_answer({"error": "busy"})

    def test_hunch_rows_of_one_context_and_of_several(self):
        for text in (json.dumps(ROWS), json.dumps([ROWS | {"context": 1024, "decode_tokens_per_second": 1}, ROWS])):
            rows = hunch_cli.parse_rows(text, 128)
            self.assertEqual((rows.decode_tokens_per_second, rows.limit_ms()), (50.0, 16.0))
            self.assertEqual((rows.ms, rows.prompt), ({1: 20.0, 4: 24.0}, {128: 251.0}))

    def test_hunch_methods(self):
        bench = {"methods": {"none": METHOD, "ngram": METHOD}, "mismatches": []}
        methods = hunch_cli.parse_methods(json.dumps(bench))
        self.assertEqual(list(methods), ["plain", "ngram"])
        self.assertEqual(methods["ngram"], {"tokens_per_second": 60.0, "speedup": 1.5, "drafted": 20, "accepted": 15})

    def test_a_text_that_differs_fails_the_run(self):
        with self.assertRaisesRegex(process.Failed, "ngram, prompt 3"):
            hunch_cli.parse_methods(json.dumps({"methods": {}, "mismatches": ["ngram, prompt 3: token 7"]}))

    def test_openvino_child_amid_what_the_library_prints(self):
        self.assertEqual(process.last_object('Loading GGUF\n\n{"load_s": 1.5, "jobs": []}\nbye\n')["load_s"], 1.5)
        with self.assertRaises(process.Failed):
            process.last_object("Segmentation fault")

    def test_cpuinfo(self):
        self.assertEqual(machine.parse_cpuinfo(CPUINFO), {
            "cpu": "Intel(R) Xeon(R) Processor (family 6, model 207, stepping 2)",
            "isa": "avx2 fma avx512f avx512_vnni amx_int8"})

    def test_total_counts_decoding_from_the_first_token_of_each_answer(self):
        answer = {"tokens": 11, "decode_s": 1.0, "wall_s": 2.0, "drafted": 4, "accepted": 2}
        self.assertEqual(sections.total([answer, answer]), {
            "tokens_per_second": 10.0, "wall_tokens_per_second": 5.5, "drafted": 8, "accepted": 4})

    def test_prompts_are_chosen_as_hunch_bench_chooses(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "p.jsonl"
            file.write_text("\n".join(json.dumps({"id": str(i), "category": c, "prompt": f"{c}{i}"})
                                      for i, c in enumerate("aabba")) + "\n\n")
            self.assertEqual(sections.read_prompts(file, 1), ["a0", "b2"])
            self.assertEqual(len(sections.read_prompts(file, 0)), 5)

    def test_own_prompts_can_be_read(self):
        self.assertEqual(len(sections.read_prompts(PEERS / "prompts.jsonl", 0)), 6)


class ProcessTest(unittest.TestCase):
    def test_output_time_and_memory(self):
        done = process.run([sys.executable, "-c", "import sys; x = bytearray(60_000_000); print(sys.stdin.read())"],
                           stdin="hello")
        self.assertEqual(done.stdout, "hello\n")
        self.assertGreater(done.max_rss_mb, 60)
        self.assertGreater(done.wall_s, 0)

    def test_failures_name_the_program_and_its_error_without_folders(self):
        code = "import sys; sys.exit('RuntimeError: cannot open /some/where/file.gguf')"
        with self.assertRaises(process.Failed) as failed:
            process.run([sys.executable, "-c", code])
        self.assertIn("exit code 1: RuntimeError: cannot open file.gguf", str(failed.exception))
        with self.assertRaisesRegex(process.Failed, "no-such-program"):
            process.run(["/no-such-program"])

    def test_a_program_that_takes_too_long_is_ended(self):
        with self.assertRaisesRegex(process.Failed, "not done"):
            process.run([sys.executable, "-c", "import time; time.sleep(60)"], timeout_s=0.2)

    def test_reason(self):
        self.assertEqual(process.reason("loading\nGeneralFailure:\nir: no \"/a/b.gguf/m.xml\"\n\n"),
                         'GeneralFailure: ir: no "m.xml"')
        self.assertEqual(process.reason("error: no memory\nbye\n"), "error: no memory")
        self.assertEqual(process.reason("some\nwords\n"), "words")

    def test_scrub_leaves_flags_and_ratios(self):
        self.assertEqual(process.scrub("tok/s of /home/me/models/a.gguf at 1/2"), "tok/s of a.gguf at 1/2")


class StoreTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "deep/r.json"
        self.header = {"stamp": {"hunch": "a", "threads": 2}}
        self.key = {"model": "m", "engine": "e", "job": "", "repeat": 0}

    def open(self):
        return store.Store(self.path)

    def test_goes_on_where_it_was_interrupted(self):
        first = self.open()
        first.begin("rows", self.header, redo=False)
        first.add("rows", self.key, {"error": "no"})
        self.assertFalse(self.open().done("rows", self.key))  # what failed is tried again
        first.add("rows", self.key, {"results": {"": {"1": 2.0}}})
        again = self.open()
        again.begin("rows", self.header, redo=False)
        self.assertTrue(again.done("rows", self.key))
        self.assertEqual(len(again.samples("rows")), 1)
        self.assertFalse(again.done("rows", self.key | {"repeat": 1}))
        again.begin("rows", self.header, redo=True)
        self.assertEqual(self.open().samples("rows"), [])

    def test_does_not_mix_programs_or_machines(self):
        first = self.open()
        first.set_machine({"cpu": "one"})
        first.begin("rows", self.header, redo=False)
        with self.assertRaisesRegex(store.Mixed, "another hunch"):
            self.open().begin("rows", {"stamp": {"hunch": "b", "threads": 2}}, redo=False)
        with self.assertRaisesRegex(store.Mixed, "another machine"):
            self.open().set_machine({"cpu": "two"})


def sample(engine, repeat, results, job="", model="m"):
    return {"model": model, "engine": engine, "job": job, "repeat": repeat, "results": results}


class TablesTest(unittest.TestCase):
    def cells(self, text, name):
        """The cells of the first table line that begins with, or has in second place, the name."""
        for line in text.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if name in cells[:2]:
                return cells
        self.fail(f"no line {name} in:\n{text}")

    def test_spread(self):
        self.assertEqual(tables.spread([3, 1, 2]), "2.00 (1.00 - 3.00)")
        self.assertEqual((tables.spread([12.34]), tables.spread([])), ("12.3", "-"))

    def test_ratios_are_taken_within_a_repeat(self):
        self.assertEqual(tables.ratio({0: 2.0, 1: 8.0, 2: 1.0}, {0: 1.0, 1: 4.0}), "2.00 (2.00 - 2.00)")

    def test_decode(self):
        ours = {"tokens_per_second": 50.0, "limit_ms": 16.0, "read_gb_s": 27.0}
        text = tables.decode(tables.Figures([
            sample("llama.cpp", 0, {"": {"tokens_per_second": 25.0}}), sample("Hunch", 0, {"": ours}),
            {"model": "m", "engine": "OpenVINO GenAI", "job": "precision f32", "repeat": 0, "error": "a | b"}]))
        self.assertEqual(self.cells(text, "Hunch"), ["m", "Hunch", "50.0", "1.00", "80.0"])
        self.assertEqual(self.cells(text, "llama.cpp"), ["m", "llama.cpp", "25.0", "2.00", "40.0"])
        self.assertEqual(self.cells(text, "OpenVINO GenAI, precision f32")[2], "failed: a / b")
        self.assertLess(text.index("Hunch"), text.index("| llama.cpp"))

    def test_rows(self):
        text = tables.passes(tables.Figures([
            sample("Hunch", 0, {"": {"1": 10.0, "4": 12.5, "percent 1": 90.0, "percent 4": 80.0}}),
            sample("llama.cpp", 0, {"all logits": {"1": 20.0, "4": 50.0}}, "batched"),
            sample("llama.cpp", 0, {"last row's logits only": {"1": 20.0, "4": 40.0}}, "prompt pass")]))
        self.assertEqual(self.cells(text, "4"),
                         ["4", "12.5", "1.25", "320", "80.0", "50.0", "2.50", "80.0", "4.00", "40.0"])

    def test_rows_of_a_peer_that_failed(self):
        text = tables.passes(tables.Figures([
            sample("Hunch", 0, {"": {"1": 10.0, "percent 1": 90.0}}),
            {"model": "m", "engine": "llama.cpp", "job": "batched", "repeat": 0, "error": "no memory"}]))
        self.assertEqual(self.cells(text, "1"), ["1", "10.0", "1.00", "100", "90.0", "-", "-", "-", "-", "-"])
        self.assertIn("llama.cpp, batched: failed: no memory", text)

    def test_prompt_and_load(self):
        text = tables.prompts(tables.Figures([sample("Hunch", 0, {"": {"128": 300.0, "1024": 200.0}}),
                                              sample("llama.cpp", 0, {"": {"128": 150.0, "1024": 100.0}})]))
        self.assertEqual(self.cells(text, "llama.cpp")[2:], ["150", "2.00", "100", "2.00"])
        text = tables.load(tables.Figures([sample("Hunch", 0, {"": {"load_s": 1.0, "max_rss_mb": 1200.0}}),
                                           sample("llama.cpp", 0, {"": {"load_s": 2.0, "max_rss_mb": 1800.0}})]))
        self.assertEqual(self.cells(text, "llama.cpp")[2:], ["2.00", "2.00", "1800", "1.50"])

    def test_speculation_marks_the_best_setting_and_compares_with_ours(self):
        def llama(job, speed):
            return sample("llama.cpp", 0, {job: {"tokens_per_second": speed, "wall_tokens_per_second": speed / 2,
                                                 "drafted": 10, "accepted": 4}}, job)
        ours = {"drafted": 0, "accepted": 0, "speedup": 1.0}
        text = tables.speculation(tables.Figures([
            sample("Hunch", 0, {"plain": ours | {"tokens_per_second": 40.0},
                                "ngram": {"tokens_per_second": 60.0, "speedup": 1.4, "drafted": 10, "accepted": 5}}),
            llama("plain", 20.0), llama("ngram-simple", 30.0), llama("draft-simple n-max 2", 15.0)]))
        self.assertEqual(self.cells(text, "Hunch, ngram")[2:], ["60.0 (its best)", "1.40", "0.50", "1.00"])
        self.assertEqual(self.cells(text, "llama.cpp, ngram-simple")[2:], ["30.0 (its best)", "1.50", "0.40", "2.00"])
        self.assertEqual(self.cells(text, "llama.cpp, draft-simple n-max 2")[2:], ["15.0", "0.75", "0.40", "4.00"])

    def test_the_whole_file(self):
        plan = {"context": 128, "generate": 64, "steps": 16, "max_tokens": 128, "prompts": "p.jsonl"}
        section = {"date": "2026-11-29 12:00 UTC", "load": "0.10 0.20 0.30", "versions": {"Hunch": "0.1"},
                   "stamp": {"threads": 2, "plan": plan}, "samples": []}
        data = {"machine": {"cpu": "C", "isa": "avx2", "cpus": "2"},
                "sections": {name: dict(section) for name in NOTES}}
        self.assertEqual(set(NOTES), set(tables.TABLES))
        self.assertNotIn("##", tables.render(data, NOTES))  # nothing measured, nothing shown
        data["sections"]["load"]["samples"] = [
            {"model": "m", "engine": "Hunch", "job": "", "repeat": 0, "error": "no such program"}]
        text = tables.render(data, NOTES)
        self.assertTrue(text.startswith("# Hunch beside its peers, C\n"))
        self.assertIn("failed: no such program", text)
        self.assertIn("load average at the start 0.10 0.20 0.30, 2 threads, 1 repeat(s). Hunch 0.1.", text)
        for name in NOTES:  # also where every engine failed
            data["sections"][name]["samples"] = data["sections"]["load"]["samples"]
        self.assertEqual(tables.render(data, NOTES).count("failed: no such program"), len(NOTES))


if __name__ == "__main__":
    unittest.main()
