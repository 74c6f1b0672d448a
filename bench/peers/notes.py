"""How each section was taken: a sentence or two above its table. {names} are fields of sections.Plan."""

NOTES = {
    "decode": "One token at a time behind {context} others. Hunch: `hunch bench rows`; llama.cpp: `llama-bench -p 0 "
              "-n {generate} -d {context}`; OpenVINO GenAI: {generate} tokens after a prompt of {context}, after the "
              "first. The share is of the time that reading what a token needs would take, once, at the bandwidth that "
              "Hunch measured in the same repeat.",
    "rows": "One pass over M rows that all give logits, behind {context} tokens: what verifying M - 1 guesses costs. "
            "llama.cpp: `llama-batched-bench -pps -kvu -npp {context} -ntg {steps}`, M sequences that share the cells "
            "of one prefix and take a token each. A prompt of M tokens (`llama-bench -p M -d {context}`, last column) "
            "gives logits for its last row only, which a verify pass cannot do with: a lower bound. OpenVINO GenAI has "
            "no call for such a pass. Ratios are of rows per second, Hunch over llama.cpp.",
    "prompt": "Tokens per second of a prompt's pass, with logits for its last token. Hunch: `hunch bench rows`; "
              "llama.cpp: `llama-bench -p`; OpenVINO GenAI: tokens over the time to the first token, in a warm "
              "process.",
    "speculation": "Greedy answers of at most {max_tokens} tokens to the prompts of {prompts}, chat template applied, "
                   "one request at a time. Decoding: tokens after the first of each answer over their time. Whole "
                   "request: with the prompt's pass, the draft model's own included. Hunch: `hunch bench`, as many "
                   "guesses as pay (`:4`: four a step), the draft model requantised to 4 bits, "
                   "fails if a text differs from plain decoding's; llama.cpp: `llama-server -np 1`, nothing reused "
                   "between requests; OpenVINO GenAI: 4 guesses.",
    "load": "Files in the page cache, context 4096 (OpenVINO GenAI: its own). Hunch and llama.cpp: from the start of "
            "the process (`hunch run`, `llama-server --no-warmup`) to the first token, less the prompt's pass; "
            "OpenVINO GenAI: what LLMPipeline takes to be made, imports not counted. Memory is the most that was "
            "resident, pages of the mapped file included.",
}
