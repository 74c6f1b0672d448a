#!/usr/bin/env python3
"""Makes tests/golden/quant: random weight blocks and what the gguf package's dequantize gives for them.

Needs numpy and gguf (0.19.0 was used). For each block type T:
  T.blocks  the blocks as they lie in a file
  T.f32     their weights, fp32, little endian
and halves.bin: pairs of (fp32 bits u32, f16 bits u16, bf16 bits u16) as numpy and gguf round them.
The same seed gives the same files.
"""

import pathlib
import sys

import gguf
import numpy as np

# Type -> (blocks, byte offsets of its f16 fields).
TYPES = {
    "Q4_0": (64, [0]),
    "Q4_1": (64, [0, 2]),
    "Q5_0": (64, [0]),
    "Q5_1": (64, [0, 2]),
    "Q8_0": (64, [0]),
    "IQ4_NL": (64, [0]),
    "Q2_K": (24, [80, 82]),
    "Q3_K": (24, [108]),
    "Q4_K": (24, [0, 2]),
    "Q5_K": (24, [0, 2]),
    "Q6_K": (24, [208]),
}

# Zeros, smallest and largest subnormal, smallest normal, one, largest, infinity, NaN.
EXTREME_HALVES = [0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x83FF, 0x0400, 0x3C00, 0xBC00, 0x7BFF,
                  0xFBFF, 0x7C00, 0xFC00, 0x7E00]


def random_blocks(rng, name):
    count, half_fields = TYPES[name]
    size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]][1]
    blocks = rng.integers(0, 256, size=(count, size), dtype=np.uint8)
    for field, offset in enumerate(half_fields):
        halves = (rng.standard_normal(count) * 10.0 ** rng.uniform(-6, 1, count)).astype(np.float16)
        bits = halves.view(np.uint16)
        # The second field runs through the extremes with another stride: other pairs meet.
        for i in range(min(count, len(EXTREME_HALVES))):
            bits[i] = EXTREME_HALVES[i * (1 if field == 0 else 5) % len(EXTREME_HALVES)]
        blocks[:, offset:offset + 2] = bits.astype("<u2").view(np.uint8).reshape(count, 2)
    # The last two blocks have extreme codes and small scales: all bits clear, all bits set.
    for i, fill in ((count - 2, 0x00), (count - 1, 0xFF)):
        kept = [blocks[i, o:o + 2].copy() for o in half_fields]
        blocks[i] = fill
        for offset, half in zip(half_fields, kept):
            blocks[i, offset:offset + 2] = half
    return blocks


def round_to_halves(rng):
    """Values around every kind of f16 boundary, as (fp32, f16, bf16) bits."""
    random_bits = rng.integers(0, 2**32, 1500, dtype=np.uint32)
    near_halves = rng.integers(0, 2**16, 1500, dtype=np.uint16).view(np.float16).astype(np.float32)
    ties = near_halves.view(np.uint32) + rng.choice(
        np.array([0, 0xFFF, 0x1000, 0x1001, 0x7FFF, 0x8000, 0x8001], dtype=np.uint32), 1500)
    tiny = (rng.integers(0, 4096, 600) * 2.0**-25).astype(np.float32).view(np.uint32)
    bits = np.concatenate([random_bits, ties, tiny, tiny | np.uint32(1 << 31)])
    bits = bits[~np.isnan(bits.view(np.float32))]  # NaN payloads are not numpy's to say
    values = bits.view(np.float32)
    rows = np.zeros(len(bits), dtype=[("f32", "<u4"), ("f16", "<u2"), ("bf16", "<u2")])
    rows["f32"] = bits
    rows["f16"] = values.astype(np.float16).view(np.uint16)
    rows["bf16"] = gguf.quantize(values, gguf.GGMLQuantizationType.BF16).view(np.uint16)
    return rows


def main():
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "tests/golden/quant")
    out.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(20240601)
    np.seterr(all="ignore")
    for name in TYPES:
        blocks = random_blocks(rng, name)
        weights = gguf.dequantize(blocks.reshape(-1), gguf.GGMLQuantizationType[name])
        (out / f"{name}.blocks").write_bytes(blocks.tobytes())
        (out / f"{name}.f32").write_bytes(weights.astype("<f4").tobytes())
    (out / "halves.bin").write_bytes(round_to_halves(rng).tobytes())


if __name__ == "__main__":
    main()
