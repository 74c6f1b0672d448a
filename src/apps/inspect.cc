// hunch inspect: what a model file holds, and whether it fits this machine and its draft model.
#include <fmt/format.h>

#include "apps/commands.h"
#include "base/isa.h"
#include "base/one_line.h"
#include "session/json_text.h"

namespace hunch {
namespace {

std::string Bytes(uint64_t bytes) {
  const double mib = static_cast<double>(bytes) / (1 << 20);
  return mib < 1024 ? fmt::format("{:.1f} MiB", mib) : fmt::format("{:.2f} GiB", mib / 1024);
}

Json ModelJson(const ModelReport& model) {
  Json types = Json::object();
  for (const auto& [type, count] : model.tensor_types) types[type] = count;
  Json end_tokens = Json::array();
  for (const auto& [id, text] : model.end_tokens) {
    end_tokens.push_back({{"token_id", id}, {"token", text}});
  }
  return {{"path", model.path},
          {"architecture", model.architecture},
          {"drafter", DrafterKindName(model.drafter)},
          {"name", model.name},
          {"file_bytes", model.file_bytes},
          {"parameters", model.parameters},
          {"tensor_types", types},
          {"layers", model.layers},
          {"hidden", model.hidden},
          {"heads", model.heads},
          {"kv_heads", model.kv_heads},
          {"head_dim", model.head_dim},
          {"vocab_rows", model.vocab_rows},
          {"context_length", model.context_length},
          {"tokenizer", model.tokenizer_model},
          {"pre_tokenizer", model.pre_tokenizer},
          {"vocab_size", model.vocab_size},
          {"end_tokens", end_tokens},
          {"has_chat_template", model.has_chat_template}};
}

const char* RoleOf(const ModelReport& draft) { return RunsHead(draft.drafter) ? "head" : "draft"; }

std::string WhatDrafts(const InspectReport& report) {
  if (report.draft.size() > 1) return "draft model or the head";
  return RunsHead(report.draft[0].drafter) ? "head" : "draft model";
}

bool FitsMemory(const MemoryPlan& memory) { return memory.total() <= memory.available; }

Json ReportJson(const InspectReport& report) {
  const MemoryPlan& memory = report.memory;
  Json json;
  json["target"] = ModelJson(report.target);
  json["draft"] = json["head"] = nullptr;
  for (const ModelReport& draft : report.draft) json[RoleOf(draft)] = ModelJson(draft);
  json["vocabularies_fit"] =
      report.draft.empty() ? Json(nullptr) : Json(report.vocabulary_difference.empty());
  json["vocabulary_difference"] = report.vocabulary_difference;
  json["max_model_len"] = report.max_model_len;
  json["max_num_seqs"] = report.max_num_seqs;
  json["memory"] = {{"target_weights", memory.target_weights},
                    {"draft_weights", memory.draft_weights},
                    {"head_weights", memory.head_weights},
                    {"kv", memory.kv},
                    {"kv_cache_dtype", report.kv_cache_dtype},
                    {"kv_bytes_per_token", report.kv_bytes_per_token},
                    {"draft_kv", memory.draft_kv},
                    {"head_kv", memory.head_kv},
                    {"scratch", memory.scratch},
                    {"program", memory.program},
                    {"total", memory.total()},
                    {"available", memory.available},
                    {"fits", FitsMemory(memory)}};
  return json;
}

void PrintModel(std::string_view role, const ModelReport& model, std::ostream& out) {
  std::string types;
  for (const auto& [type, count] : model.tensor_types) {
    types += fmt::format("{}{} x {}", types.empty() ? "" : ", ", count, type);
  }
  std::string ends;
  for (const auto& [id, text] : model.end_tokens) {
    ends += fmt::format("{}{} {}", ends.empty() ? "" : ", ", id, DumpJson(Json(text)));
  }
  const auto row = [&](std::string_view name, const std::string& value) {
    out << fmt::format("  {:<14}{}\n", name, OneLine(value));
  };
  out << role << ": " << OneLine(model.path) << '\n';
  row("architecture", model.name.empty() ? model.architecture
                                         : fmt::format("{} ({})", model.architecture, model.name));
  row("parameters", fmt::format("{:.1f} million", static_cast<double>(model.parameters) / 1e6));
  row("file", Bytes(model.file_bytes));
  row("tensors", types);
  row("shape", fmt::format("{} layers, width {}, {} heads, {} key/value heads of {}", model.layers,
                           model.hidden, model.heads, model.kv_heads, model.head_dim));
  row("context", fmt::format("{} tokens", model.context_length));
  if (model.drafter != DrafterKind::kDraftModel) {
    row("guesses", fmt::format("{} of {} tokens, as {}", model.vocab_rows, model.vocab_size,
                               DrafterKindName(model.drafter)));
    return;
  }
  row("tokenizer", fmt::format("{} / {}, {} tokens, {} rows", model.tokenizer_model,
                               model.pre_tokenizer, model.vocab_size, model.vocab_rows));
  row("end tokens", ends.empty() ? "none" : ends);
  row("chat template", model.has_chat_template ? "yes" : "no");
}

void PrintMemory(const InspectReport& report, std::ostream& out) {
  const MemoryPlan& memory = report.memory;
  const auto row = [&](std::string_view name, uint64_t bytes) {
    out << fmt::format("  {:<14}{:>12}\n", name, Bytes(bytes));
  };
  out << fmt::format("memory: {} sequence{} of {} tokens, {} bytes of {} cache a token\n",
                     report.max_num_seqs, report.max_num_seqs == 1 ? "" : "s", report.max_model_len,
                     report.kv_bytes_per_token, report.kv_cache_dtype);
  row("weights", memory.target_weights);
  row("cache", memory.kv);
  for (const ModelReport& draft : report.draft) {
    const bool head = RunsHead(draft.drafter);
    row(fmt::format("{} weights", RoleOf(draft)),
        head ? memory.head_weights : memory.draft_weights);
    row(fmt::format("{} cache", RoleOf(draft)), head ? memory.head_kv : memory.draft_kv);
  }
  row("scratch", memory.scratch);
  row("program", memory.program);
  row("total", memory.total());
  row("available", memory.available);
}

// Which setting would make it fit: the cache grows with context and sequences, the rest does not.
std::string MemoryAdvice(const InspectReport& report) {
  const MemoryPlan& memory = report.memory;
  const uint64_t cache = memory.kv + memory.draft_kv + memory.head_kv;
  const uint64_t fixed = memory.total() - cache;
  if (fixed >= memory.available) {
    return report.draft.empty()
               ? "use a smaller model or a smaller quantisation of it"
               : fmt::format("leave out the {}, or use smaller models", WhatDrafts(report));
  }
  const double share = static_cast<double>(memory.available - fixed) / static_cast<double>(cache);
  for (const auto& [dtype, bytes] : report.smaller_caches) {
    if (fixed + bytes <= memory.available) {
      return fmt::format("--kv-cache-dtype {} would fit", dtype);
    }
  }
  const int sequences = static_cast<int>(share * report.max_num_seqs);
  if (sequences >= 1) return fmt::format("--max-num-seqs {} would fit", sequences);
  // Whole cache blocks, and a little to spare.
  const int length = static_cast<int>(share * report.max_model_len * report.max_num_seqs) / 64 * 64;
  if (length >= 64) {
    return fmt::format("--max-model-len {}{} would fit", length,
                       report.max_num_seqs > 1 ? " with --max-num-seqs 1" : "");
  }
  return "use a smaller model or a smaller quantisation of it";
}

std::string Verdict(const InspectReport& report) {
  if (!FitsMemory(report.memory)) {
    return fmt::format("does not fit; {}", MemoryAdvice(report));
  }
  return report.vocabulary_difference.empty()
             ? "fits"
             : fmt::format("fits, but the {} cannot draft for this target", WhatDrafts(report));
}

}  // namespace

Result<int> InspectCommand(const Flags& flags, Context& context) {
  LlmOptions options;
  options.model = flags.model;
  options.draft_model = flags.draft;
  options.head = flags.head;
  options.heads = flags.heads;
  options.max_model_len = flags.max_model_len;
  options.max_num_seqs = flags.max_num_seqs;
  options.kv_cache_dtype = flags.kv_cache_dtype;
  HUNCH_ASSIGN_OR_RETURN(const InspectReport report, context.inspect(options));
  const bool fits_memory = FitsMemory(report.memory);
  const bool fits_vocabulary = report.vocabulary_difference.empty();
  std::ostream& out = context.console.out;
  if (flags.json) {
    Json json = ReportJson(report);
    json["advice"] = fits_memory ? Json(nullptr) : Json(MemoryAdvice(report));
    out << DumpJson(json) << '\n';
  } else {
    PrintModel("target", report.target, out);
    for (const ModelReport& draft : report.draft) PrintModel(RoleOf(draft), draft, out);
    if (!report.draft.empty()) {
      out << "vocabularies: "
          << (fits_vocabulary ? "fit" : "do not fit: " + report.vocabulary_difference) << '\n';
    }
    PrintMemory(report, out);
    out << "verdict: " << Verdict(report) << '\n';
  }
  return fits_memory && fits_vocabulary ? kExitOk : kExitFailure;
}

}  // namespace hunch
