// Templates and requests made to exhaust stack, time or memory: each must end soon with one error.
#include <gtest/gtest.h>

#include <string>

#include "chat/chat_template.h"

namespace hunch {
namespace {

std::string Repeat(const std::string& text, int count) {
  std::string out;
  out.reserve(text.size() * static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

std::string ParseError(const std::string& source) {
  const auto parsed = ChatTemplate::Parse(source);
  if (parsed.ok()) return "parsed";
  EXPECT_EQ(parsed.error().code, ErrorCode::kBadFile) << parsed.error().message;
  EXPECT_TRUE(parsed.error().message.starts_with("chat template line "));
  EXPECT_LT(parsed.error().message.size(), 300u);
  return parsed.error().message;
}

// The error of a template that parses but must not finish.
Error RenderError(const std::string& source) {
  const auto parsed = ChatTemplate::Parse(source);
  if (!parsed.ok()) return {ErrorCode::kInternal, "parse: " + parsed.error().message};
  const auto pieces = parsed.value()->Render({});
  if (pieces.ok()) return {ErrorCode::kInternal, "rendered"};
  return pieces.error();
}

void ExpectExhausted(const std::string& source) {
  const Error error = RenderError(source);
  EXPECT_EQ(error.code, ErrorCode::kResourceExhausted) << source.substr(0, 200) << error.message;
}

TEST(HostileTemplates, DeepNestingIsRefused) {
  constexpr int kMany = 100'000;
  for (const std::string opener : {"(", "[", "{1:", "not ", "-", "+", "a(", "a[", "x if ",
                                   "x if y else ", "a(b=", "a|b(", "a is b(", "a is not b "}) {
    const std::string error = ParseError("{{ " + Repeat(opener, kMany) + "x }}");
    EXPECT_NE(error, "parsed") << opener;
  }
  for (const std::string block :
       {"{% if x %}", "{% for x in y %}", "{% macro m() %}", "{% filter f %}", "{% set x %}",
        "{% with %}", "{% call a() %}"}) {
    EXPECT_NE(ParseError(Repeat(block, kMany)).find("too deep"), std::string::npos) << block;
  }
  EXPECT_NE(ParseError("{% for " + Repeat("(", kMany) + "x"), "parsed");
}

TEST(HostileTemplates, LongChainsAreRefusedOrFlat) {
  constexpr int kMany = 100'000;
  for (const std::string link :
       {"+x", "*x", "**x", ".a", "[0]", "()", "|trim", " and x", " or x", " is string"}) {
    EXPECT_NE(ParseError("{{ x" + Repeat(link, kMany) + " }}"), "parsed") << link;
  }
  EXPECT_EQ(ParseError("{{ x" + Repeat("~x", kMany) + " }}"), "parsed");
  EXPECT_EQ(ParseError("{{ [x" + Repeat(",x", kMany) + "] }}"), "parsed");
  EXPECT_EQ(ParseError("{% if x %}" + Repeat("{% elif x %}", 10'000) + "{% endif %}"), "parsed");
}

TEST(HostileTemplates, AMegabyteOfTextIsFineAndUnclosedTagsAreNot) {
  const std::string text(1 << 20, 'x');
  const auto parsed = ChatTemplate::Parse(text);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(JoinPieces(*parsed.value()->Render({})), text);
  for (const std::string opener : {"{{ ", "{% ", "{# ", "{% raw %}", "{{ '", "{{ 1", "{% if x"}) {
    EXPECT_NE(ParseError(opener + text), "parsed") << opener;
    EXPECT_NE(ParseError(opener + Repeat("\n", 1 << 20)), "parsed") << opener;
    EXPECT_NE(ParseError(Repeat(opener, 100'000)), "parsed") << opener;
  }
  const auto large = ChatTemplate::Parse(std::string(5 << 20, 'x'));
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().code, ErrorCode::kBadFile);
}

TEST(HostileTemplates, EveryByteAndTruncationIsHandled) {
  const std::string source =
      "{%- for m in messages if m -%}{{ m['a'] | trim ~ 'x\\n' }}{% else %}{# c #}{% endfor %}"
      "{% macro f(a, b=1) %}{{ a[1:2] is string }}{% endmacro %}{{ f(*[1], **{'b': 2.5e3}) }}";
  for (size_t i = 0; i <= source.size(); ++i) {
    (void)ChatTemplate::Parse(source.substr(0, i)).ok();
  }
  for (int byte = 0; byte < 256; ++byte) {
    const std::string inside = std::string("{{ a ") + static_cast<char>(byte) + " b }}";
    (void)ChatTemplate::Parse(inside).ok();
    const auto outside = ChatTemplate::Parse(std::string(1, static_cast<char>(byte)) + "z");
    ASSERT_TRUE(outside.ok());
  }
}

TEST(HostileTemplates, WorkIsBounded) {
  ExpectExhausted(
      "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}");
  ExpectExhausted("{{ range(1000000000) }}");
  ExpectExhausted(
      "{{ range(0, 9223372036854775807, 9223372036854775806) | list }}{{ range(-1) }}"
      "{{ range(100001) }}");
  ExpectExhausted("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}");
  ExpectExhausted("{% macro m() %}{% for i in [1] %}{{ m() }}{% endfor %}{% endmacro %}{{ m() }}");
}

TEST(HostileTemplates, StringsAreBounded) {
  ExpectExhausted("{{ 'x' * 10**9 }}");
  ExpectExhausted("{{ 10**18 * 'x' }}");
  ExpectExhausted("{{ [1] * 10**12 }}");
  ExpectExhausted(
      "{% set ns = namespace(s='x') %}{% for i in range(99) %}"
      "{% set ns.s = ns.s + ns.s %}{% endfor %}");
  ExpectExhausted("{% set s = 'x' * 10**6 %}{{ s | replace('x', s) }}");
  ExpectExhausted("{% set s = 'x' * 10**6 %}{{ s.join(s | list) }}");
  ExpectExhausted("{% set s = 'x' * 10**6 %}{% for i in range(100) %}{{ s }}{% endfor %}");
  ExpectExhausted("{{ ('a' * 10**7).find('a' * 5 * 10**6 + 'b') }}");
  EXPECT_NE(RenderError("{{ '%99999999d' % 1 }}").message.find("limited"), std::string::npos);
  EXPECT_NE(RenderError("{{ '{:99999999}'.format(1) }}").code, ErrorCode::kInternal);
  EXPECT_NE(RenderError("{{ 1 | tojson(indent=10**9) }}").code, ErrorCode::kInternal);
}

TEST(HostileTemplates, NestedValuesAreBounded) {
  const std::string grow = "{% set ns = namespace(x=[], y=[]) %}{% for i in range(100000) %}";
  ExpectExhausted(grow + "{% set ns.x = [ns.x] %}{% endfor %}");
  ExpectExhausted(grow + "{% set ns.x = {'a': ns.x} %}{% endfor %}");
  ExpectExhausted(grow + "{% set ns.x = {'a': ns.x}.get %}{% endfor %}");
  // Shared parts make these exponentially long to print or compare.
  const std::string share =
      "{% set ns = namespace(x=['ab'], y=['ab']) %}{% for i in range(60) %}"
      "{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}{% endfor %}";
  ExpectExhausted(share + "{{ ns.x }}");
  ExpectExhausted(share + "{{ ns.x | tojson }}");
  ExpectExhausted(share + "{{ ns.x == ns.y }}");
  ExpectExhausted(share + "{{ ns.x < ns.y }}");
}

// Nothing to expect but that a leak checker stays silent.
TEST(HostileTemplates, CirclesOfNamespacesAndMacrosAreFreed) {
  const auto parsed = ChatTemplate::Parse(
      "{% set a = namespace() %}{% set b = namespace(a=a) %}{% set a.b = [b] %}"
      "{% macro m() %}{% macro n() %}{% endmacro %}{% set a.n = n %}{% endmacro %}{{ m() }}"
      "{% set a.m = m %}{% for i in [1, 2] %}{% macro k() %}{{ i }}{% endmacro %}"
      "{% set a.k = [k, loop] %}{% set x = k %}{% endfor %}{{ a.k[0]() }}");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const auto pieces = parsed.value()->Render({});
  ASSERT_TRUE(pieces.ok()) << pieces.error().message;
  EXPECT_EQ(JoinPieces(*pieces), "2");
}

TEST(HostileTemplates, ArithmeticTrapsAreErrors) {
  EXPECT_NE(RenderError("{{ (-9223372036854775807 - 1) // -1 }}").code, ErrorCode::kInternal);
  EXPECT_NE(RenderError("{{ 9223372036854775807 + 1 }}").code, ErrorCode::kInternal);
  EXPECT_NE(RenderError("{{ 2 ** 100 }}").code, ErrorCode::kInternal);
  EXPECT_NE(RenderError("{{ 5 % 0 }}").code, ErrorCode::kInternal);
  EXPECT_NE(RenderError("{{ 1.0 / 0 }}").code, ErrorCode::kInternal);
  EXPECT_NE(RenderError("{{ [1][::0] }}").code, ErrorCode::kInternal);
  EXPECT_EQ(RenderError("{{ (-9223372036854775807 - 1) % -1 }}"
                        "{{ 'ab'[-9223372036854775807 - 1:9223372036854775807] }}"
                        "{{ [1, 2][::9223372036854775807] }}{{ 1e308 * 10 }}{{ 1e300 | int }}")
                .message,
            "rendered");
}

}  // namespace
}  // namespace hunch
