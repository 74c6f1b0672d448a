#include "session/shared_stores.h"

#include <algorithm>
#include <filesystem>

#include "draft/token_recycling.h"

namespace hunch {

SharedStores::Set& SharedStores::For(const std::string& salt) {
  const auto found =
      std::find_if(sets_.begin(), sets_.end(), [&](const Set& set) { return set.salt == salt; });
  if (found != sets_.end()) {
    sets_.splice(sets_.begin(), sets_, found);
  } else {
    if (sets_.size() == kMostSalts) sets_.pop_back();
    sets_.push_front({salt, std::make_shared<SuffixStore>(),
                      std::make_shared<SuccessorTable>(TokenRecyclingDrafter::kRowContexts)});
  }
  return sets_.front();
}

Result<SharedStores::Set*> SharedStores::ForFile(const std::string& salt, const std::string& path) {
  const std::string key = path + '\n' + salt;  // no path and salt of another pair give the same
  const bool known =
      std::any_of(sets_.begin(), sets_.end(), [&](const Set& set) { return set.salt == key; });
  std::error_code error;
  if (known || !std::filesystem::exists(path, error)) return &For(key);
  HUNCH_ASSIGN_OR_RETURN(auto loaded, SuffixStore::Load(path, vocabulary_));
  Set& set = For(key);
  set.suffix = std::move(loaded);
  return &set;
}

Status SharedStores::Save(const std::string& salt, const std::string& path) {
  return For(path + '\n' + salt).suffix->Save(path, vocabulary_);
}

Result<std::shared_ptr<const NgramTable>> SharedStores::Table(const std::string& path) {
  if (const auto known = tables_.find(path); known != tables_.end()) return known->second;
  HUNCH_ASSIGN_OR_RETURN(auto table, NgramTable::Open(path, vocabulary_));
  return tables_[path] = std::move(table);
}

}  // namespace hunch
