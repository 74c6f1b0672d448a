// Tests of what published heads are taken for: the layouts give the same head, and what the head
// format cannot express, or what is of another model, is refused with the reason.
#include "convert/published_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "convert/convert_head.h"
#include "convert/safetensors.h"
#include "convert/torch_zip.h"
#include "support/published_heads.h"

namespace hunch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kAuxLayers[] = "eagle_aux_hidden_state_layer_ids";

HeadConfig Config(HeadKind kind = HeadKind::kEagle3) {
  ModelConfig target;
  target.architecture = "llama";
  target.hidden = 32;
  target.layers = 16;
  HeadConfig config = SmallHead(target, 50, kind);
  if (kind == HeadKind::kEagle3) config.taps = {1, 7, 12};  // the inputs of 2, 8 and 13
  return config;
}

std::string Ids(const std::vector<int64_t>& numbers) {
  std::string data;
  for (const int64_t number : numbers) data += Raw(number);
  return data;
}

// A published head with something else done to it.
struct Published {
  explicit Published(HeadKind kind = HeadKind::kEagle3, const std::string& layer = "midlayer.")
      : ours(Config(kind)), tensors(PublishedTensors(ours, 3, layer)), json(PublishedJson(ours)) {}
  // Rows i of the output matrix are of these tokens.
  explicit Published(const std::vector<int64_t>& tokens) : Published() {
    ours.tokens.assign(tokens.begin(), tokens.end());
    tensors = PublishedTensors(ours, 3);
    std::vector<int64_t> offsets = tokens;
    for (size_t i = 0; i < offsets.size(); ++i) offsets[i] -= static_cast<int64_t>(i);
    tensors["d2t"] = {"I64", {static_cast<int64_t>(tokens.size())}, Ids(offsets)};
    tensors["t2d"] = {"BOOL", {50}, std::string(50, '\1')};
  }
  // What of it becomes a head file.
  Result<std::vector<std::byte>> Convert(bool torch = false) const {
    const std::vector<std::byte> file =
        ToBytes(torch ? TorchFileOf(tensors) : SafetensorsOf(tensors));
    HUNCH_ASSIGN_OR_RETURN(const NamedTensors named,
                           torch ? ParseTorchZip(file, "h") : ParseSafetensors(file, "h"));
    // From its text, as numbers from a file have other types than those of C++.
    const Json config = ParseJson(DumpJson(json)).value();
    HUNCH_ASSIGN_OR_RETURN(const PublishedHead head,
                           ReadPublishedHead(named, config, "h", ours.target, taps));
    HUNCH_ASSIGN_OR_RETURN(const GgufWriter writer, ConvertHead(head, "h", TensorType::kF32));
    return writer.Serialize();
  }
  HeadConfig Read() const {
    const auto bytes = Convert();
    EXPECT_TRUE(bytes.ok()) << bytes.error().message;
    return ReadHeadConfig(*GgufFile::Parse(*bytes, "o").value()).value();
  }
  std::string Message() const {
    const auto bytes = Convert();
    return bytes.ok() ? "it was converted" : bytes.error().message;
  }

  HeadConfig ours;
  RawTensors tensors;
  Json json;
  std::vector<int> taps;
};

std::string MessageWith(const char* key, const Json& value, HeadKind kind = HeadKind::kEagle3) {
  Published head(kind);
  head.json[key] = value;
  return head.Message();
}

TEST(PublishedHead, BecomesTheHeadThatItIs) {
  for (const HeadKind kind : {HeadKind::kEagle3, HeadKind::kEagle, HeadKind::kMedusa}) {
    const Published head(kind, kind == HeadKind::kEagle ? "layers.0." : "midlayer.");
    // The very numbers, in the file's order.
    EXPECT_EQ(head.Convert().value(), HeadBytes(head.ours, RandomValues(3)));
    EXPECT_EQ(head.Convert(/*torch=*/true).value(), head.Convert().value());
  }
}

TEST(PublishedHead, OtherLayoutsOfTheSameHeadGiveTheSameFile) {
  const std::vector<std::byte> file = Published().Convert().value();
  Published speculators(HeadKind::kEagle3, "layers.0.");
  speculators.json = {{"speculators_model_type", "eagle3"},
                      {"norm_before_residual", false},
                      {kAuxLayers, {2, 8, 13}},
                      {"transformer_layer_config", PublishedJson(speculators.ours)}};
  EXPECT_EQ(speculators.Convert().value(), file);
  // transformers 5.
  Json& layer = speculators.json["transformer_layer_config"];
  layer.erase("rope_theta");
  layer["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 10000.0}};
  EXPECT_EQ(speculators.Convert().value(), file);
  Published specforge;
  specforge.json["eagle_config"] = Json::object({{kAuxLayers, {12, 7, 1}}});
  EXPECT_EQ(specforge.Convert().value(), file);
  // Defaults of those who leave keys out.
  Published bare;
  for (const char* key : {"rope_theta", "rope_scaling", "hidden_act"}) bare.json.erase(key);
  bare.tensors["midlayer.self_attn.rotary_emb.inv_freq"] = FloatTensor({8}, std::vector<float>(8));
  EXPECT_EQ(bare.Convert().value(), file);

  const Published medusa(HeadKind::kMedusa);
  Published vllm(HeadKind::kMedusa);
  vllm.tensors.clear();
  for (const auto& [name, tensor] : medusa.tensors) {
    vllm.tensors["medusa_head." + name] = tensor;
  }
  vllm.json = Json::object();
  EXPECT_EQ(vllm.Convert().value(), medusa.Convert().value());
  vllm.tensors.clear();
  for (int head = 0; head < 3; ++head) {
    const std::string theirs = fmt::format("{}.", head);
    vllm.tensors[fmt::format("blocks.{}.layers.0.weight", head)] =
        medusa.tensors.at(theirs + "0.linear.weight");
    vllm.tensors[fmt::format("blocks.{}.layers.0.bias", head)] =
        medusa.tensors.at(theirs + "0.linear.bias");
    vllm.tensors[fmt::format("lm_heads.{}.weight", head)] = medusa.tensors.at(theirs + "1.weight");
  }
  EXPECT_EQ(vllm.Convert().value(), medusa.Convert().value());
  vllm.tensors.erase("blocks.1.layers.0.bias");
  EXPECT_TRUE(vllm.Convert().ok()) << "vLLM's have none unless they say so";
}

TEST(PublishedHead, SaysWhatItsLayerAddsTo) {
  Published head;
  EXPECT_FALSE(head.Read().normed_residual);
  head.json["norm_before_residual"] = true;
  EXPECT_TRUE(head.Read().normed_residual);
  head.json["norm_before_residual"] = 1;
  EXPECT_THAT(head.Message(), HasSubstr("norm_before_residual is neither true nor false"));
  EXPECT_THAT(MessageWith("norm_before_residual", true, HeadKind::kEagle),
              HasSubstr("of a head that is no EAGLE-3"));
}

TEST(PublishedHead, RowsComeInTheOrderOfTheirTokens) {
  const Published sorted({3, 7, 40});
  EXPECT_EQ(sorted.Convert().value(), HeadBytes(sorted.ours, RandomValues(3)));
  Published mixed({40, 3, 7});
  const std::string rows = mixed.tensors["lm_head.weight"].data;
  const size_t row = 32 * sizeof(float);
  const auto bytes = mixed.Convert().value();
  const auto file = GgufFile::Parse(bytes, "o").value();
  EXPECT_THAT(ReadHeadConfig(*file)->tokens, ElementsAre(3, 7, 40));
  const auto output = file->FindTensor("output.weight")->data;
  const std::string_view got(reinterpret_cast<const char*>(output.data()), output.size());
  EXPECT_EQ(got, rows.substr(row) + rows.substr(0, row));
  // Rows for no token, which fill a matrix up, are left out.
  Published padded;
  auto& matrix = padded.tensors["lm_head.weight"];
  matrix.shape[0] += 14;
  matrix.data += std::string(14 * row, '\0');
  EXPECT_EQ(padded.Convert().value(), Published().Convert().value());
}

TEST(PublishedHead, TokensOfAnotherModelAreRefused) {
  EXPECT_THAT(Published({3, 50}).Message(), HasSubstr("row 1 is of no token of the model's 50"));
  EXPECT_THAT(Published({-1, 5}).Message(), HasSubstr("row 0 is of no token"));
  EXPECT_THAT(Published({3, 3}).Message(), HasSubstr("rows 0 and 1 are both of token 3"));
  Published damaged({3, 4});
  damaged.tensors["d2t"].data = Ids({3, std::numeric_limits<int64_t>::max()});
  EXPECT_THAT(damaged.Message(), HasSubstr("row 1 is of no token"));
  damaged.tensors["d2t"] = {"I64", {1}, Ids({3})};
  EXPECT_THAT(damaged.Message(), HasSubstr("d2t is not one whole number for each of the 2 rows"));
  damaged.tensors["d2t"] = FloatTensor({2}, {1, 2});
  EXPECT_THAT(damaged.Message(), HasSubstr("d2t is not one whole number"));
  damaged.tensors.erase("d2t");
  EXPECT_THAT(damaged.Message(), HasSubstr("lm_head.weight has 2 rows and the model 50 tokens"));
  // More rows than padding has.
  Published wide;
  wide.tensors["lm_head.weight"] = FloatTensor({1075, 32}, std::vector<float>(1075 * 32));
  EXPECT_THAT(wide.Message(), HasSubstr("lm_head.weight has 1075 rows and the model 50 tokens"));
}

TEST(PublishedHead, TapsAreReadAsWhoWroteThemCountsThem) {
  Published head;
  EXPECT_THAT(head.Read().taps, ElementsAre(1, 7, 12));
  head.json[kAuxLayers] = {3, 16, 5};
  EXPECT_THAT(head.Read().taps, ElementsAre(2, 4, 15));
  head.taps = {0, 3, 15};
  EXPECT_THAT(head.Read().taps, ElementsAre(0, 3, 15));
  head.taps = {0, 3, 16};
  EXPECT_THAT(head.Message(), HasSubstr("--taps 0,3,16 are not"));
  for (const Json& wrong :
       {Json{0, 3, 5}, Json{1, 1, 5}, Json{1, 2, 17}, Json{1, 2, -3}, Json{1, 2, 2.5}, Json("2"),
        Json::array(), Json{1, 2, 3, 4, 5, 6, 7, 8, 9}, Json{1, 2, uint64_t{1} << 63}}) {
    EXPECT_THAT(MessageWith(kAuxLayers, wrong),
                HasSubstr("no list of different layers from 1 to 16"))
        << wrong;
  }
  EXPECT_THAT(MessageWith(kAuxLayers, {2, 8}), HasSubstr("fc.weight is 32 x 96, expected 32 x 64"));
  Published shallow;
  shallow.ours.target.layers = 6;
  EXPECT_THAT(shallow.Message(),
              HasSubstr("the usual layers are none of a model of 6; give --taps"));
  Published eagle(HeadKind::kEagle, "layers.0.");
  eagle.taps = {1};
  EXPECT_THAT(eagle.Message(), HasSubstr("kind eagle reads the last hidden state"));
}

TEST(PublishedHead, WhatTheFormatCannotExpressIsRefused) {
  const auto with = [](const std::string& name, HeadKind kind = HeadKind::kEagle3) {
    Published head(kind);
    head.tensors[name] = FloatTensor({32}, std::vector<float>(32));
    return head.Message();
  };
  EXPECT_EQ(with("midlayer.self_attn.q_proj.bias"),
            "h: tensor midlayer.self_attn.q_proj.bias has no place in a head of kind eagle3 as "
            "Hunch knows it, whose attention has no biases");
  for (const char* name : {"midlayer.self_attn.q_norm.weight", "layers.1.mlp.up_proj.weight",
                           "fc_norm.0.weight", "input_norm.weight", "verifier_norm.weight"}) {
    EXPECT_THAT(with(name), HasSubstr(std::string("tensor ") + name + " has no place")) << name;
  }
  EXPECT_THAT(with("0.1.linear.weight", HeadKind::kMedusa), HasSubstr("no place"));
  EXPECT_THAT(with("d2t", HeadKind::kMedusa), HasSubstr("no place"));
  for (const char* key :
       {"norm_before_fc", "fc_norm", "norm_output", "embed_requires_grad", "use_sliding_window"}) {
    EXPECT_THAT(MessageWith(key, true), HasSubstr(fmt::format("config.json: {} = true: ", key)));
    EXPECT_EQ(MessageWith(key, false), "it was converted");
  }
  EXPECT_THAT(MessageWith("rope_scaling", {{"rope_type", "llama3"}, {"factor", 8.0}}),
              HasSubstr("rope_type = \"llama3\": scaled rope, which the head format cannot"));
  EXPECT_THAT(MessageWith("rope_scaling", {{"type", "linear"}, {"factor", 2.0}}),
              HasSubstr("scaled rope"));
  EXPECT_THAT(MessageWith("rope_scaling", Json::object({{"factor", 2.0}})),
              HasSubstr("scaled rope"));
  EXPECT_THAT(MessageWith("rope_scaling", 4), HasSubstr("rope_scaling is no object"));
  EXPECT_THAT(MessageWith("partial_rotary_factor", 0.5), HasSubstr("a part of the rows"));
  EXPECT_EQ(MessageWith("partial_rotary_factor", 1.0), "it was converted");
  EXPECT_THAT(MessageWith("hidden_act", "gelu"), HasSubstr("another activation"));
  EXPECT_THAT(MessageWith("layer_types", {"full_attention", "sliding_attention"}),
              HasSubstr("a part of the text"));
  EXPECT_EQ(MessageWith("layer_types", Json::array({"full_attention"})), "it was converted");
  EXPECT_THAT(MessageWith("speculators_model_type", "peagle"), HasSubstr("another kind"));
  EXPECT_THAT(MessageWith("target_hidden_size", 64), HasSubstr("another hidden size"));
}

TEST(PublishedHead, WrongNumbersAndShapesAreNamed) {
  EXPECT_THAT(MessageWith("hidden_size", 48), HasSubstr("hidden size 48, not 32"));
  for (const Json& wrong :
       {Json(0), Json(-1), Json(4097), Json(2.0), Json("2"), Json(~uint64_t{0})}) {
    EXPECT_THAT(MessageWith("num_attention_heads", wrong),
                HasSubstr("is no whole number from 1 to 4096"))
        << wrong;
  }
  EXPECT_THAT(MessageWith("num_attention_heads", nullptr), HasSubstr("is missing"));
  EXPECT_THAT(MessageWith("num_key_value_heads", 5), HasSubstr("is no whole number from 1 to 4"));
  EXPECT_THAT(MessageWith("num_key_value_heads", 3), HasSubstr("no multiple"));
  EXPECT_THAT(MessageWith("head_dim", 24), HasSubstr("none of 16"));
  EXPECT_THAT(MessageWith("head_dim", 272), HasSubstr("none of 16"));
  EXPECT_THAT(MessageWith("head_dim", nullptr), HasSubstr("none of 16")) << "32 / 4";
  EXPECT_THAT(MessageWith("intermediate_size", 95),
              HasSubstr("mlp.gate_proj.weight is 96 x 32, expected 95 x 32"));
  EXPECT_THAT(MessageWith("rope_theta", 0), HasSubstr("rope_theta = 0 is no number from 1"));
  EXPECT_THAT(MessageWith("rms_norm_eps", 2), HasSubstr("rms_norm_eps = 2"));
  EXPECT_THAT(MessageWith("transformer_layer_config", 2), HasSubstr("is no object"));
  Published head;
  head.json = Json::object();
  EXPECT_THAT(head.Message(), HasSubstr("there is no config.json beside it"));
  head = Published();
  head.tensors.erase("norm.weight");
  EXPECT_EQ(head.Message(), "h: tensor norm.weight is missing");
  head = Published();
  head.tensors["norm.weight"].shape = {1, 32};
  EXPECT_EQ(head.Message(), "h: tensor norm.weight is 1 x 32, expected 32");
  head = Published();
  head.tensors["fc.weight"].data.replace(8, 4, Raw(std::numeric_limits<float>::infinity()));
  EXPECT_THAT(head.Message(), HasSubstr("what becomes fc.weight has a number that is not finite"));
  head.tensors.clear();
  EXPECT_THAT(head.Message(), HasSubstr("it has 0 tensors"));
  head.tensors["model.embed_tokens.weight"] = FloatTensor({1}, {1});
  EXPECT_THAT(head.Message(), HasSubstr("1 tensors (model.embed_tokens.weight), and none that"));
  head = Published(HeadKind::kMedusa);
  for (int i = 3; i < 17; ++i) {
    head.tensors[fmt::format("{}.0.linear.weight", i)] = head.tensors["0.0.linear.weight"];
  }
  EXPECT_THAT(head.Message(), HasSubstr("more than 16 Medusa heads"));
}

TEST(PublishedHead, EmbeddingsTellWhoseHeadItIs) {
  Published published;
  std::vector<float> values(50 * 32);
  std::mt19937 random(1);
  std::normal_distribution<float> noise;
  for (float& value : values) value = noise(random);
  published.tensors["embed_tokens.weight"] = FloatTensor({50, 32}, values);
  const std::vector<std::byte> file = ToBytes(SafetensorsOf(published.tensors));
  const NamedTensors named = ParseSafetensors(file, "h").value();
  const PublishedHead head =
      ReadPublishedHead(named, published.json, "h", published.ours.target, {}).value();
  const auto message = [&](float more) {
    const Status status = CheckEmbedding(head, "h", [&](TokenId token, float* out) {
      for (int i = 0; i < 32; ++i) out[i] = 3 * values[token * 32 + i] + more * noise(random);
    });
    return status.ok() ? "they fit" : status.error().message;
  };
  EXPECT_EQ(message(0), "they fit");
  EXPECT_EQ(message(1), "they fit") << "rounded to a few bits";
  EXPECT_THAT(message(30), HasSubstr("its embeddings are not this model's"));
  published.tensors["embed_tokens.weight"] = FloatTensor({25, 64}, values);
  EXPECT_THAT(published.Message(), HasSubstr("embed_tokens.weight is 25 x 64"));
}

}  // namespace
}  // namespace hunch
