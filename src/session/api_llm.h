// What is behind include/hunch/llm.h, for Hunch's own programs and tests: an LLM over any Llm.
#ifndef HUNCH_SESSION_API_LLM_H_
#define HUNCH_SESSION_API_LLM_H_

#include <memory>

#include "hunch/llm.h"
#include "session/llm.h"

namespace hunch::api {

struct LLM::Impl {
  std::unique_ptr<hunch::Llm> llm;
  hunch::SpeculativeConfig speculation;  // of every request
  int max_num_seqs = 1;                  // that run at once
};

struct RequestDetails {
  hunch::RequestOutput output;
};

// Requests of `llm` that guess as `speculation` says, `max_num_seqs` at a time.
LLM Wrap(std::unique_ptr<hunch::Llm> llm, const hunch::SpeculativeConfig& speculation,
         int max_num_seqs);

hunch::Error InnerError(const Error& error);

}  // namespace hunch::api

#endif  // HUNCH_SESSION_API_LLM_H_
