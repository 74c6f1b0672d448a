// What `hunch tune` found best on one machine with one model, as a file that --profile reads again.
//
// A profile comes from outside: every key is checked, and one that another model or CPU measured is
// told from one that fits. The worst that a profile can do is to make an answer slow.
#ifndef HUNCH_APPS_PROFILE_H_
#define HUNCH_APPS_PROFILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apps/context.h"
#include "apps/flags.h"
#include "session/json_text.h"

namespace hunch {

// Enough to tell one model file from another without reading all of it.
struct FileIdentity {
  std::string name;  // without folders
  uint64_t bytes = 0;
  std::string hash;  // of its size, its first and its last MiB; 16 hexadecimal digits
  bool operator==(const FileIdentity&) const = default;
};
Result<FileIdentity> IdentifyFile(const std::string& path);

struct Profile {
  FileIdentity model;
  std::string cpu, isa;
  int threads = 1;
  DraftMethod method;
  int num_speculative_tokens = 0;  // 0: as many as pay
  std::string draft_model;         // path; "": none
  std::vector<PassTime> pass_times;
  double tokens_per_second = 0;  // of whole requests, as measured
  double speedup = 0;            // over plain decoding
};

Json ProfileJson(const Profile& profile);
// kInvalidArgument with the key that is wrong.
Result<Profile> ParseProfile(std::string_view text);

// Why the pass times of `profile` say nothing about a run with these; "": they hold.
std::string ProfileDifference(const Profile& profile, const FileIdentity& model,
                              std::string_view cpu, std::string_view isa, int threads);

// Reads the file of --profile into the flags: the method unless --speculative-config was given (or
// --methods, which names its own), and the pass times where they were measured here. What does not
// fit is a line on the console's err.
Status UseProfile(Flags& flags, Context& context);

}  // namespace hunch

#endif  // HUNCH_APPS_PROFILE_H_
