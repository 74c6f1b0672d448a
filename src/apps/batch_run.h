// BatchRun: has the lines of a batch answered by the API of the server, a few more at a time than
// run at once, and writes the answers as they come. To the API it is the I/O thread. Not thread
// safe.
#ifndef HUNCH_APPS_BATCH_RUN_H_
#define HUNCH_APPS_BATCH_RUN_H_

#include <deque>
#include <optional>
#include <string>
#include <unordered_map>

#include "apps/batch_input.h"
#include "apps/batch_line.h"
#include "apps/batch_output.h"
#include "apps/context.h"
#include "apps/mailbox.h"
#include "apps/progress.h"
#include "server/api.h"
#include "session/async_llm.h"

namespace hunch {

class BatchRun {
 public:
  struct Counts {
    int64_t written = 0;
    int64_t wrong = 0;  // of those, lines that are no request, or whose request got an error
  };

  // All must outlive the run, and the mailbox `llm` and `api`, which post to it until they end.
  BatchRun(BatchInput& input, BatchOutput& output, AsyncLlm& llm, Api& api, Mailbox& mailbox,
           Context& context, int most_in_flight);

  // Until every line has its answer. False: a signal came first; what is answered by then is
  // written. To be called once. Errors: of the two files.
  Result<bool> Run();
  const Counts& counts() const { return counts_; }

 private:
  class LineReply;
  struct Asked {
    uint64_t id = 0;
    BatchRequest request;
    bool alone = false;  // nothing else was being answered
  };

  Status Feed();
  void Take(const BatchLine& line);
  int64_t LineBefore(const std::optional<std::string>& custom_id, int64_t number);
  void Ask(Asked asked);
  void OnAnswer(Asked asked, const HttpResponse& response);
  void Add(std::string line, bool wrong);
  Status Write();
  std::string Label() const;

  BatchInput& input_;
  BatchOutput& output_;
  AsyncLlm& llm_;
  Api& api_;
  Mailbox& mailbox_;
  Context& context_;
  const int most_in_flight_;
  Progress progress_;
  const double started_;

  std::unordered_map<std::string, int64_t> custom_ids_;  // with the line that has it
  std::deque<Asked> refused_;                            // for want of room: to be asked again
  bool room_ = true;    // nothing was refused since the last answer
  bool ended_ = false;  // the input is read
  int in_flight_ = 0;   // lines asked and not answered
  std::string lines_;   // answered and not written
  int64_t fresh_ = 0;   // how many they are
  Counts counts_;
};

}  // namespace hunch

#endif  // HUNCH_APPS_BATCH_RUN_H_
