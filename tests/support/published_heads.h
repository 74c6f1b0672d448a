// Heads of tests as others would publish them: names, shapes and config.json.
#ifndef HUNCH_TESTS_SUPPORT_PUBLISHED_HEADS_H_
#define HUNCH_TESTS_SUPPORT_PUBLISHED_HEADS_H_

#include <fmt/format.h>

#include <map>
#include <string>

#include "session/json_text.h"
#include "support/heads.h"
#include "support/published.h"

namespace hunch {

// Tensors of a head of this configuration, with random numbers; `layer`: "midlayer." or
// "layers.0.". Without d2t.
inline RawTensors PublishedTensors(const HeadConfig& config, uint32_t seed,
                                   const std::string& layer = "midlayer.") {
  static const std::map<std::string, std::string> kOfLayer = {
      {"attn_norm.weight", "input_layernorm.weight"},
      {"hidden_norm.weight", "hidden_norm.weight"},
      {"attn_q.weight", "self_attn.q_proj.weight"},
      {"attn_k.weight", "self_attn.k_proj.weight"},
      {"attn_v.weight", "self_attn.v_proj.weight"},
      {"attn_output.weight", "self_attn.o_proj.weight"},
      {"ffn_norm.weight", "post_attention_layernorm.weight"},
      {"ffn_gate.weight", "mlp.gate_proj.weight"},
      {"ffn_up.weight", "mlp.up_proj.weight"},
      {"ffn_down.weight", "mlp.down_proj.weight"}};
  static const std::map<std::string, std::string> kOther = {{"fc.weight", "fc.weight"},
                                                            {"fc.bias", "fc.bias"},
                                                            {"output_norm.weight", "norm.weight"},
                                                            {"output.weight", "lm_head.weight"}};
  RawTensors tensors;
  const TensorValues values = RandomValues(seed);
  for (const HeadTensor& part : HeadTensors(config)) {
    std::string name;
    if (config.kind == HeadKind::kMedusa) {
      const char head = part.name[7];  // medusa.k.
      name = fmt::format("{}.{}", head,
                         part.name.ends_with("output.weight") ? "1.weight"
                         : part.name.ends_with("bias")        ? "0.linear.bias"
                                                              : "0.linear.weight");
    } else {
      const auto other = kOther.find(part.name);
      name = other != kOther.end() ? other->second : layer + kOfLayer.at(part.name);
    }
    std::vector<int64_t> shape = {part.columns};
    if (part.rows > 0) shape.insert(shape.begin(), part.rows);
    tensors[name] = FloatTensor(shape, values(part));
  }
  return tensors;
}

// As SafeAILab and SpecForge write it.
inline Json PublishedJson(const HeadConfig& config) {
  return {{"architectures", {"LlamaForCausalLMEagle3"}},
          {"hidden_size", config.target.hidden},
          {"num_attention_heads", config.heads},
          {"num_key_value_heads", config.kv_heads},
          {"head_dim", config.head_dim},
          {"intermediate_size", config.ffn},
          {"hidden_act", "silu"},
          {"rms_norm_eps", 1e-5},
          {"rope_theta", 10000},
          {"rope_scaling", nullptr},
          {"attention_bias", false},
          {"num_hidden_layers", 1}};
}

}  // namespace hunch

#endif  // HUNCH_TESTS_SUPPORT_PUBLISHED_HEADS_H_
