#!/usr/bin/env python3
"""Makes tests/golden/heads: tiny random heads as torch saves them, and what the reference implementations compute with them.

    make_head_golden.py EAGLE_REPOSITORY MEDUSA_REPOSITORY

The arguments are clones (git directories will do) of github.com/SafeAILab/EAGLE and github.com/FasterDecoding/Medusa, whose own
modules run here, as they are at the commits below. Needs torch and nothing else: what the modules import
besides belongs to parts of them that do not run. Debian's python3-torch 1.13.1 was used. The same seed gives the same numbers; see tests/golden/heads/README.md.
"""
import ast
import json
import math
import pathlib
import subprocess
import sys
import types

import torch
from torch import nn

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests/golden/heads"
EAGLE_COMMIT, MEDUSA_COMMIT = "cb7e0841fe0c206c6ed74a197ad5e2a1f13f5a2b", "e2a5d20c048a9b0a4092e6933c34313687422518"
VOCABULARY, HIDDEN, DRAFT_VOCABULARY, READ, GUESSED = 64, 32, 24, 6, 3

CONFIG = {"architectures": ["LlamaForCausalLM"], "hidden_act": "silu", "hidden_size": HIDDEN, "intermediate_size": 40,
          "max_position_embeddings": 64, "model_type": "llama", "num_attention_heads": 2, "num_key_value_heads": 1,
          "num_hidden_layers": 1, "pad_token_id": 0, "rms_norm_eps": 1e-05, "rope_theta": 500.0, "rope_scaling": None,
          "pretraining_tp": 1, "vocab_size": VOCABULARY}


def classes_of(repository, commit, path, first=None):
    """What a module defines: its functions and classes (all, or `first` alone), without its imports."""
    source = subprocess.run(["git", "-C", repository, "show", f"{commit}:{path}"], check=True, capture_output=True, text=True).stdout
    kept = [node for node in ast.parse(source).body
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and (first is None or node.name == first)]
    import typing
    names = {"torch": torch, "nn": nn, "math": math, "ACT2FN": {"silu": nn.SiLU()}, **vars(typing)}
    exec(compile(ast.Module(body=kept, type_ignores=[]), path, "exec"), names)
    return names


def fill(module):
    """Weights that halves hold, under which every part of the module matters."""
    for name, value in module.state_dict().items():
        if not value.is_floating_point():
            continue
        x = torch.randn(value.shape)
        x = 1 + 0.2 * x if "norm" in name else 0.3 * x if name.endswith("bias") else x / math.sqrt(value.shape[-1])
        x *= 2 if "embed" in name or "lm_head" in name or "q_proj" in name or "k_proj" in name else 1
        value.copy_(x.half().float())


def numbers(x):
    """Rows of nine digits, which give the float32 back."""
    return [[float(f"{value:.9g}") for value in row] for row in x.reshape(-1, x.shape[-1]).tolist()]


def inputs(width):
    """Numbers of few digits."""
    return torch.randint(-32, 33, (READ, width)) / 16


def save(name, file, state, config, golden):
    """A folder as it would be published, and golden.json in it."""
    folder = OUT / name
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(state, folder / file)
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    (folder / "golden.json").write_text(json.dumps(golden) + "\n")


def halved(module):
    """Its state_dict in halves, as published ones are."""
    state = module.state_dict()
    for name, x in state.items():
        state[name] = x.half() if x.is_floating_point() else x
    return state


@torch.no_grad()
def eagle(repository, module, name, config, has_own_output):
    model_class = classes_of(repository, EAGLE_COMMIT, module)["Model"]
    model = model_class(types.SimpleNamespace(**config)).eval()
    model.reset()
    fill(model)
    if has_own_output:
        tokens = torch.sort(torch.randperm(VOCABULARY)[:DRAFT_VOCABULARY]).values
        model.d2t.copy_(tokens - torch.arange(DRAFT_VOCABULARY))
        model.t2d[tokens] = True
    ids = torch.randint(0, VOCABULARY, (READ + 1,)).tolist()
    streams = inputs(HIDDEN * (3 if has_own_output else 1))
    # As topK_genrate has it: the rows of all tokens but the first, then a guess a time.
    hidden, past = model(streams[None], input_ids=torch.tensor([ids[1:]]), use_cache=True)
    rows = []
    position = READ
    for _ in range(GUESSED + 1):
        last = hidden[:, -1:]
        scores = model.lm_head(model.norm(last)) if has_own_output else nn.functional.linear(last, model.embed_tokens.weight)
        best = int(scores.argmax())
        token = best + int(model.d2t[best]) if has_own_output else best
        rows.append({"hidden": numbers(last)[0], "scores": numbers(scores)[0], "token": token})
        hidden, past = model(last, input_ids=torch.tensor([[token]]), past_key_values=past,
                             position_ids=torch.tensor([position]), use_cache=True)
        position += 1
    golden = {"ids": ids, "streams": numbers(streams), "rows": rows}
    if has_own_output:
        golden["tokens"] = tokens.tolist()
    save(name, "pytorch_model.bin", halved(model), config, golden)


@torch.no_grad()
def medusa(repository):
    block = classes_of(repository, MEDUSA_COMMIT, "medusa/model/medusa_model.py", "ResBlock")["ResBlock"]
    heads = nn.ModuleList([nn.Sequential(block(HIDDEN), nn.Linear(HIDDEN, VOCABULARY, bias=False)) for _ in range(2)])
    fill(heads)
    features = inputs(HIDDEN)[:3]
    golden = {"features": numbers(features), "scores": [numbers(head(features)) for head in heads]}
    save("medusa", "medusa_lm_head.pt", halved(heads), {"medusa_num_heads": 2, "medusa_num_layers": 1}, golden)


def main(eagle_repository, medusa_repository):
    torch.manual_seed(2503)
    eagle(eagle_repository, "eagle/model/cnets.py", "eagle3", {**CONFIG, "draft_vocab_size": DRAFT_VOCABULARY}, True)
    eagle(eagle_repository, "eagle/model/cnets1.py", "eagle", CONFIG, False)
    medusa(medusa_repository)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    main(*sys.argv[1:])
