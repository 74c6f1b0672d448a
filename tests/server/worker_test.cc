#include "server/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <vector>

namespace hunch {
namespace {

TEST(Worker, DoesEverythingInOrderOnOneThreadOfItsOwn) {
  Worker worker;
  std::vector<int> done;
  std::vector<std::thread::id> threads;
  std::promise<void> last;
  for (int i = 0; i < 100; ++i) {
    worker.Post([&, i] {
      done.push_back(i);
      threads.push_back(std::this_thread::get_id());
      if (i == 99) last.set_value();
    });
  }
  last.get_future().wait();
  ASSERT_EQ(done.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done[i], i);
  EXPECT_THAT(threads, ::testing::Each(threads[0]));
  EXPECT_NE(threads[0], std::this_thread::get_id());
}

TEST(Worker, StoppingEndsAfterTheWorkUnderWayAndDropsTheRest) {
  Worker worker;
  std::promise<void> begun, go_on;
  bool finished = false;
  worker.Post([&] {
    begun.set_value();
    go_on.get_future().wait();
    finished = true;
  });
  const auto token = std::make_shared<int>(0);
  worker.Post([token] { ADD_FAILURE() << "this should not run"; });
  begun.get_future().wait();
  std::thread stopper([&] { worker.Stop(); });
  // Stop waits for the work, so this comes before or during it.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  go_on.set_value();
  stopper.join();
  EXPECT_TRUE(finished);
  EXPECT_EQ(token.use_count(), 1);
  worker.Post([token] { ADD_FAILURE() << "nor this"; });
  EXPECT_EQ(token.use_count(), 1);
}

}  // namespace
}  // namespace hunch
