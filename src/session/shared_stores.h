// SharedStores: what drafters may pass from one request to another, where a request asks for it:
// one set for each cache salt, so that only those who know a salt profit from, and could learn of,
// each other's texts. Private to session/. Not thread safe.
//
// Memory: kMostSalts sets, the one used longest ago goes first; a set is at most a SuffixStore and
// a SuccessorTable of their default sizes (about 35 MiB).
#ifndef HUNCH_SESSION_SHARED_STORES_H_
#define HUNCH_SESSION_SHARED_STORES_H_

#include <list>
#include <map>
#include <memory>
#include <string>

#include "draft/ngram_table.h"
#include "draft/successor_table.h"
#include "draft/suffix_store.h"
#include "session/corpus.h"

namespace hunch {

class SharedStores {
 public:
  static constexpr size_t kMostSalts = 8;

  struct Set {
    std::string path;  // of the file that its suffix store is kept in; "": of none
    std::string salt;
    std::shared_ptr<SuffixStore> suffix;
    std::shared_ptr<SuccessorTable> successors;
  };

  void SetVocabulary(const VocabularyId& vocabulary) { vocabulary_ = vocabulary; }
  // The set of a salt, made where there is none.
  Set& For(const std::string& salt);
  // As For, and its suffix store is the file's, once: later calls keep what has been added since. A
  // file that is not there is an empty store; one that cannot be used is an error.
  Result<Set*> ForFile(const std::string& salt, const std::string& path);
  // What ForFile and Table would read. Any thread, once the vocabulary is set.
  Result<std::shared_ptr<SuffixStore>> ReadSuffixStore(const std::string& path) const;
  Result<std::shared_ptr<const NgramTable>> ReadTable(const std::string& path) const;
  // Spares ForFile and Table the reading; what is there already stays.
  void AddSuffixStore(const std::string& salt, const std::string& path,
                      std::shared_ptr<SuffixStore> store);
  void AddTable(const std::string& path, std::shared_ptr<const NgramTable> table);
  // Writes the suffix store of the set where it came from; does nothing where ForFile gave none, as
  // to a request that learns nothing: what is in the file is not known then.
  Status Save(const std::string& salt, const std::string& path);
  // Mapped once, and kept.
  Result<std::shared_ptr<const NgramTable>> Table(const std::string& path);

 private:
  using Sets = std::list<Set>;
  Sets::iterator Find(const std::string& path, const std::string& salt);
  Set& Use(const std::string& path, const std::string& salt);

  VocabularyId vocabulary_;
  Sets sets_;  // the latest used first
  std::map<std::string, std::shared_ptr<const NgramTable>> tables_;
};

}  // namespace hunch

#endif  // HUNCH_SESSION_SHARED_STORES_H_
