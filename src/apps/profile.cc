#include "apps/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "apps/read_text.h"
#include "base/fnv.h"
#include "base/isa.h"
#include "base/one_line.h"
#include "base/thread_pool.h"

namespace hunch {
namespace {

constexpr int kVersionNumber = 1;
constexpr size_t kMostBytes = size_t{1} << 20;  // of a profile
constexpr uint64_t kHashedEnd = uint64_t{1} << 20;
constexpr double kLongestPass = 1e4;  // seconds

Error Wrong(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

Error WrongKey(std::string_view key, std::string_view expected, const Json& value) {
  constexpr size_t kMost = 60;
  const std::string shown = DumpJson(value);
  return Wrong(fmt::format("\"{}\" must be {}, not {}{}", key, expected, shown.substr(0, kMost),
                           shown.size() > kMost ? "..." : ""));
}

Status ReadText(const Json& object, const char* key, std::string& out) {
  const Json& value = object[key];
  if (!value.is_string()) return WrongKey(key, "a string", value);
  out = value.get<std::string>();
  return Ok{};
}

Status ReadCount(const Json& object, const char* key, int64_t most, int64_t& out) {
  const Json& value = object[key];
  const bool fits = value.is_number_unsigned() && value.get<uint64_t>() >= 1 &&
                    value.get<uint64_t>() <= static_cast<uint64_t>(most);
  if (!fits) return WrongKey(key, fmt::format("a whole number from 1 to {}", most), value);
  out = value.get<int64_t>();
  return Ok{};
}

Status ReadRate(const Json& object, const char* key, double& out) {
  const Json& value = object[key];
  if (!value.is_number()) return WrongKey(key, "a number", value);
  out = value.get<double>();
  if (!(out >= 0 && out < 1e9)) return WrongKey(key, "a number from 0 to 1e9", value);
  return Ok{};
}

// All of `keys` and nothing else.
Status CheckKeys(const Json& object, const std::string& what,
                 const std::vector<std::string_view>& keys) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      return Wrong(fmt::format("unknown key \"{}\"{}", key.substr(0, 60), what));
    }
  }
  for (const std::string_view key : keys) {
    if (!object.contains(key)) return Wrong(fmt::format("\"{}\"{} is missing", key, what));
  }
  return Ok{};
}

Status ReadIdentity(const Json& value, FileIdentity& out) {
  if (!value.is_object()) return WrongKey("model", "an object", value);
  HUNCH_RETURN_IF_ERROR(CheckKeys(value, " of \"model\"", {"name", "bytes", "hash"}));
  HUNCH_RETURN_IF_ERROR(ReadText(value, "name", out.name));
  HUNCH_RETURN_IF_ERROR(ReadText(value, "hash", out.hash));
  int64_t bytes = 0;
  HUNCH_RETURN_IF_ERROR(ReadCount(value, "bytes", int64_t{1} << 50, bytes));
  out.bytes = static_cast<uint64_t>(bytes);
  return Ok{};
}

Status ReadGuesses(const Json& value, int& out) {
  if (value.is_null()) return Ok{};
  const bool fits =
      value.is_number_unsigned() && value.get<uint64_t>() >= 1 && value.get<uint64_t>() <= 64;
  if (!fits)
    return WrongKey("num_speculative_tokens", "null or a whole number from 1 to 64", value);
  out = value.get<int>();
  return Ok{};
}

// [[rows, seconds], ...]: ascending rows, possible times, the first for one row.
Status ReadPassTimes(const Json& value, std::vector<PassTime>& out) {
  constexpr std::string_view kExpected =
      "up to 64 pairs [rows, seconds] with ascending rows from 1 to 64";
  if (!value.is_array() || value.size() > Llm::kMostPassTimes) {
    return WrongKey("pass_times", kExpected, value);
  }
  int before = 0;
  for (const Json& pair : value) {
    const bool shaped = pair.is_array() && pair.size() == 2 && pair[0].is_number_unsigned() &&
                        pair[1].is_number() && pair[0].get<uint64_t>() <= Llm::kMostPassTimes;
    if (!shaped) return WrongKey("pass_times", kExpected, pair);
    const PassTime time = {pair[0].get<int>(), pair[1].get<double>()};
    const bool possible = time.seconds > 1e-9 && time.seconds <= kLongestPass;
    if (time.rows <= before || !possible || (before == 0 && time.rows != 1)) {
      return WrongKey("pass_times", kExpected, pair);
    }
    before = time.rows;
    out.push_back(time);
  }
  return Ok{};
}

// A method that needs more than a profile holds would fail later with a message about a flag that
// nobody gave.
Status CheckConfiguration(const Profile& profile) {
  SpeculativeConfig config;
  config.method = profile.method;
  config.model = profile.draft_model;
  config.num_speculative_tokens = profile.num_speculative_tokens;
  return CheckMethod(config);
}

}  // namespace

Result<FileIdentity> IdentifyFile(const std::string& path) {
  const auto fail = [&] {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("cannot read {}: {}", path, std::strerror(errno))};
  };
  errno = 0;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("cannot read {}: no such file", path)};
  }
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff end = file.tellg();
  if (!file || end < 0) return fail();
  FileIdentity identity = {.name = std::filesystem::path(path).filename().string(),
                           .bytes = static_cast<uint64_t>(end),
                           .hash = ""};
  uint64_t hash = Fnv64(fmt::format("{} ", identity.bytes));
  const uint64_t part = std::min(identity.bytes, kHashedEnd);
  std::string bytes(part, '\0');
  for (const uint64_t from : {uint64_t{0}, identity.bytes - part}) {
    file.seekg(static_cast<std::streamoff>(from));
    if (!file.read(bytes.data(), static_cast<std::streamsize>(part))) return fail();
    hash = Fnv64(bytes, hash);
  }
  identity.hash = fmt::format("{:016x}", hash);
  return identity;
}

Json ProfileJson(const Profile& profile) {
  Json json;
  json["version"] = kVersionNumber;
  json["model"] = {
      {"name", profile.model.name}, {"bytes", profile.model.bytes}, {"hash", profile.model.hash}};
  json["cpu"] = profile.cpu;
  json["isa"] = profile.isa;
  json["threads"] = profile.threads;
  json["method"] = DraftMethodName(profile.method);
  const int guesses = profile.num_speculative_tokens;
  json["num_speculative_tokens"] = guesses > 0 ? Json(guesses) : Json(nullptr);
  json["draft_model"] = profile.draft_model.empty() ? Json(nullptr) : Json(profile.draft_model);
  json["pass_times"] = Json::array();
  for (const PassTime& time : profile.pass_times) {
    json["pass_times"].push_back(Json::array({time.rows, time.seconds}));
  }
  json["tokens_per_second"] = profile.tokens_per_second;
  json["speedup"] = profile.speedup;
  return json;
}

Result<Profile> ParseProfile(std::string_view text) {
  HUNCH_ASSIGN_OR_RETURN(Json json, ParseJsonObject(text));
  if (const auto version = json.find("version");
      version == json.end() || *version != kVersionNumber) {
    return Wrong(
        fmt::format("\"version\" is not {}: no profile of this program; hunch tune --out "
                    "writes one",
                    kVersionNumber));
  }
  HUNCH_RETURN_IF_ERROR(
      CheckKeys(json, "",
                {"version", "model", "cpu", "isa", "threads", "method", "num_speculative_tokens",
                 "draft_model", "pass_times", "tokens_per_second", "speedup"}));
  Profile profile;
  HUNCH_RETURN_IF_ERROR(ReadIdentity(json["model"], profile.model));
  HUNCH_RETURN_IF_ERROR(ReadText(json, "cpu", profile.cpu));
  HUNCH_RETURN_IF_ERROR(ReadText(json, "isa", profile.isa));
  int64_t threads = 0;
  HUNCH_RETURN_IF_ERROR(ReadCount(json, "threads", 1024, threads));
  profile.threads = static_cast<int>(threads);
  std::string method;
  HUNCH_RETURN_IF_ERROR(ReadText(json, "method", method));
  HUNCH_ASSIGN_OR_RETURN(profile.method, ParseDraftMethod(method));
  HUNCH_RETURN_IF_ERROR(
      ReadGuesses(json["num_speculative_tokens"], profile.num_speculative_tokens));
  if (!json["draft_model"].is_null()) {
    HUNCH_RETURN_IF_ERROR(ReadText(json, "draft_model", profile.draft_model));
  }
  HUNCH_RETURN_IF_ERROR(ReadPassTimes(json["pass_times"], profile.pass_times));
  HUNCH_RETURN_IF_ERROR(ReadRate(json, "tokens_per_second", profile.tokens_per_second));
  HUNCH_RETURN_IF_ERROR(ReadRate(json, "speedup", profile.speedup));
  HUNCH_RETURN_IF_ERROR(CheckConfiguration(profile));
  return profile;
}

std::string ProfileDifference(const Profile& profile, const FileIdentity& model,
                              std::string_view cpu, std::string_view isa, int threads) {
  if (profile.model != model) {
    return profile.model.name == model.name
               ? fmt::format("measured with another file of the name {}", model.name)
               : fmt::format("measured with {}, not {}", profile.model.name, model.name);
  }
  if (profile.cpu != cpu) return fmt::format("measured on {}, not {}", profile.cpu, cpu);
  if (profile.isa != isa) return fmt::format("measured with {}, not {}", profile.isa, isa);
  if (profile.threads != threads) {
    return fmt::format("measured with {} threads, not {}", profile.threads, threads);
  }
  return "";
}

Status UseProfile(Flags& flags, Context& context) {
  const auto at_path = [&](const Error& error) {
    return Error{error.code, fmt::format("--profile: {}: {}", flags.profile, error.message)};
  };
  HUNCH_RETURN_IF_ERROR(ChooseIsa());
  HUNCH_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(flags.profile, kMostBytes));
  auto parsed = ParseProfile(text);
  if (!parsed.ok()) return at_path(parsed.error());
  Profile& profile = *parsed;
  // A model that cannot be read is for loading to complain about.
  if (const auto model = IdentifyFile(flags.model); model.ok()) {
    const int threads = flags.threads > 0 ? flags.threads : AvailableCpus();
    const std::string difference =
        ProfileDifference(profile, *model, CpuName(), IsaName(ActiveIsa()), threads);
    if (difference.empty()) {
      flags.pass_times = std::move(profile.pass_times);
    } else {
      context.console.err << OneLine(fmt::format(
                                 "warning: {}: {}; its method is used, its pass times are not, and "
                                 "another method may be faster: hunch tune finds out",
                                 flags.profile, difference))
                          << '\n';
    }
  }
  if (flags.speculation_given) return Ok{};
  flags.speculation.fields.model = profile.draft_model;
  if (flags.methods) return Ok{};
  flags.speculation.method = profile.method;
  flags.speculation.fields.num_speculative_tokens = profile.num_speculative_tokens;
  return Ok{};
}

}  // namespace hunch
