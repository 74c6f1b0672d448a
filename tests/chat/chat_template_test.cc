// Rendering of whole templates: the oracle's rows, where text comes from, errors and bounds.
#include "chat/chat_template.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace hunch {
namespace {

using Json = nlohmann::ordered_json;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::vector<Json> ReadLines(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::vector<Json> rows;
  for (std::string line; std::getline(file, line);) rows.push_back(Json::parse(line));
  return rows;
}

ChatInputs InputsOf(const Json& row) {
  ChatInputs inputs;
  inputs.messages = row.at("messages");
  inputs.tools = row.value("tools", Json());
  inputs.add_generation_prompt = row.value("add_generation_prompt", true);
  inputs.bos_token = row.value("bos_token", "");
  inputs.eos_token = row.value("eos_token", "");
  return inputs;
}

Result<std::vector<RenderedPiece>> Render(const std::string& source, const ChatInputs& inputs) {
  HUNCH_ASSIGN_OR_RETURN(auto parsed, ChatTemplate::Parse(source));
  return parsed->Render(inputs);
}

TEST(ChatTemplateOracle, RowsRenderAsJinja2Does) {
  const std::string folder = std::string(HUNCH_GOLDEN_DIR) + "/oracle/";
  const auto rows = ReadLines(folder + "templates.jsonl");
  int errors = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE(i);
    const Json& row = rows[i];
    const auto source =
        ReadFile(folder + "template_" + row["model"].get<std::string>() + ".jinja");
    const auto pieces = Render(source, InputsOf(row));
    if (!row.contains("error")) {
      ASSERT_TRUE(pieces.ok()) << pieces.error().message;
      EXPECT_EQ(JoinPieces(*pieces), row["prompt"]);
      continue;
    }
    ++errors;
    ASSERT_FALSE(pieces.ok()) << JoinPieces(*pieces);
    // The oracle writes "Type: message".
    const auto error = row["error"].get<std::string>();
    EXPECT_NE(pieces.error().message.find(error.substr(error.find(": ") + 2)), std::string::npos)
        << pieces.error().message;
  }
  EXPECT_EQ(rows.size(), 28u);
  EXPECT_EQ(errors, 1);
}

}  // namespace
}  // namespace hunch
