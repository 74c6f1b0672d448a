#include "session/api_llm.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/isa.h"
#include "session/speculation_json.h"

namespace hunch::api {
namespace {

constexpr int kMostSeqs = 64;

static_assert(static_cast<int>(ErrorCode::kInternal) ==
              static_cast<int>(hunch::ErrorCode::kInternal));

Error OuterError(const hunch::Error& error) {
  return {static_cast<ErrorCode>(error.code), error.message};
}

Error Refused(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

hunch::Result<hunch::SpeculativeConfig> InnerSpeculation(const SpeculativeConfig& config) {
  hunch::SpeculativeConfig inner;
  HUNCH_ASSIGN_OR_RETURN(inner.method, ParseDraftMethod(config.method));
  inner.model = config.model;
  inner.head = config.head;
  inner.num_speculative_tokens = config.num_speculative_tokens;
  HUNCH_RETURN_IF_ERROR(CheckMethod(inner));
  return inner;
}

hunch::Result<LLM> LoadInner(const EngineArgs& args) {
  HUNCH_RETURN_IF_ERROR(ChooseIsa());
  HUNCH_ASSIGN_OR_RETURN(const auto speculation, InnerSpeculation(args.speculative_config));
  LlmOptions options;
  options.model = args.model;
  NameDrafts({&speculation, 1}, options);
  options.heads = args.heads;
  options.threads = args.threads;
  options.max_model_len = args.max_model_len;
  options.max_num_seqs = args.max_num_seqs;
  options.enable_prefix_caching = args.enable_prefix_caching;
  HUNCH_ASSIGN_OR_RETURN(options.kv_cache_dtype, ParseKvCacheDtype(args.kv_cache_dtype));
  HUNCH_ASSIGN_OR_RETURN(auto llm, Llm::Load(options));
  return Wrap(std::move(llm), speculation, args.max_num_seqs);
}

// A prompt on its way to its output.
struct Asked {
  std::string prompt;  // as it was given; "" for a chat
  std::vector<TokenId> tokens;
  RequestId id = 0;
  bool over = false;
  hunch::RequestOutput output;  // once it is over
};

TokenLogprobs OuterLogprobs(const TokenChoice& choice, const Tokenizer& tokenizer) {
  const auto entry = [&](TokenId token, float logprob) {
    return Logprob{token, std::string(tokenizer.TokenBytes(token)), logprob};
  };
  TokenLogprobs outer = {entry(choice.token, choice.logprob), {}};
  for (const TokenLogprob& top : choice.top) outer.top.push_back(entry(top.token, top.logprob));
  return outer;
}

RequestOutput OuterOutput(Asked& asked, const Tokenizer& tokenizer) {
  hunch::RequestOutput& inner = asked.output;
  CompletionOutput completion;
  completion.text = inner.text;
  completion.token_ids = inner.token_ids;
  completion.guessed = inner.guessed;
  for (const TokenChoice& choice : inner.logprobs) {
    completion.logprobs.push_back(OuterLogprobs(choice, tokenizer));
  }
  completion.finish_reason = FinishReasonName(inner.finish_reason);
  RequestOutput output;
  output.prompt = std::move(asked.prompt);
  output.prompt_token_ids = std::move(asked.tokens);
  if (inner.prompt_logprobs) {
    for (const TokenChoice& choice : *inner.prompt_logprobs) {
      output.prompt_logprobs.push_back(OuterLogprobs(choice, tokenizer));
    }
  }
  output.num_cached_tokens = inner.cached_tokens;
  output.outputs.push_back(std::move(completion));
  output.metrics = {.prefill_seconds = inner.timings.prefill,
                    .decode_seconds = inner.timings.decode,
                    .num_drafts = inner.speculation.drafts,
                    .num_draft_tokens = inner.speculation.draft_tokens,
                    .num_accepted_tokens = inner.speculation.accepted_tokens};
  output.details = std::make_shared<const RequestDetails>(RequestDetails{std::move(inner)});
  return output;
}

TextRequest RequestOf(const LLM::Impl& impl, const Asked& asked, const SamplingParams& params) {
  TextRequest request;
  request.prompt = asked.tokens;
  request.params = params;
  request.speculation = impl.speculation;
  return request;
}

hunch::Status Start(LLM::Impl& impl, std::vector<Asked>& all, size_t index,
                    const SamplingParams& params, const OnText& on_text) {
  hunch::OnText to;
  if (on_text) {
    to = [&on_text, index](const hunch::TextDelta& delta) {
      return on_text({index, delta.text, delta.guessed});
    };
  }
  Asked& asked = all[index];
  HUNCH_ASSIGN_OR_RETURN(asked.id, impl.llm->Start(RequestOf(impl, asked, params), std::move(to),
                                                   [&asked](hunch::RequestOutput output) {
                                                     asked.output = std::move(output);
                                                     asked.over = true;
                                                   }));
  return Ok{};
}

// Every one of `all` to its end, in their order, max_num_seqs at a time.
hunch::Status RunAll(LLM::Impl& impl, std::vector<Asked>& all, const SamplingParams& params,
                     const OnText& on_text) {
  for (const Asked& asked : all) {
    HUNCH_RETURN_IF_ERROR(impl.llm->Check(RequestOf(impl, asked, params)));
  }
  hunch::Status status = Ok{};
  size_t started = 0;
  const auto running = [&] {
    return std::count_if(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(started),
                         [](const Asked& asked) { return !asked.over; });
  };
  while (true) {
    while (status.ok() && started < all.size() && running() < impl.max_num_seqs) {
      status = Start(impl, all, started, params, on_text);
      if (status.ok()) ++started;
    }
    if (running() == 0) return status;
    if (!status.ok()) {
      for (size_t i = 0; i < started; ++i) impl.llm->Cancel(all[i].id);
    }
    impl.llm->Step();
  }
}

Result<std::vector<RequestOutput>> Answer(LLM::Impl& impl, std::vector<Asked> all,
                                          const SamplingParams& params, const OnText& on_text) {
  const hunch::Status status = RunAll(impl, all, params, on_text);
  if (!status.ok()) return OuterError(status.error());
  std::vector<RequestOutput> outputs;
  for (Asked& asked : all) outputs.push_back(OuterOutput(asked, impl.llm->tokenizer()));
  return outputs;
}

hunch::Result<std::vector<TokenId>> EncodeChat(const hunch::Llm& llm,
                                               const Conversation& messages) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Message& message : messages) {
    list.push_back({{"role", message.role}, {"content", message.content}});
  }
  return llm.EncodeChat(list);
}

}  // namespace

hunch::Error InnerError(const Error& error) {
  return {static_cast<hunch::ErrorCode>(error.code), error.message};
}

LLM Wrap(std::unique_ptr<hunch::Llm> llm, const hunch::SpeculativeConfig& speculation,
         int max_num_seqs) {
  auto impl = std::make_unique<LLM::Impl>();
  impl->llm = std::move(llm);
  impl->speculation = speculation;
  impl->max_num_seqs = max_num_seqs;
  return LLM(std::move(impl));
}

Result<LLM> LLM::Load(const EngineArgs& args) {
  if (args.max_num_seqs < 1 || args.max_num_seqs > kMostSeqs) {
    return Refused(
        fmt::format("max_num_seqs is {}: it must be 1 to {}", args.max_num_seqs, kMostSeqs));
  }
  if (args.max_model_len < 0 || args.threads < 0) {
    return Refused("max_model_len and threads must not be negative: give 0 for what is there");
  }
  hunch::Result<LLM> llm = LoadInner(args);
  if (!llm.ok()) return OuterError(llm.error());
  return std::move(llm).value();
}

LLM::LLM(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LLM::~LLM() = default;
LLM::LLM(LLM&& other) noexcept = default;
LLM& LLM::operator=(LLM&& other) noexcept = default;

Result<std::vector<RequestOutput>> LLM::Generate(const std::vector<std::string>& prompts,
                                                 const SamplingParams& params,
                                                 const OnText& on_text) {
  std::vector<Asked> all;
  for (const std::string& prompt : prompts) {
    hunch::Result<std::vector<TokenId>> tokens = impl_->llm->EncodeRaw(prompt);
    if (!tokens.ok()) return OuterError(tokens.error());
    all.emplace_back().prompt = prompt;
    all.back().tokens = std::move(*tokens);
  }
  return Answer(*impl_, std::move(all), params, on_text);
}

Result<RequestOutput> LLM::Chat(const Conversation& messages, const SamplingParams& params,
                                const OnText& on_text) {
  Result<std::vector<RequestOutput>> outputs = ChatAll({messages}, params, on_text);
  if (!outputs.ok()) return outputs.error();
  return std::move(outputs->front());
}

Result<std::vector<RequestOutput>> LLM::ChatAll(const std::vector<Conversation>& conversations,
                                                const SamplingParams& params,
                                                const OnText& on_text) {
  std::vector<Asked> all;
  for (const Conversation& messages : conversations) {
    hunch::Result<std::vector<TokenId>> tokens = EncodeChat(*impl_->llm, messages);
    if (!tokens.ok()) return OuterError(tokens.error());
    all.emplace_back().tokens = std::move(*tokens);
  }
  return Answer(*impl_, std::move(all), params, on_text);
}

Result<std::vector<int32_t>> LLM::Encode(std::string_view text) const {
  hunch::Result<std::vector<TokenId>> tokens = impl_->llm->EncodeRaw(text);
  if (!tokens.ok()) return OuterError(tokens.error());
  return std::move(*tokens);
}

Result<std::string> LLM::Decode(const std::vector<int32_t>& token_ids) const {
  const Tokenizer& tokenizer = impl_->llm->tokenizer();
  for (const int32_t token : token_ids) {
    if (token >= 0 && token < tokenizer.vocab_size()) continue;
    return Refused(
        fmt::format("token {} is outside the vocabulary of {}", token, tokenizer.vocab_size()));
  }
  return DecodeTokens(tokenizer, token_ids);
}

int LLM::max_model_len() const { return impl_->llm->max_model_len(); }

}  // namespace hunch::api
