#include "convert/tensor_pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "convert/pickle_opcodes.h"
#include "weights/byte_cursor.h"

namespace hunch {
namespace {

// Each byte can make a value of less than a hundred; a head has tens of tensors of about 200 bytes.
constexpr size_t kMostPickleBytes = 1 << 20;
// Copied for each tensor, which may be made of very few bytes.
constexpr size_t kMostKeyBytes = 64, kMostDims = 8;

constexpr std::string_view kOrderedDict = "OrderedDict";
constexpr std::string_view kRebuildTensor = "_rebuild_tensor_v2";

enum class Kind { kNone, kBool, kInt, kText, kTuple, kTable, kName, kStorage, kTensor };

using Index = uint32_t;  // of a value; values are never moved, so a pickle's circles do no harm

struct Value {
  Kind kind = Kind::kNone;
  int64_t number = 0;             // kBool, kInt; of kStorage and kTensor, which of them
  std::string_view text = {};     // kText, in the pickle; kName: which of the known ones
  std::vector<Index> items = {};  // kTuple; kTable: keys and values in turn
};

struct Storage {
  NumberType type;
  std::string_view key;
  int64_t elements;
};

std::string Short(std::string_view text) {
  constexpr size_t kMost = 100;
  return fmt::format("{}{}", text.substr(0, kMost), text.size() > kMost ? "..." : "");
}

// "" : none that is known.
std::string_view KnownName(std::string_view module, std::string_view name) {
  if (module == "collections" && name == kOrderedDict) return kOrderedDict;
  if (module == "torch._utils" && name == kRebuildTensor) return kRebuildTensor;
  for (const NumberTraits& known : NumberTypes()) {
    if (module == "torch" && name == known.storage) return known.storage;
  }
  return "";
}

class PickleMachine {
 public:
  PickleMachine(std::span<const std::byte> bytes, std::string_view name)
      : cursor_(bytes), name_(name) {}

  Result<std::vector<PickledTensor>> Run() {
    uint8_t opcode = 0, version = 0;
    if (!cursor_.Read(&opcode) || opcode != pickle::kProto || !cursor_.Read(&version)) {
      return Bad("its pickle has no beginning");
    }
    if (version != 2) {
      return Unsupported(
          fmt::format("a pickle of protocol {}; torch writes 2 unless told otherwise", version));
    }
    while (true) {
      if (!cursor_.Read(&opcode)) return Bad("its pickle is cut short");
      if (opcode == pickle::kStop) return Finish();
      HUNCH_RETURN_IF_ERROR(Step(opcode));
    }
  }

 private:
  Error Bad(std::string_view what) const {
    return {ErrorCode::kBadFile, fmt::format("{}: {}", name_, what)};
  }
  Error Unsupported(std::string_view what) const {
    return {ErrorCode::kUnsupported, fmt::format("{}: {}", name_, what)};
  }
  Error Damaged() const { return Bad("its pickle is damaged"); }
  Error Refused(std::string_view what) const {
    return Unsupported(
        fmt::format("its pickle asks for {}, which no table of tensors needs; "
                    "nothing in it was run. If you trust it, load it in torch and "
                    "save its state_dict as safetensors",
                    what));
  }

  Status Step(uint8_t opcode) {
    switch (opcode) {
      case pickle::kMark:
        marks_.push_back(stack_.size());
        return Ok{};
      case pickle::kBinPut:
        return Put(Number<uint8_t>());
      case pickle::kLongBinPut:
        return Put(Number<uint32_t>());
      case pickle::kBinGet:
        return Get(Number<uint8_t>());
      case pickle::kLongBinGet:
        return Get(Number<uint32_t>());
      case pickle::kNone:
        return Push({.kind = Kind::kNone});
      case pickle::kNewTrue:
      case pickle::kNewFalse:
        return Push({.kind = Kind::kBool, .number = opcode == pickle::kNewTrue});
      case pickle::kBinInt:
        return PushNumber(Number<int32_t>());
      case pickle::kBinInt1:
        return PushNumber(Number<uint8_t>());
      case pickle::kBinInt2:
        return PushNumber(Number<uint16_t>());
      case pickle::kLong1:
        return PushLong();
      case pickle::kBinUnicode:
        return PushText();
      case pickle::kEmptyDict:
        return Push({.kind = Kind::kTable});
      case pickle::kSetItem:
        return SetItems(stack_.size() < 2 ? 0 : stack_.size() - 2);
      case pickle::kSetItems:
        return AtMark([this](size_t from) { return SetItems(from); });
      case pickle::kEmptyTuple:
        return PushTuple(stack_.size());
      case pickle::kTuple1:
      case pickle::kTuple2:
      case pickle::kTuple3: {
        const size_t items = opcode - pickle::kTuple1 + 1u;
        return stack_.size() < items ? Status(Damaged()) : PushTuple(stack_.size() - items);
      }
      case pickle::kTuple:
        return AtMark([this](size_t from) { return PushTuple(from); });
      case pickle::kGlobal:
        return PushName();
      case pickle::kBinPersId:
        return PushStorage();
      case pickle::kReduce:
        return Reduce();
      case pickle::kBuild:
        return Build();
      default:
        return RefuseOpcode(opcode);
    }
  }

  Error RefuseOpcode(uint8_t opcode) const {
    for (const auto& [refused, refused_name] : pickle::kRefused) {
      if (refused == opcode) return Refused(fmt::format("the opcode {}", refused_name));
    }
    return Refused(fmt::format("the opcode {:#04x}", opcode));
  }

  // The next number; -1 at the end of the pickle, where the next step fails.
  template <typename T>
  int64_t Number() {
    T number;
    return cursor_.Read(&number) ? int64_t{number} : -1;
  }

  Status Push(Value value) {
    stack_.push_back(static_cast<Index>(values_.size()));
    values_.push_back(std::move(value));
    return Ok{};
  }
  Status PushNumber(int64_t number) { return Push({.kind = Kind::kInt, .number = number}); }
  // The value on top, taken off; null: none there since the last mark.
  const Value* Pop() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) return nullptr;
    const Index top = stack_.back();
    stack_.pop_back();
    return &values_[top];
  }

  Status Put(int64_t slot) {
    if (stack_.empty()) return Damaged();
    memo_[slot] = stack_.back();
    return Ok{};
  }
  Status Get(int64_t slot) {
    const auto found = memo_.find(slot);
    if (found == memo_.end()) return Damaged();
    stack_.push_back(found->second);
    return Ok{};
  }

  Status PushLong() {
    uint8_t length;
    std::span<const std::byte> bytes;
    if (!cursor_.Read(&length) || length > sizeof(int64_t) || !cursor_.ReadBytes(length, &bytes)) {
      return Damaged();
    }
    // Two's complement, the lowest byte first, of as many bytes as it needs.
    uint64_t number = 0;
    for (size_t i = 0; i < bytes.size(); ++i) number |= uint64_t(bytes[i]) << (8 * i);
    const bool negative = length > 0 && (bytes.back() & std::byte{0x80}) != std::byte{0};
    if (negative && length < sizeof(int64_t)) number |= ~uint64_t{0} << (8 * length);
    return PushNumber(static_cast<int64_t>(number));
  }

  Status PushText() {
    uint32_t length;
    std::span<const std::byte> bytes;
    if (!cursor_.Read(&length) || !cursor_.ReadBytes(length, &bytes)) return Damaged();
    return Push(
        {.kind = Kind::kText, .text = {reinterpret_cast<const char*>(bytes.data()), bytes.size()}});
  }

  Status PushTuple(size_t from) {
    Value tuple = {.kind = Kind::kTuple};
    tuple.items.assign(stack_.begin() + static_cast<std::ptrdiff_t>(from), stack_.end());
    stack_.resize(from);
    return Push(std::move(tuple));
  }

  template <typename Use>
  Status AtMark(Use&& use) {
    if (marks_.empty() || marks_.back() > stack_.size()) return Damaged();
    const size_t from = marks_.back();
    marks_.pop_back();
    return use(from);
  }

  // What lies on the stack from `from` on goes into the table below it.
  Status SetItems(size_t from) {
    if (from == 0 || (stack_.size() - from) % 2 != 0) return Damaged();
    Value& table = values_[stack_[from - 1]];
    if (table.kind != Kind::kTable) return Damaged();
    table.items.insert(table.items.end(), stack_.begin() + static_cast<std::ptrdiff_t>(from),
                       stack_.end());
    stack_.resize(from);
    return Ok{};
  }

  bool ReadLine(std::string& line) {
    uint8_t byte;
    while (cursor_.Read(&byte)) {
      if (byte == '\n') return true;
      line.push_back(static_cast<char>(byte));
    }
    return false;
  }

  Status PushName() {
    std::string module, name;
    if (!ReadLine(module) || !ReadLine(name)) return Damaged();
    const std::string_view known = KnownName(module, name);
    if (known.empty()) return Refused(Short(module + '.' + name));
    return Push({.kind = Kind::kName, .text = known});
  }

  const Value& Item(const Value& tuple, size_t index) const { return values_[tuple.items[index]]; }

  // ('storage', class, key, device, elements): where the numbers of a tensor lie.
  Status PushStorage() {
    const Value* const id = Pop();
    if (id == nullptr || id->kind != Kind::kTuple || id->items.size() != 5) return Damaged();
    const Value &what = Item(*id, 0), &type = Item(*id, 1), &key = Item(*id, 2),
                &elements = Item(*id, 4);
    const auto traits =
        std::find_if(NumberTypes().begin(), NumberTypes().end(), [&](const NumberTraits& known) {
          return type.kind == Kind::kName && known.storage == type.text;
        });
    if (what.kind != Kind::kText || what.text != "storage" || traits == NumberTypes().end() ||
        key.kind != Kind::kText || key.text.size() > kMostKeyBytes || elements.kind != Kind::kInt ||
        elements.number < 0) {
      return Damaged();
    }
    storages_.push_back({traits->type, key.text, elements.number});
    return Push({.kind = Kind::kStorage, .number = static_cast<int64_t>(storages_.size()) - 1});
  }

  // Calls one of the two functions that it knows.
  Status Reduce() {
    const Value* const arguments = Pop();
    const Value* const function = arguments == nullptr ? nullptr : Pop();
    if (function == nullptr || arguments->kind != Kind::kTuple) return Damaged();
    if (function->kind != Kind::kName) return Damaged();
    if (function->text == kOrderedDict) {
      if (!arguments->items.empty()) return Damaged();
      return Push({.kind = Kind::kTable});
    }
    if (function->text != kRebuildTensor) {
      return Refused(fmt::format("a call of torch.{}", function->text));
    }
    return Rebuild(*arguments);
  }

  bool ReadSizes(const Value& tuple, std::vector<int64_t>& sizes) const {
    if (tuple.kind != Kind::kTuple || tuple.items.size() > kMostDims) return false;
    for (size_t i = 0; i < tuple.items.size(); ++i) {
      if (Item(tuple, i).kind != Kind::kInt) return false;
      sizes.push_back(Item(tuple, i).number);
    }
    return true;
  }

  // (storage, offset, sizes, strides, requires_grad, hooks), and what of a subclass follows.
  Status Rebuild(const Value& arguments) {
    if (arguments.items.size() < 6) return Damaged();
    const Value &from = Item(arguments, 0), &offset = Item(arguments, 1);
    PickledTensor tensor;
    std::vector<int64_t> strides;
    if (from.kind != Kind::kStorage || offset.kind != Kind::kInt ||
        !ReadSizes(Item(arguments, 2), tensor.shape) || !ReadSizes(Item(arguments, 3), strides) ||
        strides.size() != tensor.shape.size()) {
      return Damaged();
    }
    const Storage& storage = storages_[static_cast<size_t>(from.number)];
    tensor.type = storage.type;
    tensor.storage = storage.key;
    tensor.storage_elements = storage.elements;
    tensor.offset = offset.number;
    const std::optional<int64_t> bytes = CheckedBytes(tensor.type, tensor.shape);
    if (!bytes) return Damaged();
    const int64_t elements = *bytes / TraitsOf(tensor.type).bytes;
    if (tensor.offset < 0 || tensor.offset > storage.elements ||
        elements > storage.elements - tensor.offset) {
      return Bad("a tensor lies outside of its storage");
    }
    int64_t step = 1;  // of a contiguous tensor
    for (size_t i = strides.size(); elements > 0 && i-- > 0;) {
      if (tensor.shape[i] != 1 && strides[i] != step) {
        return Unsupported("a tensor is not contiguous; save it after .contiguous()");
      }
      step *= tensor.shape[i];
    }
    tensors_.push_back(std::move(tensor));
    return Push({.kind = Kind::kTensor, .number = static_cast<int64_t>(tensors_.size()) - 1});
  }

  // torch hangs version numbers of modules onto the table; nothing of ours.
  Status Build() {
    const Value* const state = Pop();
    if (state == nullptr || stack_.empty() || state->kind != Kind::kTable ||
        values_[stack_.back()].kind != Kind::kTable) {
      return Refused("a state for something that is no table");
    }
    return Ok{};
  }

  Result<std::vector<PickledTensor>> Finish() {
    if (stack_.size() != 1 || !marks_.empty() || cursor_.left() > 0) return Damaged();
    const Value& table = values_[stack_[0]];
    if (table.kind != Kind::kTable) return Unsupported("its pickle is no table of tensors");
    std::vector<PickledTensor> tensors;
    std::set<std::string_view> names;
    for (size_t i = 0; i < table.items.size(); i += 2) {
      const Value &key = Item(table, i), &value = Item(table, i + 1);
      if (key.kind != Kind::kText || value.kind != Kind::kTensor) {
        return Unsupported(
            fmt::format("its pickle has '{}', which is no tensor; save the state_dict "
                        "alone",
                        key.kind == Kind::kText ? Short(key.text) : "a key"));
      }
      if (!names.insert(key.text).second) return Damaged();
      tensors.push_back(tensors_[static_cast<size_t>(value.number)]);
      tensors.back().name = key.text;
    }
    return tensors;
  }

  ByteCursor cursor_;
  const std::string_view name_;
  std::vector<Value> values_;  // all that were ever made
  std::vector<Index> stack_;
  std::vector<size_t> marks_;  // the stack's sizes when they were set
  std::unordered_map<int64_t, Index> memo_;
  std::vector<Storage> storages_;
  std::vector<PickledTensor> tensors_;
};

}  // namespace

Result<std::vector<PickledTensor>> ReadTensorPickle(std::span<const std::byte> bytes,
                                                    std::string_view name) {
  if (bytes.size() > kMostPickleBytes) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{}: its pickle has {} bytes; a head's has a few thousand", name,
                             bytes.size())};
  }
  return PickleMachine(bytes, name).Run();
}

}  // namespace hunch
