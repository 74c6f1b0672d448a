#!/usr/bin/env python3
"""Makes tests/golden/tiny: tiny random models as GGUF, and what transformers computes with them.

Not part of building or testing; run it when an architecture is added. It needs, in a virtual
environment outside the checkout: torch, transformers, gguf, numpy (versions: see the JSON files).
Weights come from numpy's generator by a fixed seed, so a rerun gives the same GGUF files.
The format of the JSON files is described in tests/golden/tiny/README.md.
"""
import dataclasses
import json
import math
import pathlib
import sys
import zlib

import gguf
import numpy as np
import torch
import transformers

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests/golden/tiny"

CHATML = ("{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + "
          "'<|im_end|>' + '\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
LLAMA3 = ("{{ bos_token }}{% for message in messages %}{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n' + "
          "message['content'] + '<|eot_id|>' }}{% endfor %}{% if add_generation_prompt %}"
          "{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}")
CHATML_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
LLAMA3_TOKENS = ("<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")
# Each merge's halves are bytes or results of earlier merges, as a trained tokenizer would have it.
MERGES = ("Ġ t", "h e", "i n", "r e", "o n", "Ġt he", "e r", "Ġ a", "a t", "in g", "o u", "Ġ s", "e n", "n d", "Ġa nd", "i s",
          "Ġ Ġ", "o r", "Ġ w", "e s")


@dataclasses.dataclass
class Spec:
    name: str
    arch: str  # general.architecture
    config: dict  # of transformers' configuration class
    pre: str
    control_tokens: tuple
    eos: str
    template: str
    half: bool = False  # matrices as F16, as the converter's --outtype f16 has them
    prompt_length: int = 40
    positions: tuple = ()  # whose logits are kept; none: all


def spec_list():
    common = {"vocab_size": 288, "num_hidden_layers": 2, "attention_bias": False, "max_position_embeddings": 512}
    llama = {**common, "hidden_size": 64, "intermediate_size": 80, "num_attention_heads": 4, "num_key_value_heads": 2,
             "rms_norm_eps": 1e-5, "tie_word_embeddings": True, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}
    # Head dimension 32 and 256 trained positions: of the 16 wavelengths some are kept, some are
    # stretched by the factor, and two lie in the smooth zone between.
    llama3 = {**common, "hidden_size": 64, "intermediate_size": 40, "num_attention_heads": 2, "num_key_value_heads": 1,
              "rms_norm_eps": 1e-5, "tie_word_embeddings": False, "max_position_embeddings": 2048,
              "rope_parameters": {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0,
                                  "high_freq_factor": 4.0, "original_max_position_embeddings": 256}}
    qwen2 = {**common, "hidden_size": 48, "intermediate_size": 72, "num_attention_heads": 3, "num_key_value_heads": 1,
             "rms_norm_eps": 1e-6, "tie_word_embeddings": False, "rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}
    qwen3 = {**common, "hidden_size": 48, "intermediate_size": 80, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
             "rms_norm_eps": 1e-6, "tie_word_embeddings": True, "rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}
    return [
        Spec("llama", "llama", llama, "gpt-2", CHATML_TOKENS, "<|im_end|>", CHATML),
        Spec("llama_f16", "llama", llama, "smollm", CHATML_TOKENS, "<|im_end|>", CHATML, half=True, positions=(0, 1, 7, 20, 39)),
        Spec("llama3_rope", "llama", llama3, "llama-bpe", LLAMA3_TOKENS, "<|eot_id|>", LLAMA3, prompt_length=320,
             positions=(0, 1, 15, 63, 64, 255, 256, 257, 300, 319)),
        Spec("qwen2", "qwen2", qwen2, "qwen2", CHATML_TOKENS, "<|im_end|>", CHATML),
        Spec("qwen3", "qwen3", qwen3, "qwen2", CHATML_TOKENS, "<|im_end|>", CHATML),
    ]


def vocabulary(spec):
    """Token strings in GPT-2's byte letters and their GGUF types: bytes, merges, control, padding."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    tokens = [chr(byte) for byte in printable] + [chr(256 + i) for i in range(len(others))]
    tokens += [merge.replace(" ", "") for merge in MERGES]
    types = [gguf.TokenType.NORMAL] * len(tokens)
    tokens += spec.control_tokens
    types += [gguf.TokenType.CONTROL] * len(spec.control_tokens)
    while len(tokens) < spec.config["vocab_size"]:  # as the converter fills up
        tokens.append(f"[PAD{len(tokens)}]")
        types.append(gguf.TokenType.UNUSED)
    assert len(set(tokens)) == len(tokens) == spec.config["vocab_size"]
    return tokens, types


def random_weights(spec, model):
    """Weights under which every part of the layer matters and logits have a spread of 1 to 3: matrices
    keep the variance of their input, attention is peaked, gains differ from 1."""
    rng = np.random.default_rng(zlib.crc32(spec.name.encode()))
    state = {}
    for name, value in model.state_dict().items():
        shape = tuple(value.shape)
        x = rng.standard_normal(shape).astype(np.float64)
        if name.endswith("norm.weight"):
            x = (1.5 if ".self_attn." in name else 1.0) + 0.2 * x
        elif name.endswith(".bias"):
            x *= 0.5
        else:
            gain = 1.5 if ".q_proj" in name or ".k_proj" in name else 2.0 if "lm_head" in name or "embed" in name else 1.0
            x *= gain / math.sqrt(shape[1])
        x = x.astype(np.float32)
        if spec.half and len(shape) == 2:  # the reference must use the very weights of the file
            x = x.astype(np.float16).astype(np.float32)
        state[name] = torch.from_numpy(x)
    if spec.config["tie_word_embeddings"]:
        state["lm_head.weight"] = state["model.embed_tokens.weight"]
    model.load_state_dict(state)
    return {name: x.numpy() for name, x in state.items()}


def permute(x, heads):
    """Rows of q and k from transformers' halves (i, i + n/2) to GGUF llama's pairs (2i, 2i + 1)."""
    return x.reshape(heads, 2, x.shape[0] // heads // 2, x.shape[1]).swapaxes(1, 2).reshape(x.shape)


def rope_factors(config):
    """What the converter writes as rope_freqs.weight: the divisor of each rope frequency."""
    rope = config.rope_parameters
    frequencies = 1.0 / (rope["rope_theta"] ** (torch.arange(0, config.head_dim, 2, dtype=torch.float32) / config.head_dim))
    trained, low, high = rope["original_max_position_embeddings"], rope["low_freq_factor"], rope["high_freq_factor"]
    factors = []
    for frequency in frequencies:
        wavelength = 2 * math.pi / frequency
        if wavelength < trained / high:
            factors.append(1.0)
        elif wavelength > trained / low:
            factors.append(rope["factor"])
        else:
            smooth = (trained / wavelength - low) / (high - low)
            factors.append(1 / ((1 - smooth) / rope["factor"] + smooth))
    return np.array(factors, dtype=np.float32)


def write_metadata(writer, spec, config):
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    writer.add_type("model")
    writer.add_name(f"tiny random {spec.name}")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    if spec.arch == "qwen3":
        writer.add_key_length(head_dim)
        writer.add_value_length(head_dim)
    if spec.arch == "llama":
        writer.add_vocab_size(config.vocab_size)
        writer.add_rope_dimension_count(head_dim)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16 if spec.half else gguf.LlamaFileType.ALL_F32)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)

    tokens, types = vocabulary(spec)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(spec.pre)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges(list(MERGES))
    writer.add_eos_token_id(tokens.index(spec.eos))
    writer.add_bos_token_id(tokens.index(spec.control_tokens[0]))
    writer.add_add_bos_token(spec.template is LLAMA3)
    writer.add_chat_template(spec.template)


def write_gguf(spec, config, weights):
    path = OUT / f"{spec.name}.gguf"
    writer = gguf.GGUFWriter(path, spec.arch)
    write_metadata(writer, spec, config)
    names = gguf.get_tensor_name_map(getattr(gguf.MODEL_ARCH, spec.arch.upper()), config.num_hidden_layers)
    for name, x in weights.items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        if spec.arch == "llama" and ".q_proj." in name:
            x = permute(x, config.num_attention_heads)
        if spec.arch == "llama" and ".k_proj." in name:
            x = permute(x, config.num_key_value_heads)
        x = x.astype(np.float16) if spec.half and x.ndim == 2 else x
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight", ".bias")), np.ascontiguousarray(x))
    if config.rope_parameters["rope_type"] == "llama3":
        writer.add_tensor("rope_freqs.weight", rope_factors(config))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def run_reference(spec, model):
    """Logits and hidden states of the prompt, and its greedy continuation, in fp32."""
    rng = np.random.default_rng(7)
    prompt = [int(token) for token in rng.integers(0, 256 + len(MERGES), spec.prompt_length)]
    taps = {}
    hooks = [layer.register_forward_hook(
        lambda _, __, out, i=i: taps.__setitem__(f"layer_{i}", out[0] if isinstance(out, tuple) else out))
        for i, layer in enumerate(model.model.layers)]
    hooks.append(model.model.norm.register_forward_hook(lambda _, __, out: taps.__setitem__("final_norm", out)))
    logits = model(torch.tensor([prompt]), use_cache=False).logits[0]
    for hook in hooks:
        hook.remove()

    tokens, gap = list(prompt), math.inf
    for _ in range(16):
        best = model(torch.tensor([tokens]), use_cache=False).logits[0, -1].topk(2)
        gap = min(gap, float(best.values[0] - best.values[1]))
        tokens.append(int(best.indices[0]))
    positions = list(spec.positions) or list(range(spec.prompt_length))
    return {
        "prompt_ids": prompt,
        "positions": positions,
        "logits": [rounded(logits[position]) for position in positions],
        "logits_std": round(float(logits.std()), 4),
        "hidden_position": spec.prompt_length - 1,
        "hidden": {name: rounded(value.reshape(-1, value.shape[-1])[-1]) for name, value in taps.items()},
        "greedy_ids": tokens[len(prompt):],
        "greedy_least_gap": round(gap, 4),
    }


def rounded(row):
    """Seven digits carry a float32 as far as any comparison here looks."""
    return [float(f"{value:.7g}") for value in row.tolist()]


def make(spec):
    classes = {"llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM),
               "qwen2": (transformers.Qwen2Config, transformers.Qwen2ForCausalLM),
               "qwen3": (transformers.Qwen3Config, transformers.Qwen3ForCausalLM)}
    config_class, model_class = classes[spec.arch]
    fields = {k: v for k, v in spec.config.items() if not (k == "attention_bias" and spec.arch == "qwen2")}
    config = config_class(**fields)
    config._attn_implementation = "eager"  # the written-out softmax, not a fused kernel
    model = model_class(config).float().eval()
    weights = random_weights(spec, model)
    path = write_gguf(spec, config, weights)
    with torch.no_grad():
        result = run_reference(spec, model)
    header = {"model": path.name, "architecture": spec.arch,
              "reference": f"transformers {transformers.__version__}, torch {torch.__version__}, fp32 on CPU, eager attention, no cache"}
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in (header | result).items()]
    (OUT / f"{spec.name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{path.name}: {path.stat().st_size} bytes, logits std {result['logits_std']}, "
          f"least greedy gap {result['greedy_least_gap']}")


if __name__ == "__main__":
    torch.manual_seed(0)
    OUT.mkdir(parents=True, exist_ok=True)
    for spec in spec_list():
        if len(sys.argv) == 1 or spec.name in sys.argv[1:]:
            make(spec)
