// The draft model or head beside a target: opened and compared before memory is planned, loaded
// after. A draft model's weights may be the target's own. Private to session/. Not thread safe.
#ifndef HUNCH_SESSION_DRAFT_SIDE_H_
#define HUNCH_SESSION_DRAFT_SIDE_H_

#include <memory>
#include <optional>
#include <vector>

#include "draft/draft_model.h"
#include "draft/head_drafter.h"
#include "draft/medusa_drafter.h"
#include "model/target.h"
#include "session/llm.h"
#include "session/memory_plan.h"
#include "tokenizer/tokenizer.h"

namespace hunch {

// What a head for a target of this shape and vocabulary says of it.
HeadTarget HeadTargetOf(const ModelConfig& config, const Tokenizer& tokenizer);

// Which drafters guess with a head; the first is the one for auto.
std::vector<DrafterKind> DraftersOf(HeadKind kind);
// With which head a drafter guesses; nullopt: with none.
std::optional<HeadKind> HeadOf(DrafterKind kind);
// What a file guesses as: a draft model, or the head that it says it is. One that cannot be read is
// for loading to complain about.
DrafterKind MethodOfFile(const std::string& path);

// Of a file that was to be one.
Error NotAHead(const std::string& path);
// The other way round: an error if what is to be the model is a head.
Status CheckIsModel(const GgufFile& file);

class DraftSide {
 public:
  // The file that options.draft_model names. Errors: it cannot be read, its vocabulary is another
  // one than the target's, or it is a head for another target.
  Status Open(const LlmOptions& options, const PlannedModel& target, const Tokenizer& tokenizer);
  const PlannedModel& planned() const { return planned_; }
  const std::string& path() const { return path_; }
  bool is_head() const { return head_config_.has_value(); }
  // Whether the target drafts for itself.
  bool own() const { return own_; }
  // Which drafters it makes.
  const std::vector<DrafterKind>& kinds() const { return kinds_; }
  // Of a head; null: it is none.
  const HeadConfig* head() const { return head_config_ ? &*head_config_ : nullptr; }
  bool Makes(DrafterKind kind) const;
  // Token ids below this one it can guess.
  int vocab_size() const { return vocab_size_; }
  // Whether it was opened for these options' draft_model.
  bool IsFor(const LlmOptions& options) const;
  // After Open, once memory is planned. `target` must outlive this. packing: as Model::Load's.
  Status Load(const LlmOptions& options, const SizedPlan& plan, Model& target, ThreadPool& pool,
              ThreadPool* packing = nullptr);
  // As Load, beside a target that runs already with a context of `max_model_len`, and whose pool
  // may be at work. An error when the memory that is free now does not hold it.
  Status LoadBeside(const LlmOptions& options, int max_model_len, Model& target, ThreadPool& pool);
  // Bytes that its pass reads, of those that the target's reads.
  double pass_share() const { return pass_share_; }
  // A drafter for one request, of one of those kinds, once it is loaded. It guesses token ids below
  // `vocab_size`, which is at most its own: that of all drafters of the request.
  std::unique_ptr<Drafter> Make(DrafterKind kind, int vocab_size, std::vector<TokenId> end_tokens,
                                PrefixCache::Salt cache_salt) const;

 private:
  Status OpenHead(const LlmOptions& options, const PlannedModel& target,
                  const Tokenizer& tokenizer);

  bool own_ = false;
  std::string path_, quantization_, vocab_;  // of the options
  std::shared_ptr<const GgufFile> file_;     // null when the target drafts for itself
  const GgufFile* target_file_ = nullptr;
  PlannedModel planned_ = {};
  int vocab_size_ = 0;
  int context_ = 0;
  double pass_share_ = 0;
  std::unique_ptr<Model> model_;  // null when the target drafts for itself, and of a head
  std::unique_ptr<ModelTarget> target_;
  std::vector<DrafterKind> kinds_ = {DrafterKind::kDraftModel};
  std::optional<HeadConfig> head_config_;  // of a head
  std::unique_ptr<HeadModel> head_;        // of a head, loaded; null of a medusa head
  std::unique_ptr<MedusaModel> medusa_;    // of a medusa head, loaded
  std::unique_ptr<BlockPool> pool_;
};

}  // namespace hunch

#endif  // HUNCH_SESSION_DRAFT_SIDE_H_
