// Answers one prompt as it comes, or several at once.
//
//   ask MODEL.gguf "Why is the sky blue?"
//   ask MODEL.gguf "What is a quark?" "What is a quasar?"
#include <hunch/llm.h>

#include <iostream>
#include <string>
#include <vector>

namespace api = hunch::api;

namespace {

int Fail(const api::Error& error) {
  std::cerr << "ask: " << error.message << '\n';
  return 1;
}

// The text as soon as it is certain.
int AskOne(api::LLM& llm, const std::string& prompt, const api::SamplingParams& params) {
  const auto answer = llm.Chat({{"user", prompt}}, params, [](const api::TextDelta& delta) {
    std::cout << delta.text << std::flush;
    return std::cout.good();  // false ends the answer
  });
  if (!answer.ok()) return Fail(answer.error());
  const api::RequestMetrics& metrics = answer->metrics;
  std::cout << '\n';
  std::cerr << metrics.num_accepted_tokens << " of " << metrics.num_draft_tokens
            << " guesses came true\n";
  return 0;
}

// All in the same passes of the model.
int AskAll(api::LLM& llm, const std::vector<std::string>& prompts,
           const api::SamplingParams& params) {
  std::vector<api::Conversation> conversations;
  for (const std::string& prompt : prompts) conversations.push_back({{"user", prompt}});
  const auto answers = llm.ChatAll(conversations, params);
  if (!answers.ok()) return Fail(answers.error());
  for (size_t i = 0; i < prompts.size(); ++i) {
    std::cout << "> " << prompts[i] << '\n' << answers.value()[i].outputs[0].text << '\n';
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: ask MODEL.gguf PROMPT...\n";
    return 2;
  }
  api::EngineArgs args;
  args.model = argv[1];
  auto llm = api::LLM::Load(args);
  if (!llm.ok()) return Fail(llm.error());

  api::SamplingParams params;
  params.temperature = 0.7f;
  params.seed = 1;
  params.max_tokens = 100;
  const std::vector<std::string> prompts(argv + 2, argv + argc);
  return prompts.size() == 1 ? AskOne(*llm, prompts[0], params) : AskAll(*llm, prompts, params);
}
