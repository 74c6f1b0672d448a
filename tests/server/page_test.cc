#include "server/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

namespace hunch {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;

// What a page file names for the browser to load.
std::set<std::string> Loaded(std::string_view body) {
  static const std::regex kName(R"re((?:src|href)="([^"]*)"|from '([^']*)')re");
  std::set<std::string> names;
  const std::string text(body);
  for (std::sregex_iterator at(text.begin(), text.end(), kName), end; at != end; ++at) {
    names.insert((*at)[1].matched ? (*at)[1].str() : (*at)[2].str());
  }
  return names;
}

TEST(Page, EveryFileThatItLoadsIsThere) {
  ASSERT_NE(FindPageFile("/"), nullptr);
  size_t loaded = 0;
  for (const PageFile& file : PageFiles()) {
    EXPECT_FALSE(file.body.empty()) << file.path;
    for (std::string name : Loaded(file.body)) {
      if (name.starts_with("data:")) continue;
      if (name.starts_with("./")) name.erase(0, 2);
      EXPECT_NE(FindPageFile("/" + name), nullptr) << file.path << " loads " << name;
      ++loaded;
    }
  }
  EXPECT_EQ(loaded, PageFiles().size() - 1);
}

TEST(Page, RunsNoScriptButItsOwn) {
  const HttpResponse response = PageResponse(*FindPageFile("/"));
  EXPECT_THAT(response.headers,
              Contains(Pair("Content-Security-Policy", HasSubstr("script-src 'self'"))));
  for (const PageFile& file : PageFiles()) {
    EXPECT_EQ(file.body.find("innerHTML"), std::string_view::npos) << file.path;
    EXPECT_EQ(file.body.find("://"), file.body.find("://www.w3.org/2000/svg")) << file.path;
  }
}

TEST(Page, OtherPathsAreNone) {
  EXPECT_EQ(FindPageFile(""), nullptr);
  EXPECT_EQ(FindPageFile("/index.html"), nullptr);
  EXPECT_EQ(FindPageFile("/../page.css"), nullptr);
}

}  // namespace
}  // namespace hunch
