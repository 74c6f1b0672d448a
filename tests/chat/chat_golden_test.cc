// Against jinja2's output: small cases of every construct, and the templates of published models.
// scripts/make_chat_golden.py makes the golden files and says where the models' templates are.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include "chat/chat_template.h"
#include "support/files.h"

namespace hunch {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kNow = 1'700'000'000;

class ChatGolden : public ::testing::Test {
 protected:
  // The golden files were made with a clock in UTC.
  void SetUp() override {
    setenv("TZ", "UTC0", 1);
    tzset();
  }
};

Result<std::vector<RenderedPiece>> Render(const std::string& source, const Json& chat) {
  HUNCH_ASSIGN_OR_RETURN(auto parsed, ChatTemplate::Parse(source));
  ChatInputs inputs;
  inputs.messages = chat.value("messages", Json::array());
  inputs.tools = chat.value("tools", Json());
  inputs.add_generation_prompt = chat.value("add_generation_prompt", true);
  inputs.bos_token = "<s>";
  inputs.eos_token = "</s>";
  inputs.extra = chat.value("extra", Json());
  inputs.now_unix_seconds = kNow;
  return parsed->Render(inputs);
}

// The errors whose wording is jinja2's own; others say the same in our words.
bool SharesItsWording(const std::string& error) {
  for (const std::string start : {"TemplateError: ", "UndefinedError: "}) {
    if (error.starts_with(start)) return true;
  }
  return false;
}

TEST_F(ChatGolden, EveryConstructPrintsWhatJinja2Prints) {
  auto rows = ReadGoldenLines<Json>("chat/cases.jsonl");
  ASSERT_GE(rows.size(), 150u);
  const Json chat = {{"extra", rows[0]["variables"]}};
  int errors = 0;
  for (size_t i = 1; i < rows.size(); ++i) {
    const Json& row = rows[i];
    const auto source = row["template"].get<std::string>();
    SCOPED_TRACE(source);
    const auto pieces = Render(source, chat);
    if (!row.contains("error")) {
      ASSERT_TRUE(pieces.ok()) << pieces.error().message;
      EXPECT_EQ(JoinPieces(*pieces), row["output"]);
      continue;
    }
    ++errors;
    ASSERT_FALSE(pieces.ok()) << row["error"];
    EXPECT_TRUE(pieces.error().message.starts_with("chat template line "));
    const auto error = row["error"].get<std::string>();
    if (!SharesItsWording(error)) continue;
    EXPECT_NE(pieces.error().message.find(error.substr(error.find(": ") + 2)), std::string::npos)
        << pieces.error().message << " against " << error;
  }
  EXPECT_GE(errors, 40);
}

std::string Fnv1a(const std::string& text) {
  uint64_t value = 0xcbf29ce484222325;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", value);
}

void ExpectRow(const Json& row, const Result<std::vector<RenderedPiece>>& pieces) {
  if (row.contains("failed")) {
    EXPECT_FALSE(pieces.ok()) << "jinja2 fails with " << row["failed"];
  } else if (row.contains("raised")) {
    ASSERT_FALSE(pieces.ok());
    const std::string& message = pieces.error().message;
    EXPECT_EQ(Fnv1a(message.substr(message.find(": ") + 2)), row["raised"]) << message;
  } else {
    ASSERT_TRUE(pieces.ok()) << pieces.error().message;
    const std::string text = JoinPieces(*pieces);
    EXPECT_EQ(text.size(), row["bytes"]);
    EXPECT_EQ(Fnv1a(text), row["fnv1a"]) << text;
  }
}

// The templates are other people's files and not kept here; every one of them must be in the
// folder.
TEST_F(ChatGolden, PublishedTemplatesPrintWhatJinja2Prints) {
  const char* folder = std::getenv("HUNCH_CHAT_TEMPLATES_DIR");
  if (folder == nullptr) {
    GTEST_SKIP() << "HUNCH_CHAT_TEMPLATES_DIR names no folder with llama.cpp's models/templates";
  }
  const auto chats = ReadGoldenLines<Json>("chat/chats.jsonl");
  const auto rows = ReadGoldenLines<Json>("chat/model_templates.jsonl");
  EXPECT_GE(rows.size(), 2000u);
  std::map<std::string, std::string> sources;
  for (const Json& row : rows) {
    const auto name = row["file"].get<std::string>();
    SCOPED_TRACE(fmt::format("{} chat {}", name, row["chat"].get<int>()));
    if (!sources.contains(name)) {
      sources[name] = ReadFile(std::string(folder) + "/" + name);
    }
    ExpectRow(row, Render(sources[name], chats.at(row["chat"].get<size_t>())));
  }
}

}  // namespace
}  // namespace hunch
