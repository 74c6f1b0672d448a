#include "base/isa.h"

#include <fmt/format.h>
#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
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
#elif defined(__aarch64__)
  if ((getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0) found.push_back(Isa::kNeon);
#endif
  return found;
}

std::string_view Needs(Isa isa) {
  switch (isa) {
    case Isa::kRef:
      return "nothing";
    case Isa::kAvx2:
      return "AVX2, FMA and F16C";
    case Isa::kAvx512:
      return "AVX-512 F, BW, VL, DQ and VNNI";
    case Isa::kNeon:
      return "AArch64 with the dot-product extension";
  }
  return "?";
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

Isa DefaultIsa() {
  const auto& supported = SupportedIsas();
  return supported.back() == Isa::kNeon ? Isa::kRef : supported.back();
}

Result<Isa> ChooseIsa() {
  const char* forced = std::getenv("HUNCH_ISA");
  if (forced == nullptr || *forced == '\0') return DefaultIsa();
  for (Isa isa : kAllIsas) {
    if (IsaName(isa) != forced) continue;
    const auto& supported = SupportedIsas();
    if (std::find(supported.begin(), supported.end(), isa) != supported.end()) return isa;
    return Error{
        ErrorCode::kUnsupported,
        fmt::format(
            "HUNCH_ISA={}: this machine cannot run it, for it needs {}; the best here is {}",
            forced, Needs(isa), IsaName(supported.back()))};
  }
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("HUNCH_ISA={}: unknown; use ref, avx2, avx512 or neon", forced)};
}

Isa ActiveIsa() {
  static const Isa active = ChooseIsa().value();
  return active;
}

bool IsIntelCpu() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return __builtin_cpu_is("intel");
#else
  return false;
#endif
}

std::string CpuName() {
  std::ifstream info("/proc/cpuinfo");
  std::string name, family, model, stepping, line;
  while (std::getline(info, line) && !line.empty()) {  // an empty line ends the first CPU's
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    if (line.starts_with("model name"))
      name = line.substr(colon + 2);
    else if (line.starts_with("cpu family"))
      family = line.substr(colon + 2);
    else if (line.starts_with("model\t"))
      model = line.substr(colon + 2);
    else if (line.starts_with("stepping"))
      stepping = line.substr(colon + 2);
  }
  if (name.empty()) return "unknown CPU";
  return fmt::format("{} (family {}, model {}, stepping {})", name, family, model, stepping);
}

}  // namespace hunch
