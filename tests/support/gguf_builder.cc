#include "support/gguf_builder.h"

namespace hunch {
namespace {

void PadTo(uint64_t alignment, std::string* bytes) {
  while (bytes->size() % alignment != 0) bytes->push_back('\0');
}

// Where each tensor's data lies, from the start of the data.
std::vector<uint64_t> TrueOffsets(const GgufBuilder& file) {
  std::vector<uint64_t> offsets;
  uint64_t next = 0;
  for (const GgufBuilder::Tensor& tensor : file.tensors) {
    offsets.push_back(next);
    next += tensor.data.size();
    next += (file.alignment - next % file.alignment) % file.alignment;
  }
  return offsets;
}

}  // namespace

std::string RawString(std::string_view text, std::optional<uint64_t> length) {
  return Raw(length.value_or(text.size())).append(text);
}

std::string RawArray(uint32_t element_type, uint64_t count, std::string_view elements) {
  return (Raw(element_type) + Raw(count)).append(elements);
}

std::string RawStrings(const std::vector<std::string>& strings) {
  std::string elements;
  for (const std::string& text : strings) elements += RawString(text);
  return RawArray(kWireString, strings.size(), elements);
}

GgufBuilder& GgufBuilder::AddTensor(std::string name, std::vector<uint64_t> dims, uint32_t type,
                                    size_t bytes) {
  Tensor tensor{std::move(name), std::move(dims), type, std::string(bytes, '\0'), {}, {}, {}};
  for (size_t i = 0; i < bytes; ++i) tensor.data[i] = static_cast<char>(i & 0x7F);
  tensors.push_back(std::move(tensor));
  return *this;
}

std::string GgufBuilder::BuildHeader() const {
  std::string file = magic + Raw(version) + Raw(tensor_count.value_or(tensors.size())) +
                     Raw(key_count.value_or(keys.size()));
  for (const Key& key : keys) {
    file += RawString(key.name, key.name_length) + Raw(key.type) + key.value;
  }
  const std::vector<uint64_t> offsets = TrueOffsets(*this);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    file += RawString(tensor.name, tensor.name_length);
    file += Raw(tensor.n_dims.value_or(static_cast<uint32_t>(tensor.dims.size())));
    for (uint64_t dim : tensor.dims) file += Raw(dim);
    file += Raw(tensor.type) + Raw(tensor.offset.value_or(offsets[i]));
  }
  PadTo(alignment, &file);
  return file;
}

std::string GgufBuilder::Build() const {
  std::string file = BuildHeader();
  for (size_t i = 0; i < tensors.size(); ++i) {
    file += tensors[i].data;
    if (i + 1 < tensors.size()) PadTo(alignment, &file);
  }
  return file;
}

GgufBuilder GgufBuilder::Small() {
  GgufBuilder file;
  file.Add("general.architecture", kWireString, RawString("test"))
      .Add("u8", kWireU8, Raw(uint8_t{200}))
      .Add("i8", kWireI8, Raw(int8_t{-100}))
      .Add("u16", kWireU16, Raw(uint16_t{60000}))
      .Add("i16", kWireI16, Raw(int16_t{-30000}))
      .Add("u32", kWireU32, Raw(uint32_t{4000000000}))
      .Add("i32", kWireI32, Raw(int32_t{-2000000000}))
      .Add("f32", kWireF32, Raw(1.5f))
      .Add("yes", kWireBool, Raw(uint8_t{1}))
      .Add("no", kWireBool, Raw(uint8_t{0}))
      .Add("text", kWireString, RawString("two\nlines"))
      .Add("u64", kWireU64, Raw(~uint64_t{0}))
      .Add("i64", kWireI64, Raw(int64_t{-5000000000}))
      .Add("f64", kWireF64, Raw(0.1))
      .Add("u8s", kWireArray, RawArray(kWireU8, 2, Raw(uint8_t{1}) + Raw(uint8_t{255})))
      .Add("i8s", kWireArray, RawArray(kWireI8, 2, Raw(int8_t{-1}) + Raw(int8_t{127})))
      .Add("u16s", kWireArray, RawArray(kWireU16, 1, Raw(uint16_t{65535})))
      .Add("i16s", kWireArray, RawArray(kWireI16, 1, Raw(int16_t{-2})))
      .Add("u32s", kWireArray, RawArray(kWireU32, 2, Raw(uint32_t{7}) + Raw(uint32_t{8})))
      .Add("i32s", kWireArray, RawArray(kWireI32, 2, Raw(int32_t{-7}) + Raw(int32_t{8})))
      .Add("f32s", kWireArray, RawArray(kWireF32, 2, Raw(0.25f) + Raw(-2.0f)))
      .Add("bools", kWireArray, RawArray(kWireBool, 3, std::string("\1\0\1", 3)))
      .Add("strings", kWireArray, RawStrings({"a", "", "ccc"}))
      .Add("u64s", kWireArray, RawArray(kWireU64, 1, Raw(uint64_t{1} << 63)))
      .Add("i64s", kWireArray, RawArray(kWireI64, 1, Raw(int64_t{-9})))
      .Add("f64s", kWireArray, RawArray(kWireF64, 1, Raw(1e300)))
      .Add("empty", kWireArray, RawArray(kWireString, 0, ""));
  file.AddTensor("one", {5}, 0, 20)
      .AddTensor("two", {4, 3}, 1, 24)
      .AddTensor("three", {32, 2, 2}, 8, 4 * 34)
      .AddTensor("four", {256, 1, 2, 1}, 12, 2 * 144);
  return file;
}

}  // namespace hunch
