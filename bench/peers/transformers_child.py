"""Runs inside the virtual environment that has transformers: a JSON request on standard input, one JSON line out.

Request: {model, threads, dtype, tokens, prompts: [...]}: prompts are answered one after the other, greedily, each with
         `tokens` tokens.
Answer:  {tokens, seconds}
"""
import json
import pathlib
import sys
import time

import torch
import transformers


def main():
    request = json.load(sys.stdin)
    torch.set_num_threads(request["threads"])
    model = pathlib.Path(request["model"])
    source = {"pretrained_model_name_or_path": str(model.parent), "gguf_file": model.name}
    tokenizer = transformers.AutoTokenizer.from_pretrained(**source)
    network = transformers.AutoModelForCausalLM.from_pretrained(**source, dtype=getattr(torch, request["dtype"]))

    def answer(prompt, tokens):
        chat = tokenizer.apply_chat_template([{"role": "user", "content": prompt}], add_generation_prompt=True,
                                             return_tensors="pt", return_dict=True)
        made = network.generate(**chat, max_new_tokens=tokens, min_new_tokens=tokens, do_sample=False)
        return made.shape[1] - chat["input_ids"].shape[1]

    with torch.inference_mode():
        answer("Say hello.", 16)
        begin = time.monotonic()
        tokens = sum(answer(prompt, request["tokens"]) for prompt in request["prompts"])
        print("\n" + json.dumps({"tokens": tokens, "seconds": time.monotonic() - begin}))


main()
