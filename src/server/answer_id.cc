#include "server/answer_id.h"

#include <fmt/format.h>

#include <charconv>

#include "base/fnv.h"

namespace hunch {
namespace {

// Takes `digits` digits of `base` from the beginning of `text`; all up to the next other character
// if `digits` is 0.
template <typename Number>
bool Take(std::string_view& text, size_t digits, int base, Number& out) {
  const std::string_view number = digits > 0 ? text.substr(0, digits) : text;
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), out, base);
  const auto taken = static_cast<size_t>(end - number.data());
  if (error != std::errc() || (digits > 0 && taken != digits)) return false;
  text.remove_prefix(taken);
  return true;
}

bool TakeText(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

}  // namespace

std::string AnswerIdText(std::string_view prefix, const AnswerId& id) {
  return fmt::format("{}-{:08x}{:016x}{:08x}{:08x}", prefix, id.created, id.seed, id.request,
                     id.salt);
}

std::string EventIdText(std::string_view answer_id, const std::vector<uint32_t>& sent) {
  return fmt::format("{}-{}", answer_id, fmt::join(sent, "."));
}

std::optional<EventId> ParseEventId(std::string_view prefix, std::string_view text) {
  EventId id;
  AnswerId& answer = id.answer;
  if (!TakeText(text, prefix) || !TakeText(text, "-") || !Take(text, 8, 16, answer.created) ||
      !Take(text, 16, 16, answer.seed) || !Take(text, 8, 16, answer.request) ||
      !Take(text, 8, 16, answer.salt) || !TakeText(text, "-")) {
    return std::nullopt;
  }
  do {
    uint32_t sent = 0;
    if (id.sent.size() == EventId::kMostChoices || !Take(text, 0, 10, sent)) return std::nullopt;
    id.sent.push_back(sent);
  } while (TakeText(text, "."));
  if (!text.empty()) return std::nullopt;
  return id;
}

uint32_t RequestHash(std::string_view fingerprint, Json body) {
  body.erase("seed");
  const uint64_t hash = Fnv64(DumpJson(body), Fnv64(fingerprint));
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

}  // namespace hunch
