#include "convert/published_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace hunch {
namespace {

// The keys of one object of config.json. A key that is null counts as absent.
class Keys {
 public:
  Keys(const Json& json, std::string_view name) : json_(json), name_(name) {}

  Error Bad(std::string_view what) const {
    return {ErrorCode::kBadFile, fmt::format("{}: config.json: {}", name_, what)};
  }
  Error Unsupported(std::string_view what) const {
    return {ErrorCode::kUnsupported,
            fmt::format("{}: config.json: {}, which the head format cannot express", name_, what)};
  }
  const Json* Find(const char* key) const {
    const auto found = json_.find(key);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }
  Result<int> Int(const char* key, int low, int high) const {
    const Json* const value = Find(key);
    if (value == nullptr) return Bad(fmt::format("{} is missing", key));
    if (!value->is_number_integer() ||
        (value->is_number_unsigned() && value->get<uint64_t>() > kBig) ||
        value->get<int64_t>() < low || value->get<int64_t>() > high) {
      return Bad(
          fmt::format("{} = {} is no whole number from {} to {}", key, Shown(*value), low, high));
    }
    return value->get<int>();
  }
  Result<bool> BoolOr(const char* key, bool fallback) const {
    const Json* const value = Find(key);
    if (value == nullptr) return fallback;
    if (!value->is_boolean()) return Bad(fmt::format("{} is neither true nor false", key));
    return value->get<bool>();
  }
  Result<int> IntOr(const char* key, int fallback, int low, int high) const {
    return Find(key) == nullptr ? Result<int>(fallback) : Int(key, low, high);
  }
  Result<double> NumberOr(const char* key, double fallback, double low, double high) const {
    const Json* const value = Find(key);
    if (value == nullptr) return fallback;
    if (!value->is_number() || !(value->get<double>() >= low && value->get<double>() <= high)) {
      return Bad(fmt::format("{} = {} is no number from {} to {}", key, Shown(*value), low, high));
    }
    return value->get<double>();
  }
  // Fails if it is there and not `wanted`.
  Status Only(const char* key, const Json& wanted, std::string_view meaning) const {
    const Json* const value = Find(key);
    if (value == nullptr || *value == wanted) return Ok{};
    return Unsupported(fmt::format("{} = {}: {}", key, Shown(*value), meaning));
  }
  static std::string Shown(const Json& value) { return DumpJson(value).substr(0, 60); }

 private:
  static constexpr uint64_t kBig = uint64_t{1} << 62;
  const Json& json_;
  const std::string_view name_;
};

constexpr char kSpeculatorsLayer[] = "transformer_layer_config";
constexpr char kAuxLayers[] = "eagle_aux_hidden_state_layer_ids";

Status CheckArithmetic(const Keys& top, const Keys& layer, int hidden) {
  HUNCH_RETURN_IF_ERROR(top.Only("speculators_model_type", "eagle3", "another kind of speculator"));
  HUNCH_RETURN_IF_ERROR(
      top.Only("target_hidden_size", hidden, "a target of another hidden size than this model's"));
  HUNCH_RETURN_IF_ERROR(top.Only("norm_before_fc", false, "a norm before fc"));
  HUNCH_RETURN_IF_ERROR(top.Only("fc_norm", false, "norms of the taps before fc"));
  HUNCH_RETURN_IF_ERROR(
      top.Only("norm_output", false, "the normed output is the feature of the next guess"));
  HUNCH_RETURN_IF_ERROR(top.Only("embed_requires_grad", false, "embeddings of its own"));
  HUNCH_RETURN_IF_ERROR(layer.Only("hidden_act", "silu", "another activation"));
  HUNCH_RETURN_IF_ERROR(layer.Only("partial_rotary_factor", 1, "rope over a part of the rows"));
  HUNCH_RETURN_IF_ERROR(layer.Only("use_sliding_window", false, "attention to a part of the text"));
  if (const Json* const types = layer.Find("layer_types")) {
    const auto is_full = [](const Json& type) { return type == "full_attention"; };
    if (!types->is_array() || !std::all_of(types->begin(), types->end(), is_full)) {
      return layer.Unsupported("layer_types: attention to a part of the text");
    }
  }
  return Ok{};
}

// transformers 5 has rope_parameters, older ones rope_theta and rope_scaling.
Result<double> ReadRope(const Keys& layer, std::string_view name) {
  HUNCH_ASSIGN_OR_RETURN(double theta, layer.NumberOr("rope_theta", 10000, 1, 1e15));
  for (const char* const key : {"rope_scaling", "rope_parameters"}) {
    const Json* const rope = layer.Find(key);
    if (rope == nullptr) continue;
    if (!rope->is_object()) return layer.Bad(fmt::format("{} is no object", key));
    const Keys own(*rope, name);
    for (const char* const type : {"rope_type", "type"}) {
      HUNCH_RETURN_IF_ERROR(own.Only(type, "default", "scaled rope"));
    }
    if (own.Find("rope_type") == nullptr && own.Find("type") == nullptr) {
      return layer.Unsupported(fmt::format("{} = {}: scaled rope", key, Keys::Shown(*rope)));
    }
    HUNCH_ASSIGN_OR_RETURN(theta, own.NumberOr("rope_theta", theta, 1, 1e15));
  }
  return theta;
}

// The list's numbers are of layers: those whose output is meant, or, with `shift` 1, those whose
// input is.
Result<std::vector<int>> TapsOf(const Json& list, const Keys& keys, int layers, int shift) {
  const Error wrong =
      keys.Bad(fmt::format("{} = {} is no list of different layers from {} to {}", kAuxLayers,
                           Keys::Shown(list), shift, layers - 1 + shift));
  if (!list.is_array() || list.empty() || list.size() > kMostHeadTaps) return wrong;
  std::vector<int> taps;
  for (const Json& layer : list) {
    if (!layer.is_number_unsigned() || layer.get<uint64_t>() > uint64_t{1} << 30) return wrong;
    taps.push_back(layer.get<int>() - shift);
    if (taps.back() < 0 || taps.back() >= layers) return wrong;
  }
  // The target leaves its streams in the order of its layers, whatever the list's.
  std::sort(taps.begin(), taps.end());
  if (std::adjacent_find(taps.begin(), taps.end()) != taps.end()) return wrong;
  return taps;
}

}  // namespace

Status ReadPublishedLayer(const Json& json, std::string_view name, HeadConfig& config) {
  const Keys top(json, name);
  if (json.empty()) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("{}: there is no config.json beside it, which says how many heads it "
                             "has; fetch that too",
                             name)};
  }
  const Json* const own = top.Find(kSpeculatorsLayer);
  if (own != nullptr && !own->is_object()) {
    return top.Bad(fmt::format("{} is no object", kSpeculatorsLayer));
  }
  const Keys layer(own == nullptr ? json : *own, name);
  HUNCH_RETURN_IF_ERROR(CheckArithmetic(top, layer, config.target.hidden));
  HUNCH_ASSIGN_OR_RETURN(const int hidden, layer.Int("hidden_size", 1, kMostHeadWidth));
  if (hidden != config.target.hidden) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("{}: a head for a model of hidden size {}, not {}; name the model that "
                    "it was trained for",
                    name, hidden, config.target.hidden)};
  }
  HUNCH_ASSIGN_OR_RETURN(config.heads, layer.Int("num_attention_heads", 1, kMostHeadHeads));
  HUNCH_ASSIGN_OR_RETURN(config.kv_heads,
                         layer.IntOr("num_key_value_heads", config.heads, 1, config.heads));
  HUNCH_ASSIGN_OR_RETURN(config.head_dim,
                         layer.IntOr("head_dim", hidden / config.heads, 1, kMostHeadWidth));
  HUNCH_ASSIGN_OR_RETURN(config.ffn, layer.Int("intermediate_size", 1, kMostHeadWidth));
  if (config.heads % config.kv_heads != 0 || config.head_dim % 16 != 0 || config.head_dim < 16 ||
      config.head_dim > 256) {
    return layer.Unsupported(fmt::format(
        "{} heads of {} over {} of keys and values: the first is no multiple of the third, or the "
        "second none of 16 up to 256",
        config.heads, config.head_dim, config.kv_heads));
  }
  HUNCH_ASSIGN_OR_RETURN(config.rope_theta, ReadRope(layer, name));
  HUNCH_ASSIGN_OR_RETURN(const double eps, layer.NumberOr("rms_norm_eps", 1e-6, 0, 0.5));
  config.norm_eps = static_cast<float>(eps);
  HUNCH_ASSIGN_OR_RETURN(config.normed_residual, top.BoolOr("norm_before_residual", false));
  if (config.normed_residual && config.kind != HeadKind::kEagle3) {
    return top.Unsupported("norm_before_residual = true of a head that is no EAGLE-3");
  }
  return Ok{};
}

Result<std::vector<int>> ReadPublishedTaps(const Json& json, std::string_view name, int layers) {
  const Keys top(json, name);
  // vLLM's and with it speculators' numbers are of the layers that read the stream.
  if (const Json* const list = top.Find(kAuxLayers)) return TapsOf(*list, top, layers, 1);
  // SpecForge's and NVIDIA's are of those that leave it.
  if (const Json* const eagle = top.Find("eagle_config"); eagle != nullptr && eagle->is_object()) {
    const Keys own(*eagle, name);
    if (const Json* const list = own.Find(kAuxLayers)) return TapsOf(*list, own, layers, 0);
  }
  // What EAGLE-3 was published with: the inputs of layers 2, n / 2 and n - 3.
  std::vector<int> taps = {1, layers / 2 - 1, layers - 4};
  if (!(taps[0] < taps[1] && taps[1] < taps[2])) {
    return top.Bad(
        fmt::format("it has no {}, and the usual layers are none of a model of {}; give "
                    "--taps",
                    kAuxLayers, layers));
  }
  return taps;
}

}  // namespace hunch
