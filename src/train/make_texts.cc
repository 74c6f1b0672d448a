#include "train/make_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/fnv.h"
#include "base/philox.h"

namespace hunch {
namespace {

// Words that no template has, to find the place of a user's words by.
constexpr std::string_view kMarker = "qzxjkvwq";
// A question that is empty or never ends is written anew so often.
constexpr uint32_t kAttempts = 8;

enum class Part : uint32_t { kQuestion, kAnswer };

// Keys the noise of one part of one request.
uint64_t SeedOf(uint64_t seed, uint32_t request, Part part, uint32_t attempt) {
  const PhiloxCounter words =
      Philox4x32({request, static_cast<uint32_t>(part), attempt, 0},
                 {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  return uint64_t{words[1]} << 32 | words[0];
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

nlohmann::ordered_json UserSays(std::string_view text) {
  auto messages = nlohmann::ordered_json::array();
  messages.push_back({{"role", "user"}, {"content", std::string(text)}});
  return messages;
}

class TextMaker {
 public:
  TextMaker(Llm& llm, const TextOptions& options, TokenData& data, const OnTexts& on_progress)
      : llm_(llm), options_(options), data_(data), on_progress_(on_progress) {}

  Result<bool> Run() {
    if (options_.prompts.empty()) {
      HUNCH_ASSIGN_OR_RETURN(user_turn_, StartOfUserTurn(llm_));
    }
    bool wanted = true;
    while (wanted && failure_.ok()) {
      while (failure_.ok() && running_ < options_.at_once && BeginNext()) {
      }
      if (!failure_.ok() || !llm_.Step()) break;
      wanted = on_progress_ == nullptr || on_progress_(Progress());
    }
    Stop();
    HUNCH_RETURN_IF_ERROR(failure_);
    return Progress().done == options_.requests;
  }

 private:
  uint32_t requests() const { return static_cast<uint32_t>(options_.requests); }
  TextProgress Progress() const {
    const auto& texts = data_.texts();
    const auto done = std::distance(texts.begin(), texts.lower_bound(requests()));
    return {static_cast<int>(done), data_.answer_tokens()};
  }

  // False: none is left.
  bool BeginNext() {
    while (next_ < requests() && data_.Has(next_)) ++next_;
    if (next_ >= requests()) return false;
    const uint32_t request = next_++;
    if (options_.prompts.empty()) {
      Ask(request, 0);
    } else {
      Answer(request, options_.prompts[request % options_.prompts.size()]);
    }
    return true;
  }

  // The model writes the question.
  void Ask(uint32_t request, uint32_t attempt) {
    if (attempt == kAttempts) return Keep(request, {});
    SamplingParams params;
    params.temperature = 1;
    params.seed = SeedOf(options_.seed, request, Part::kQuestion, attempt);
    params.max_tokens = options_.most_question_tokens;
    Start(user_turn_, params, [this, request, attempt](const RequestOutput& output) {
      const std::string_view question = Trimmed(output.text);
      if (output.finish_reason == FinishReason::kStop && !question.empty()) {
        Answer(request, question);
      } else {
        Ask(request, attempt + 1);
      }
    });
  }

  void Answer(uint32_t request, std::string_view question) {
    auto prompt =
        llm_.has_chat_template() ? llm_.EncodeChat(UserSays(question)) : llm_.EncodeRaw(question);
    if (!prompt.ok()) return Fail(prompt.error());
    // What leaves no room for an answer teaches nothing.
    if (std::cmp_greater_equal(prompt->size(), llm_.max_model_len())) return Keep(request, {});
    SamplingParams params;
    params.temperature = request % 2 == 0 ? 0 : options_.temperature;
    params.seed = SeedOf(options_.seed, request, Part::kAnswer, 0);
    params.max_tokens = options_.most_answer_tokens;
    TrainText text = {params.temperature, static_cast<uint32_t>(prompt->size()), *prompt};
    Start(std::move(*prompt), params,
          [this, request, text = std::move(text)](const RequestOutput& output) mutable {
            text.tokens.insert(text.tokens.end(), output.token_ids.begin(), output.token_ids.end());
            Keep(request, std::move(text));
          });
  }

  void Start(std::vector<TokenId> prompt, const SamplingParams& params,
             std::function<void(const RequestOutput&)> on_done) {
    TextRequest request;
    request.prompt = std::move(prompt);
    request.params = params;
    const auto on_text = [this](const TextDelta&) { return !stopped_; };
    const auto started =
        llm_.Start(std::move(request), on_text,
                   [this, on_done = std::move(on_done)](const RequestOutput& output) {
                     --running_;
                     // What was stopped in the middle is no text of this request.
                     if (!stopped_ && output.finish_reason != FinishReason::kCancelled) {
                       on_done(output);
                     }
                   });
    if (!started.ok()) return Fail(started.error());
    ++running_;
  }

  void Keep(uint32_t request, TrainText text) {
    if (const Status added = data_.Add(request, std::move(text)); !added.ok()) Fail(added.error());
  }

  void Fail(const Error& error) {
    if (failure_.ok()) failure_ = error;
  }

  // The requests hold on to this.
  void Stop() {
    stopped_ = true;
    while (running_ > 0 && llm_.Step()) {
    }
  }

  Llm& llm_;
  const TextOptions& options_;
  TokenData& data_;
  const OnTexts& on_progress_;
  std::vector<TokenId> user_turn_;
  uint32_t next_ = 0;
  int running_ = 0;
  bool stopped_ = false;
  Status failure_ = Ok{};
};

}  // namespace

uint64_t RecipeOf(const TextOptions& options, uint64_t model) {
  std::string recipe = fmt::format("{:x} {} {:x} {} {}", model, options.seed,
                                   std::bit_cast<uint32_t>(options.temperature),
                                   options.most_question_tokens, options.most_answer_tokens);
  for (const std::string& prompt : options.prompts) {
    recipe += fmt::format(" {}:{}", prompt.size(), prompt);
  }
  return Fnv64(recipe);
}

Result<std::vector<TokenId>> StartOfUserTurn(const Llm& llm) {
  HUNCH_ASSIGN_OR_RETURN(const std::vector<TokenId> turn, llm.EncodeChat(UserSays(kMarker)));
  const std::string text = DecodeTokens(llm.tokenizer(), turn);
  const size_t place = text.find(kMarker);
  if (place == 0 || place == text.npos) {
    return Error{ErrorCode::kUnsupported,
                 "the model's chat template says nothing before a user's words, so the model "
                 "cannot write its own prompts; give some with --prompts"};
  }
  return llm.EncodeRaw(std::string_view(text).substr(0, place));
}

Result<bool> MakeTexts(Llm& llm, const TextOptions& options, TokenData& data,
                       const OnTexts& on_progress) {
  return TextMaker(llm, options, data, on_progress).Run();
}

}  // namespace hunch
