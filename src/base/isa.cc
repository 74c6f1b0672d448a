#include "base/isa.h"

#include <fmt/format.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace hunch {
namespace {

constexpr Isa kAllIsas[] = {Isa::kRef, Isa::kAvx2, Isa::kAvx512, Isa::kNeon};

#if defined(__x86_64__)
// By CPUID: clang 14 knows no __builtin_cpu_supports("f16c").
bool HasF16c() {
  unsigned eax, ebx, ecx, edx;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & (1u << 29)) != 0;
}
#endif

std::vector<Isa> DetectIsas() {
  std::vector<Isa> found = {Isa::kRef};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && HasF16c()) {
    found.push_back(Isa::kAvx2);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vnni")) {
      found.push_back(Isa::kAvx512);
    }
  }
#endif
  // kNeon joins when its kernels exist; until then aarch64 runs the reference.
  return found;
}

}  // namespace

std::string_view IsaName(Isa isa) {
  switch (isa) {
    case Isa::kRef:
      return "ref";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kNeon:
      return "neon";
  }
  return "?";
}

const std::vector<Isa>& SupportedIsas() {
  static const std::vector<Isa> supported = DetectIsas();
  return supported;
}

Result<Isa> ChooseIsa() {
  const char* forced = std::getenv("HUNCH_ISA");
  if (forced == nullptr || *forced == '\0') return SupportedIsas().back();
  for (Isa isa : kAllIsas) {
    if (IsaName(isa) != forced) continue;
    const auto& supported = SupportedIsas();
    if (std::find(supported.begin(), supported.end(), isa) != supported.end()) return isa;
    return Error{ErrorCode::kUnsupported,
                 fmt::format("HUNCH_ISA={}: this machine cannot run it; its best is {}", forced,
                             IsaName(supported.back()))};
  }
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("HUNCH_ISA={}: unknown; use ref, avx2, avx512 or neon", forced)};
}

Isa ActiveIsa() {
  static const Isa active = ChooseIsa().value();
  return active;
}

std::string CpuName() {
  std::ifstream info("/proc/cpuinfo");
  std::string name, family, model, line;
  while (std::getline(info, line) && (name.empty() || family.empty() || model.empty())) {
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    if (line.starts_with("model name"))
      name = line.substr(colon + 2);
    else if (line.starts_with("cpu family"))
      family = line.substr(colon + 2);
    else if (line.starts_with("model\t"))
      model = line.substr(colon + 2);
  }
  if (name.empty()) return "unknown CPU";
  return fmt::format("{} (family {}, model {})", name, family, model);
}

}  // namespace hunch
