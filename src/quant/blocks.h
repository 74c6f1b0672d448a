// The weight blocks as they lie in a GGUF file, byte for byte. A row of a matrix is a whole number
// of blocks, in order; a block never crosses a row. Numbers are little endian. Blocks in a mapped
// file have no alignment to rely on: every struct here has alignment 1 (halves are two bytes, read
// with LoadHalf).
//
// Notation: `d`, `dmin`, `m` are f16; weight i is the i-th of the block, in row order; `nibble(b,
// 0)` is the low four bits of byte b, `nibble(b, 1)` the high four. Unpacking in code: unpack.cc.
#ifndef HUNCH_QUANT_BLOCKS_H_
#define HUNCH_QUANT_BLOCKS_H_

#include <cstdint>

namespace hunch {

// An f16 (or bf16) in file order.
struct HalfBytes {
  uint8_t byte[2];
};
constexpr uint16_t LoadHalf(HalfBytes half) {
  return static_cast<uint16_t>(half.byte[0] | half.byte[1] << 8);
}

// ---- Blocks of 32 weights. The 4-bit parts all share one order: byte j of `qs` holds weight j in
// its low nibble and weight j + 16 in its high one (not neighbours: both halves come out as 16
// whole bytes).

// w = d * (nibble - 8)
struct BlockQ4_0 {
  static constexpr int kElements = 32;
  HalfBytes d;
  uint8_t qs[16];
};

// w = d * nibble + m
struct BlockQ4_1 {
  static constexpr int kElements = 32;
  HalfBytes d;
  HalfBytes m;
  uint8_t qs[16];
};

// w = d * (u - 16), u = nibble + 16 * fifth bit. The fifth bit of weight i is bit i of `qh` read as
// a 32-bit number (byte i / 8, bit i % 8).
struct BlockQ5_0 {
  static constexpr int kElements = 32;
  HalfBytes d;
  uint8_t qh[4];
  uint8_t qs[16];
};

// w = d * u + m, u as in Q5_0.
struct BlockQ5_1 {
  static constexpr int kElements = 32;
  HalfBytes d;
  HalfBytes m;
  uint8_t qh[4];
  uint8_t qs[16];
};

// w = d * qs[i]
struct BlockQ8_0 {
  static constexpr int kElements = 32;
  HalfBytes d;
  int8_t qs[32];
};

// w = d * kIq4NlValues[nibble]: sixteen levels that are denser near zero.
struct BlockIQ4_NL {
  static constexpr int kElements = 32;
  HalfBytes d;
  uint8_t qs[16];
};
inline constexpr int8_t kIq4NlValues[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                            1,    13,   25,  38,  53,  69,  89,  113};

// ---- Blocks of 256 weights ("K"). Weights are cut into groups of 16 or 32 with small integer
// scales (and minima) of their own, which are themselves scaled by d (and dmin).

// 16 groups of 16. w = (d * sc[g]) * u - (dmin * mn[g]); sc[g] = nibble(scales[g], 0), mn[g] =
// nibble(scales[g], 1). u is two bits: weights 128h + 32p + l (h in 0..1, p in 0..3, l in 0..31)
// lie in byte 32h + l at bits 2p and 2p + 1.
struct BlockQ2_K {
  static constexpr int kElements = 256;
  uint8_t scales[16];
  uint8_t qs[64];
  HalfBytes d;
  HalfBytes dmin;
};

// 16 groups of 16. w = (d * sc[g]) * v, v = u - 4 + 4 * hbit, in -4..3. u is two bits placed as in
// Q2_K. hbit of weight 32k + l (k in 0..7) is bit k of hmask[l]. sc[g] = six bits - 32: the low
// four are nibble(scales[g % 8], g / 8), the high two are bits 2 * (g / 4) and up of scales[8 + g %
// 4].
struct BlockQ3_K {
  static constexpr int kElements = 256;
  uint8_t hmask[32];
  uint8_t qs[64];
  uint8_t scales[12];
  HalfBytes d;
};

// 8 groups of 32. w = (d * sc[g]) * u - (dmin * mn[g]), u a nibble: weights 64k + l and 64k + 32 +
// l (k in 0..3, l in 0..31) are the low and the high nibble of byte 32k + l. sc and mn are six bits
// each. For g < 4: sc[g] = scales[g] & 63, mn[g] = scales[4 + g] & 63. For g >= 4: the low four
// bits of sc[g] and mn[g] are the low and the high nibble of scales[4 + g], their high two bits are
// the top two of scales[g - 4] and scales[g].
struct BlockQ4_K {
  static constexpr int kElements = 256;
  HalfBytes d;
  HalfBytes dmin;
  uint8_t scales[12];
  uint8_t qs[128];
};

// Q4_K with a fifth bit: u = nibble + 16 * bit g of qh[l], for weight 32g + l.
struct BlockQ5_K {
  static constexpr int kElements = 256;
  HalfBytes d;
  HalfBytes dmin;
  uint8_t scales[12];
  uint8_t qh[32];
  uint8_t qs[128];
};

// 16 groups of 16. w = (d * scales[g]) * (u - 32), u six bits: for weight 128h + 32p + l (h in
// 0..1, p in 0..3, l in 0..31) the low four are nibble(ql[64h + 32 * (p % 2) + l], p / 2), the high
// two are bits 2p and 2p + 1 of qh[32h + l].
struct BlockQ6_K {
  static constexpr int kElements = 256;
  uint8_t ql[128];
  uint8_t qh[64];
  int8_t scales[16];
  HalfBytes d;
};

static_assert(sizeof(BlockQ4_0) == 18 && alignof(BlockQ4_0) == 1);
static_assert(sizeof(BlockQ4_1) == 20 && alignof(BlockQ4_1) == 1);
static_assert(sizeof(BlockQ5_0) == 22 && alignof(BlockQ5_0) == 1);
static_assert(sizeof(BlockQ5_1) == 24 && alignof(BlockQ5_1) == 1);
static_assert(sizeof(BlockQ8_0) == 34 && alignof(BlockQ8_0) == 1);
static_assert(sizeof(BlockIQ4_NL) == 18 && alignof(BlockIQ4_NL) == 1);
static_assert(sizeof(BlockQ2_K) == 84 && alignof(BlockQ2_K) == 1);
static_assert(sizeof(BlockQ3_K) == 110 && alignof(BlockQ3_K) == 1);
static_assert(sizeof(BlockQ4_K) == 144 && alignof(BlockQ4_K) == 1);
static_assert(sizeof(BlockQ5_K) == 176 && alignof(BlockQ5_K) == 1);
static_assert(sizeof(BlockQ6_K) == 210 && alignof(BlockQ6_K) == 1);

}  // namespace hunch

#endif  // HUNCH_QUANT_BLOCKS_H_
