#include "support/acceptance_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

namespace hunch {
namespace {

bool ParseChain(const std::string& text, TraceChain& chain) {
  std::istringstream in(text);
  char slash = 0;
  if (!(in >> chain.right >> slash) || slash != '/' || chain.right < 0) return false;
  int belief = 0;
  while (in >> belief) {
    int count = 1;
    if (in.peek() == '*' && !(in.get() && (in >> count))) return false;
    if (belief < 0 || belief > 1000 || count < 1 || count > 64) return false;
    chain.beliefs.insert(chain.beliefs.end(), count, static_cast<float>(belief) / 1000);
    if (in.peek() == ',') in.get();
  }
  return in.eof() && chain.right <= static_cast<int>(chain.beliefs.size());
}

// Answers end where the next begins.
void CountTokensLeft(std::vector<TracePosition>& positions, size_t begin) {
  for (size_t i = begin; i < positions.size(); ++i) {
    positions[i].tokens_left = static_cast<int>(positions.size() - i);
  }
}

}  // namespace

Result<AcceptanceTrace> ReadTrace(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  AcceptanceTrace trace;
  trace.name = name;
  std::string line;
  size_t answer = 0;
  for (int number = 1; std::getline(file, line); ++number) {
    std::istringstream words(line);
    std::string word;
    bool good = true;
    if (number == 1) {
      good = line == "hunch acceptance trace 1";
    } else if (number == 2) {
      good = static_cast<bool>(words >> word >> trace.temperature);
    } else if (number == 3) {
      words >> word;
      while (words >> word) trace.drafters.push_back(word);
    } else if (line.starts_with("answer ")) {
      CountTokensLeft(trace.positions, answer);
      answer = trace.positions.size();
    } else {
      TracePosition& position = trace.positions.emplace_back();
      while (good && words >> word) good = ParseChain(word, position.chains.emplace_back());
      good = good && position.chains.size() == trace.drafters.size();
    }
    if (!good) {
      return Error{ErrorCode::kBadFile, fmt::format("{}:{}: not a trace: {}", path, number, line)};
    }
  }
  if (trace.positions.empty()) {
    return Error{ErrorCode::kBadFile, fmt::format("{}: holds no positions", path)};
  }
  CountTokensLeft(trace.positions, answer);
  return trace;
}

AcceptanceTrace Joined(const AcceptanceTrace& first, const AcceptanceTrace& then, int count) {
  AcceptanceTrace joined = {first.name + ">" + then.name, first.temperature, first.drafters, {}};
  for (const AcceptanceTrace* part : {&first, &then}) {
    const auto size = std::min<std::ptrdiff_t>(count, part->positions.size());
    joined.positions.insert(joined.positions.end(), part->positions.begin(),
                            part->positions.begin() + size);
    // The last answer is cut short.
    for (std::ptrdiff_t i = 1; i <= size; ++i) {
      int& left = joined.positions[joined.positions.size() - i].tokens_left;
      left = std::min(left, static_cast<int>(i));
    }
  }
  return joined;
}

AcceptanceTrace AllWrong(AcceptanceTrace trace) {
  trace.name += ", all wrong";
  for (TracePosition& position : trace.positions) {
    for (TraceChain& chain : position.chains) chain.right = 0;
  }
  return trace;
}

Result<std::vector<AcceptanceTrace>> ReadTexts(const std::string& folder) {
  std::map<std::string, AcceptanceTrace> traces;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".trace") continue;
    const std::string name = entry.path().stem();
    HUNCH_ASSIGN_OR_RETURN(traces[name], ReadTrace(entry.path(), name));
  }
  std::vector<AcceptanceTrace> texts;
  for (const auto& [name, trace] : traces) texts.push_back(trace);
  constexpr int kHalf = 128;
  constexpr std::pair<const char*, const char*> kChanges[] = {
      {"code_edit", "chat"}, {"chat", "code_edit"},        {"summarization", "code"},
      {"code", "chat"},      {"translation", "code_edit"}, {"math", "summarization"}};
  for (const auto& [first, then] : kChanges) {
    if (traces.contains(first) && traces.contains(then))
      texts.push_back(Joined(traces[first], traces[then], kHalf));
  }
  for (const char* name : {"chat", "code_edit"}) {
    if (traces.contains(name)) texts.push_back(AllWrong(traces[name]));
  }
  return texts;
}

AcceptanceTrace OnlyDrafter(AcceptanceTrace trace, int drafter) {
  trace.drafters = {trace.drafters[drafter]};
  for (TracePosition& position : trace.positions) position.chains = {position.chains[drafter]};
  return trace;
}

}  // namespace hunch
