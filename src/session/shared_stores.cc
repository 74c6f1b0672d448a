#include "session/shared_stores.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "draft/token_recycling.h"

namespace hunch {

SharedStores::Sets::iterator SharedStores::Find(const std::string& path, const std::string& salt) {
  return std::find_if(sets_.begin(), sets_.end(),
                      [&](const Set& set) { return set.path == path && set.salt == salt; });
}

SharedStores::Set& SharedStores::Use(const std::string& path, const std::string& salt) {
  if (const auto found = Find(path, salt); found != sets_.end()) {
    sets_.splice(sets_.begin(), sets_, found);
  } else {
    if (sets_.size() == kMostSalts) sets_.pop_back();
    sets_.push_front({path, salt, std::make_shared<SuffixStore>(),
                      std::make_shared<SuccessorTable>(TokenRecyclingDrafter::kRowContexts)});
  }
  return sets_.front();
}

SharedStores::Set& SharedStores::For(const std::string& salt) { return Use("", salt); }

Result<SharedStores::Set*> SharedStores::ForFile(const std::string& salt, const std::string& path) {
  if (Find(path, salt) != sets_.end()) return &Use(path, salt);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    // Before the answer and not after it.
    const auto folder = std::filesystem::path(path).parent_path();
    if (folder.empty() || std::filesystem::is_directory(folder, error)) return &Use(path, salt);
    return Error{ErrorCode::kNotFound,
                 fmt::format("{}: the suffix store cannot be kept there: no such folder; make it "
                             "or name another",
                             path)};
  }
  HUNCH_ASSIGN_OR_RETURN(auto loaded, SuffixStore::Load(path, vocabulary_));
  Set& set = Use(path, salt);
  set.suffix = std::move(loaded);
  return &set;
}

Status SharedStores::Save(const std::string& salt, const std::string& path) {
  const auto found = Find(path, salt);
  if (found == sets_.end()) return Ok{};
  return found->suffix->Save(path, vocabulary_);
}

Result<std::shared_ptr<const NgramTable>> SharedStores::Table(const std::string& path) {
  if (const auto known = tables_.find(path); known != tables_.end()) return known->second;
  HUNCH_ASSIGN_OR_RETURN(auto table, NgramTable::Open(path, vocabulary_));
  return tables_[path] = std::move(table);
}

}  // namespace hunch
