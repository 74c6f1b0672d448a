// A Reply that keeps what it is given, and the thread that stands for the server's: Pump does what
// was posted. Thread safe where Reply is.
#ifndef HUNCH_TESTS_SUPPORT_FAKE_REPLY_H_
#define HUNCH_TESTS_SUPPORT_FAKE_REPLY_H_

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/http.h"
#include "session/json_text.h"

namespace hunch {

class FakeReply : public Reply {
 public:
  void AddHeader(std::string name, std::string value) override {
    headers.emplace_back(std::move(name), std::move(value));
  }
  void Send(HttpResponse response) override {
    sent = std::move(response);
    complete = true;
  }
  void BeginStream() override { streaming = true; }
  void Write(std::string_view bytes) override { stream += bytes; }
  void End() override { complete = true; }
  void OnGone(std::function<void()> gone) override { gone_ = std::move(gone); }
  void Post(std::function<void()> work) override {
    std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
    posted_.notify_one();
  }

  // Until the answer is complete.
  void Pump() {
    while (!complete) PumpOne();
  }
  void PumpOne() {
    std::unique_lock lock(mutex_);
    posted_.wait(lock, [this] { return !work_.empty(); });
    auto work = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    work();
  }
  void Leave() {
    if (const auto gone = std::exchange(gone_, nullptr)) gone();
  }

  Json json() const { return Json::parse(sent->body); }
  // The stream's events, of which the last must be [DONE], with their ids ("": none).
  std::vector<std::pair<std::string, Json>> EventsWithIds() const {
    std::vector<std::pair<std::string, Json>> events;
    constexpr std::string_view kId = "id: ", kData = "data: ", kEnd = "\n\n";
    for (std::string_view rest = stream; !rest.empty();) {
      std::string id;
      if (rest.starts_with(kId)) {
        id = rest.substr(kId.size(), rest.find('\n') - kId.size());
        rest.remove_prefix(rest.find('\n') + 1);
      }
      if (!rest.starts_with(kData)) return {};
      const size_t end = rest.find(kEnd);
      const std::string_view data = rest.substr(kData.size(), end - kData.size());
      rest.remove_prefix(end + kEnd.size());
      if (data == "[DONE]") return rest.empty() ? events : decltype(events){};
      events.emplace_back(std::move(id), Json::parse(data));
    }
    return {};
  }
  std::vector<Json> Events() const {
    std::vector<Json> events;
    for (auto& [id, event] : EventsWithIds()) events.push_back(std::move(event));
    return events;
  }

  HttpHeaders headers;  // added
  std::optional<HttpResponse> sent;
  bool streaming = false, complete = false;
  std::string stream;

 private:
  std::function<void()> gone_;
  std::mutex mutex_;
  std::condition_variable posted_;
  std::deque<std::function<void()>> work_;
};

}  // namespace hunch

#endif  // HUNCH_TESTS_SUPPORT_FAKE_REPLY_H_
