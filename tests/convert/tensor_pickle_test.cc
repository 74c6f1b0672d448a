// Tests of the pickle reader: tables of tensors are read, and whatever else a pickle asks for is
// refused by its name.
#include "convert/tensor_pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/published.h"

namespace hunch {
namespace {

using namespace pickled;
using testing::ElementsAre;
using testing::HasSubstr;

Result<std::vector<PickledTensor>> Read(const std::string& pickle) {
  return ReadTensorPickle(ToBytes(pickle), "p");
}
std::string MessageOf(const std::string& pickle) {
  const auto read = Read(pickle);
  return read.ok() ? "it was read" : read.error().message;
}
// A table of what `items` push.
std::string Table(const std::string& items) { return kBegin + "}(" + items + "u" + kEnd; }

const std::string kStorage = Storage("HalfStorage", "7", 12);

TEST(TensorPickle, ReadsATableOfTensors) {
  const std::string metadata =  // of modules; torch hangs it onto the table
      "}" + Text("_metadata") + OrderedDict() + Text("") + "}" + Text("version") + "K\1ss" + "sb";
  const std::string pickle = kBegin + OrderedDict() + "(" + Text("a.weight") + "q\5" +
                             Tensor(kStorage, {3, 4}) + Text("b") +
                             Tensor(Storage("LongStorage", "8", 5), 2, {3}, {1}) + Text("c") +
                             Tensor(kStorage, 11, {}, {}) + "u" + metadata + kEnd;
  const auto read = Read(pickle);
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->size(), 3u);
  EXPECT_EQ((*read)[0].name, "a.weight");
  EXPECT_EQ((*read)[0].type, NumberType::kF16);
  EXPECT_EQ((*read)[0].storage, "7");
  EXPECT_EQ((*read)[0].storage_elements, 12);
  EXPECT_EQ((*read)[0].offset, 0);
  EXPECT_THAT((*read)[0].shape, ElementsAre(3, 4));
  EXPECT_EQ((*read)[1].type, NumberType::kI64);
  EXPECT_EQ((*read)[1].offset, 2);
  EXPECT_THAT((*read)[2].shape, ElementsAre());
  EXPECT_EQ(MessageOf(Table("")), "it was read");
}

TEST(TensorPickle, NumbersHaveAllTheirForms) {
  const auto shape_of = [](const std::string& number) {
    const auto read = Read(Table(Text("a") + Global("torch._utils", "_rebuild_tensor_v2") + "(" +
                                 Storage("BoolStorage", "0", 70000) + std::string("K\0", 2) +
                                 number + "\x85" + "K\1\x85\x89" + OrderedDict() + "tR"));
    return read.ok() ? (*read)[0].shape[0] : int64_t{-1};
  };
  EXPECT_EQ(shape_of("K\xFF"), 255);
  EXPECT_EQ(shape_of("M\x01\x01"), 257);
  EXPECT_EQ(shape_of("J" + Raw(int32_t{70000})), 70000);
  EXPECT_EQ(shape_of("\x8A\x03\x70\x11\x01"), 70000);
  EXPECT_EQ(shape_of(std::string("\x8A\0", 2)), 0);
  EXPECT_EQ(shape_of("\x8A\x01\xFF"), -1) << "a negative size";
  EXPECT_EQ(shape_of("\x8A\x09" + std::string(9, '\1')), -1);
}

// No code runs: the machine has no way to call anything.
TEST(TensorPickle, WhatOtherPicklesAskForIsRefusedByName) {
  const std::string system = Global("os", "system") + Text("touch pwned") + "\x85R";
  for (const std::string& pickle :
       {kBegin + system + kEnd, Table(Text("a") + system), Table(system + Text("a"))}) {
    EXPECT_THAT(MessageOf(pickle),
                HasSubstr("p: its pickle asks for os.system, which no table of tensors needs; "
                          "nothing in it was run"));
  }
  for (const auto& [module, name] :
       std::vector<std::pair<std::string, std::string>>{{"posix", "system"},
                                                        {"builtins", "eval"},
                                                        {"__builtin__", "getattr"},
                                                        {"torch._utils", "_rebuild_parameter"},
                                                        {"torch", "load"},
                                                        {"torch", "OrderedDict"},
                                                        {"collections", "FloatStorage"},
                                                        {"collections", "defaultdict"},
                                                        {"torch.FloatStorage", ""},
                                                        {"", "torch.FloatStorage"}}) {
    EXPECT_THAT(MessageOf(kBegin + Global(module, name) + kEnd),
                HasSubstr("asks for " + module + "." + name + ", which"));
  }
  const std::string long_name(5000, 'x');
  EXPECT_LT(MessageOf(kBegin + Global(long_name, "y") + kEnd).size(), 400u);
  for (const auto& [opcode, name] :
       std::vector<std::pair<std::string, std::string>>{{"\x93", "STACK_GLOBAL"},
                                                        {"i", "INST"},
                                                        {"o", "OBJ"},
                                                        {"\x81", "NEWOBJ"},
                                                        {"\x92", "NEWOBJ_EX"},
                                                        {"P", "PERSID"},
                                                        {"\x82", "EXT1"},
                                                        {"]", "EMPTY_LIST"},
                                                        {"G", "BINFLOAT"},
                                                        {"\xFE", "0xfe"}}) {
    EXPECT_THAT(MessageOf(kBegin + Text("os") + Text("system") + opcode + kEnd),
                HasSubstr("asks for the opcode " + name + ","));
  }
  // Calling a storage, or giving something a state, is no way round.
  EXPECT_THAT(MessageOf(kBegin + Global("torch", "FloatStorage") + ")R" + kEnd),
              HasSubstr("asks for a call of torch.FloatStorage"));
  EXPECT_THAT(MessageOf(kBegin + Global("torch", "FloatStorage") + "}b" + kEnd),
              HasSubstr("a state for something that is no table"));
}

TEST(TensorPickle, OnlyTensorsOfWholeStoragesAreTaken) {
  const auto message = [](const std::string& tensor) {
    return MessageOf(Table(Text("a") + tensor));
  };
  EXPECT_EQ(message(Tensor(kStorage, {12})), "it was read");
  EXPECT_EQ(message(Tensor(kStorage, 2, {5, 2}, {2, 1})), "it was read");
  EXPECT_EQ(message(Tensor(kStorage, {0, 4})), "it was read");
  EXPECT_EQ(message(Tensor(kStorage, 0, {1, 4}, {77, 1})), "it was read");
  EXPECT_THAT(message(Tensor(kStorage, {13})), HasSubstr("outside of its storage"));
  EXPECT_THAT(message(Tensor(kStorage, 3, {5, 2}, {2, 1})), HasSubstr("outside of its storage"));
  EXPECT_THAT(message(Tensor(kStorage, -1, {1}, {1})), HasSubstr("outside of its storage"));
  EXPECT_THAT(message(Tensor(kStorage, 0, {4, 3}, {1, 4})), HasSubstr("not contiguous"));
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{-1}, {1 << 30, 1 << 30, 1 << 30}, std::vector<int64_t>(9, 1)}) {
    EXPECT_THAT(message(Tensor(kStorage, shape)), HasSubstr("damaged"));
  }
  EXPECT_THAT(message(Tensor(kStorage, 0, {3, 4}, {1})), HasSubstr("damaged"));
  EXPECT_THAT(message(Tensor(Storage("FloatStorage", "0", -1), {0})), HasSubstr("damaged"));
  EXPECT_THAT(message(Tensor(Storage("FloatStorage", std::string(65, '0'), 1), {1})),
              HasSubstr("damaged"));
  EXPECT_THAT(message(Storage("FloatStorage", "0", 1)), HasSubstr("'a', which is no tensor"));
  EXPECT_THAT(message("}"), HasSubstr("'a', which is no tensor; save the state_dict alone"));
  EXPECT_THAT(MessageOf(kBegin + "K\1" + kEnd), HasSubstr("no table of tensors"));
  EXPECT_THAT(message(Tensor(kStorage, {1}) + Text("a") + Tensor(kStorage, {1})),
              HasSubstr("damaged"));
}

TEST(TensorPickle, WhatIsNoProgramIsRefused) {
  for (const std::string steps : {"",        "u",
                                  "s",       "t",
                                  "R",       "b",
                                  "Q",       "\x85",
                                  "(",       "((u",
                                  "}s",      "}K\1u",
                                  "}(K\1u",  "h\5",
                                  "q\1",     "}K\1K\1",
                                  "(Q",      ")Q",
                                  "}(\x87",  "}}",
                                  "K\1K\1s", "X\xFF\xFF\xFF\xFF",
                                  "J\1",     "cos",
                                  "\x8A\x08"}) {
    EXPECT_NE(MessageOf(kBegin + steps + kEnd), "it was read") << steps;
  }
  EXPECT_THAT(MessageOf(""), HasSubstr("no beginning"));
  EXPECT_THAT(MessageOf("\x80\x04}."), HasSubstr("protocol 4"));
  EXPECT_THAT(MessageOf(Table("") + "x"), HasSubstr("damaged"));
  EXPECT_THAT(MessageOf(kBegin + std::string(1 << 20, '}')), HasSubstr("bytes; a head's has"));
  // A table in itself is not walked.
  EXPECT_THAT(MessageOf(kBegin + "}q\1(" + Text("a") + "h\1u" + kEnd), HasSubstr("no tensor"));
}

TEST(TensorPickle, EveryCutIsRefusedAndEveryFlippedBitSurvived) {
  const std::string pickle = Table(Text("a") + Tensor(kStorage, {3, 4}) + Text("b") +
                                   Tensor(Storage("LongStorage", "8", 5), 2, {3}, {1}));
  for (size_t size = 0; size < pickle.size(); ++size) {
    EXPECT_NE(MessageOf(pickle.substr(0, size)), "it was read") << size;
  }
  for (size_t bit = 0; bit < pickle.size() * 8; ++bit) {
    std::string damaged = pickle;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    const auto read = Read(damaged);
    if (!read.ok()) continue;
    for (const PickledTensor& tensor : *read) {
      const auto bytes = CheckedBytes(tensor.type, tensor.shape);
      ASSERT_TRUE(bytes.has_value());
      EXPECT_LE(tensor.offset + *bytes / TraitsOf(tensor.type).bytes, tensor.storage_elements);
    }
  }
}

}  // namespace
}  // namespace hunch
