// RequestSet: the requests that run on one engine, each with its drafters and its text side.
// Private to session/. Not thread safe: it belongs to the engine's thread.
#ifndef HUNCH_SESSION_REQUEST_SET_H_
#define HUNCH_SESSION_REQUEST_SET_H_

#include <memory>
#include <optional>
#include <vector>

#include "engine/engine.h"
#include "grammar/grammars.h"
#include "session/llm.h"
#include "session/make_drafters.h"
#include "tokenizer/tokenizer.h"

namespace hunch {

class RequestSet {
 public:
  // All must outlive the set.
  RequestSet(Engine& engine, const Tokenizer& tokenizer, Grammars& grammars);
  ~RequestSet();

  // Errors: those of Grammars::Compile, of MakeDrafters and of Engine::Submit.
  Result<RequestId> Add(TextRequest request, const DraftParts& parts, OnText on_text,
                        OnDone on_done);
  // As Llm's. A request's OnDone may add others.
  bool Step();
  // From their next step on the requests that run now guess as `config` says, with drafters made of
  // `parts`, but for audits and those that asked for their own way. At any time, in a step too.
  void Swap(SpeculativeConfig config, DraftParts parts);
  void Cancel(RequestId id) { engine_.Cancel(id); }
  // Who is given what the requests from now on commit, but for audits and those with a cache salt:
  // who gave one wants its text to itself. It must outlive them.
  void SetSink(HiddenSink* sink) { sink_ = sink; }
  size_t size() const { return running_.size(); }

 private:
  struct Running;
  struct PendingSwap {
    SpeculativeConfig config;
    DraftParts parts;
  };

  void SwapPending();
  Status SwapOne(Running& running);

  Engine& engine_;
  const Tokenizer& tokenizer_;
  Grammars& grammars_;
  std::vector<std::unique_ptr<Running>> running_;  // in order of arrival
  std::optional<PendingSwap> swap_;
  HiddenSink* sink_ = nullptr;
};

}  // namespace hunch

#endif  // HUNCH_SESSION_REQUEST_SET_H_
