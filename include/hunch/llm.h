// LLM: a model that answers prompts in this process, for programs that link Hunch. Names are vLLM's
// where vLLM has them. These headers use standard types only, and are all that a program needs.
//
//   hunch::api::Result<hunch::api::LLM> llm = hunch::api::LLM::Load({.model = "model.gguf"});
//   if (!llm.ok()) ...llm.error().message...
//   auto answer = llm->Chat({{"user", "Why is the sky blue?"}});
//   if (answer.ok()) ...answer->outputs[0].text...
//
// A text depends on the model file, the type of the cache, the prompt and the sampling parameters
// (the seed among them), and on nothing else: not on how guesses are made, what else runs in the
// same call, or the number of threads.
#ifndef HUNCH_LLM_H_
#define HUNCH_LLM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hunch/request_output.h"
#include "hunch/result.h"
#include "hunch/sampling_params.h"

namespace hunch::api {

using hunch::AcceptanceRule;
using hunch::SamplingParams;

// How guesses are made. It changes speed, never text, under the acceptance rule kCoupled.
struct SpeculativeConfig {
  // "auto": what pays, as it is measured; "none": plain decoding; or drafters joined by '+' (ngram,
  // suffix, token_recycling, lookahead, draft_model, eagle3, eagle2, eagle, medusa).
  std::string method = "auto";
  std::string model = {};  // GGUF file of a draft model or a head; auto uses it too
  // GGUF file of a head, beside a draft model too; "": the one of EngineArgs::heads that fits the
  // model, if there is one; "none": none.
  std::string head = {};
  int num_speculative_tokens = 0;  // guesses a step, 1 to 64; 0: as many as pay
};

struct EngineArgs {
  std::string model;  // GGUF file
  // Tokens of prompt and output; 0: the model's, at most 32768, less where memory is short.
  int max_model_len = 0;
  int max_num_seqs = 8;  // answers made at once, 1 to 64; each takes cache for max_model_len
  int threads = 0;       // 0: the CPUs that affinity and cgroup give
  std::string kv_cache_dtype = "auto";  // "auto" (f16), "f16", "q8_0" or "f32"
  bool enable_prefix_caching = true;    // prompts that begin alike are read once
  SpeculativeConfig speculative_config = {};
  // Folder of the heads that are installed with Hunch (hunch_HEADS in CMake); "": none are used.
  std::string heads = {};
};

// One turn of a chat. Roles are the template's: "system", "user", "assistant", ...
struct Message {
  std::string role;
  std::string content;  // UTF-8
};
using Conversation = std::vector<Message>;

// Text that has become certain.
struct TextDelta {
  size_t index = 0;       // of its prompt among those of the call
  std::string_view text;  // UTF-8, whole characters; valid during the call. May be empty
  bool guessed = false;   // the token that completed it was an accepted guess
};
// Called on the calling thread for each token, and for each step that brings none (while a long
// prompt is read). Returning false ends that prompt's answer with what there is.
using OnText = std::function<bool(const TextDelta& delta)>;

// Not thread safe: one call at a time. Made by Load only; what was moved from may only be destroyed
// or assigned to.
class LLM {
 public:
  struct Impl;

  // Reads the model, which takes its size in memory, and checks that it fits. Errors: kNotFound,
  // kBadFile or kUnsupported for a file, kResourceExhausted for memory, kInvalidArgument for
  // arguments.
  static Result<LLM> Load(const EngineArgs& args);

  explicit LLM(std::unique_ptr<Impl> impl);
  ~LLM();
  LLM(LLM&& other) noexcept;
  LLM& operator=(LLM&& other) noexcept;

  // Completes raw text; special tokens in it are taken as such. One output for each prompt, in
  // their order, made max_num_seqs at a time. When any request is wrong (a prompt that is empty or
  // longer than max_model_len, a parameter out of range: kInvalidArgument), none is begun.
  Result<std::vector<RequestOutput>> Generate(const std::vector<std::string>& prompts,
                                              const SamplingParams& params = {},
                                              const OnText& on_text = {});

  // Answers a chat, by the model's template, which takes no text of a message for a special token.
  // kUnsupported: the model has no template that Hunch can read.
  Result<RequestOutput> Chat(const Conversation& messages, const SamplingParams& params = {},
                             const OnText& on_text = {});
  // Several chats, as Generate does prompts.
  Result<std::vector<RequestOutput>> ChatAll(const std::vector<Conversation>& conversations,
                                             const SamplingParams& params = {},
                                             const OnText& on_text = {});

  // [tokens] of a raw prompt, with the token that begins a text if the model wants one.
  Result<std::vector<int32_t>> Encode(std::string_view text) const;
  // Their text; bytes that are no UTF-8 become U+FFFD. kInvalidArgument: one is outside the
  // vocabulary.
  Result<std::string> Decode(const std::vector<int32_t>& token_ids) const;
  int max_model_len() const;  // tokens

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace hunch::api

#endif  // HUNCH_LLM_H_
