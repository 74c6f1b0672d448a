// Server-sent events: ids, and what is left out for a client that has it.
#include "server/event_stream.h"

#include <gtest/gtest.h>

namespace hunch {
namespace {

std::vector<Json> Chunks(std::vector<int> numbers) {
  std::vector<Json> chunks;
  for (const int number : numbers) chunks.push_back({{"n", number}});
  return chunks;
}

TEST(EventStream, CountsTheEventsOfEachChoice) {
  EventStream stream("cmpl-1", {.event_ids = true}, 2);
  EXPECT_EQ(stream.Take(), "");
  stream.Add(1, Chunks({5}));
  EXPECT_EQ(stream.Take(), "id: cmpl-1-0.1\ndata: {\"n\":5}\n\n");
  stream.Add(0, Chunks({6, 7}));
  stream.AddLast("[DONE]");
  EXPECT_EQ(stream.Take(),
            "id: cmpl-1-1.1\ndata: {\"n\":6}\n\nid: cmpl-1-2.1\ndata: {\"n\":7}\n\n"
            "data: [DONE]\n\n");
}

TEST(EventStream, LeavesOutWhatTheClientHas) {
  EventStream stream("a", {.event_ids = true, .sent = {1, 0}}, 2);
  stream.Add(0, Chunks({1, 2}));
  stream.Add(1, Chunks({3}));
  EXPECT_EQ(stream.Take(), "id: a-2.0\ndata: {\"n\":2}\n\nid: a-2.1\ndata: {\"n\":3}\n\n");
}

TEST(EventStream, SaysOfEveryEventWhetherItHasTheUsage) {
  EventStream stream("a", {.include_usage = true}, 1);
  std::vector<Json> chunks = Chunks({1, 2});
  chunks[1]["usage"] = 3;
  stream.Add(0, std::move(chunks));
  EXPECT_EQ(stream.Take(), "data: {\"n\":1,\"usage\":null}\n\ndata: {\"n\":2,\"usage\":3}\n\n");
}

}  // namespace
}  // namespace hunch
