#include "apps/batch_run.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "base/utf8.h"

namespace hunch {
namespace {

constexpr std::chrono::milliseconds kLook{50};      // how often for a signal
constexpr size_t kMostUnwritten = size_t{1} << 20;  // bytes of lines that need no model
constexpr int kNoRoom = 429;

}  // namespace

// Where the API answers a line to. It is asked for nothing that it would stream.
class BatchRun::LineReply : public Reply {
 public:
  LineReply(BatchRun& run, Asked asked)
      : run_(run), mailbox_(run.mailbox_), asked_(std::move(asked)) {}
  void AddHeader(std::string, std::string) override {}
  void Send(HttpResponse response) override { run_.OnAnswer(std::move(asked_), response); }
  void BeginStream() override {}
  void Write(std::string_view) override {}
  void End() override {}
  void OnGone(std::function<void()>) override {}
  // Called after the run too, when what is under way is cut off.
  void Post(std::function<void()> work) override { mailbox_.Post(std::move(work)); }

 private:
  BatchRun& run_;
  Mailbox& mailbox_;
  Asked asked_;
};

BatchRun::BatchRun(BatchInput& input, BatchOutput& output, AsyncLlm& llm, Api& api,
                   Mailbox& mailbox, Context& context, int most_in_flight)
    : input_(input),
      output_(output),
      llm_(llm),
      api_(api),
      mailbox_(mailbox),
      context_(context),
      most_in_flight_(most_in_flight),
      progress_(context.console, input.size() - output.done()),
      started_(context.clock()) {}

Result<bool> BatchRun::Run() {
  while (context_.interrupts.Pending() == 0) {
    HUNCH_RETURN_IF_ERROR(Feed());
    HUNCH_RETURN_IF_ERROR(Write());
    if (ended_ && refused_.empty() && in_flight_ == 0) return true;
    mailbox_.DoAll(in_flight_ > 0 ? kLook : std::chrono::milliseconds(0));
  }
  HUNCH_RETURN_IF_ERROR(Write());
  return false;
}

// Asks for as much as may be under way. A request that found no room waits for an answer, and
// everything after it too, so that it gets its turn.
Status BatchRun::Feed() {
  while (in_flight_ < most_in_flight_ && lines_.size() < kMostUnwritten) {
    const bool alone = in_flight_ == 0;
    if (!room_ && !alone) return Ok{};
    if (!refused_.empty()) {
      Asked next = std::move(refused_.front());
      refused_.pop_front();
      next.alone = alone;
      Ask(std::move(next));
      continue;
    }
    BatchLine line;
    HUNCH_ASSIGN_OR_RETURN(const bool more, input_.Next(line));
    ended_ = !more;
    if (ended_) return Ok{};
    Take(line);
  }
  return Ok{};
}

void BatchRun::Take(const BatchLine& line) {
  auto parsed = ParseBatchLine(line.text);
  auto* request = std::get_if<BatchRequest>(&parsed);
  BatchRefusal refusal;
  if (request != nullptr) {
    refusal.custom_id = request->custom_id;
  } else {
    refusal = std::get<BatchRefusal>(std::move(parsed));
  }
  // Lines that are done count too: which of two is the first must not depend on the run.
  const int64_t other = LineBefore(refusal.custom_id, line.number);
  if (output_.Done(line.id)) return;
  if (line.too_long) {
    refusal.error = {.message = fmt::format("the line has more than {} bytes: shorten it",
                                            BatchLines::kMostBytes),
                     .code = "line_too_long"};
  } else if (other != 0) {
    refusal.error = {.message = fmt::format("\"custom_id\" {} is that of line {} too: give each "
                                            "line its own",
                                            Quote(*refusal.custom_id), other),
                     .param = "custom_id",
                     .code = "duplicate_custom_id"};
  } else if (request != nullptr) {
    return Ask({line.id, std::move(*request), false});
  }
  Add(RefusedLine(line.id, refusal), true);
}

// The line that had this custom_id before line `number`; 0: none.
int64_t BatchRun::LineBefore(const std::optional<std::string>& custom_id, int64_t number) {
  if (!custom_id) return 0;
  const auto [first, fresh] = custom_ids_.emplace(*custom_id, number);
  return fresh ? 0 : first->second;
}

void BatchRun::Ask(Asked asked) {
  ++in_flight_;
  HttpRequest request;
  request.method = "POST";
  request.path = asked.request.path;
  request.body = asked.request.body;
  api_.Handle(std::move(request), std::make_shared<LineReply>(*this, std::move(asked)));
}

void BatchRun::OnAnswer(Asked asked, const HttpResponse& response) {
  --in_flight_;
  if (response.status == kNoRoom && !asked.alone) {
    room_ = false;
    refused_.push_back(std::move(asked));
    return;
  }
  room_ = true;
  Add(AnsweredLine(asked.id, asked.request.custom_id, response), response.status != 200);
}

void BatchRun::Add(std::string line, bool wrong) {
  lines_ += line;
  ++fresh_;
  counts_.wrong += wrong ? 1 : 0;
}

Status BatchRun::Write() {
  if (fresh_ == 0) return Ok{};
  HUNCH_RETURN_IF_ERROR(output_.Append(lines_));
  lines_.clear();
  counts_.written += fresh_;
  for (; fresh_ > 0; --fresh_) progress_.Advance(Label());
  return Ok{};
}

std::string BatchRun::Label() const {
  const double seconds = context_.clock() - started_;
  const auto tokens = static_cast<double>(llm_.stats().engine.generation_tokens);
  return fmt::format("lines, {:.0f} tokens/s", seconds > 0 ? tokens / seconds : 0);
}

}  // namespace hunch
