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

Result<std::shared_ptr<SuffixStore>> SharedStores::ReadSuffixStore(const std::string& path) const {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    // Before the answer and not after it.
    const auto folder = std::filesystem::path(path).parent_path();
    if (folder.empty() || std::filesystem::is_directory(folder, error)) {
      return std::make_shared<SuffixStore>();
    }
    return Error{ErrorCode::kNotFound,
                 fmt::format("{}: the suffix store cannot be kept there: no such folder; make it "
                             "or name another",
                             path)};
  }
  return SuffixStore::Load(path, vocabulary_);
}

Result<SharedStores::Set*> SharedStores::ForFile(const std::string& salt, const std::string& path) {
  if (Find(path, salt) != sets_.end()) return &Use(path, salt);
  HUNCH_ASSIGN_OR_RETURN(auto store, ReadSuffixStore(path));
  AddSuffixStore(salt, path, std::move(store));
  return &Use(path, salt);
}

void SharedStores::AddSuffixStore(const std::string& salt, const std::string& path,
                                  std::shared_ptr<SuffixStore> store) {
  if (Find(path, salt) == sets_.end()) Use(path, salt).suffix = std::move(store);
}

Status SharedStores::Save(const std::string& salt, const std::string& path) {
  const auto found = Find(path, salt);
  if (found == sets_.end()) return Ok{};
  return found->suffix->Save(path, vocabulary_);
}

Result<std::shared_ptr<const NgramTable>> SharedStores::ReadTable(const std::string& path) const {
  return NgramTable::Open(path, vocabulary_);
}

void SharedStores::AddTable(const std::string& path, std::shared_ptr<const NgramTable> table) {
  tables_.try_emplace(path, std::move(table));
}

Result<std::shared_ptr<const NgramTable>> SharedStores::Table(const std::string& path) {
  if (const auto known = tables_.find(path); known != tables_.end()) return known->second;
  HUNCH_ASSIGN_OR_RETURN(tables_[path], ReadTable(path));
  return tables_[path];
}

}  // namespace hunch
