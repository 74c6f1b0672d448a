// The opcodes of Python's pickles that tensor_pickle.cc knows, and the names of those that it
// refuses.
#ifndef HUNCH_CONVERT_PICKLE_OPCODES_H_
#define HUNCH_CONVERT_PICKLE_OPCODES_H_

#include <cstdint>
#include <string_view>
#include <utility>

namespace hunch::pickle {

// Python's pickletools name them so.
enum Opcode : uint8_t {
  kProto = 0x80,
  kStop = '.',
  kMark = '(',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kNone = 'N',
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kLong1 = 0x8A,
  kBinUnicode = 'X',
  kEmptyDict = '}',
  kSetItem = 's',
  kSetItems = 'u',
  kEmptyTuple = ')',
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kTuple = 't',
  kGlobal = 'c',
  kBinPersId = 'Q',
  kReduce = 'R',
  kBuild = 'b',
};

// Those that make or call objects in other ways; the rest is named by its number.
inline constexpr std::pair<uint8_t, std::string_view> kRefused[] = {
    {'i', "INST"},          {'o', "OBJ"},          {0x81, "NEWOBJ"}, {0x92, "NEWOBJ_EX"},
    {0x93, "STACK_GLOBAL"}, {0x82, "EXT1"},        {0x83, "EXT2"},   {0x84, "EXT4"},
    {'P', "PERSID"},        {']', "EMPTY_LIST"},   {'l', "LIST"},    {'d', "DICT"},
    {0x8F, "EMPTY_SET"},    {0x91, "FROZENSET"},   {'a', "APPEND"},  {'e', "APPENDS"},
    {0x95, "FRAME"},        {0x96, "BYTEARRAY8"},  {'0', "POP"},     {'1', "POP_MARK"},
    {'2', "DUP"},           {0x97, "NEXT_BUFFER"}, {'G', "BINFLOAT"}};

}  // namespace hunch::pickle

#endif  // HUNCH_CONVERT_PICKLE_OPCODES_H_
