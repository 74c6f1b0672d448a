// CHECK: the way to say "this is a bug in Hunch". Prints the condition, the values and the place,
// then aborts. Never used for what a file, a request or the machine may do wrong (see result.h).
#ifndef HUNCH_BASE_CHECK_H_
#define HUNCH_BASE_CHECK_H_

#include <sstream>
#include <string>

namespace hunch::internal {

// Collects the message and aborts when it goes out of scope.
class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition);
  [[noreturn]] ~CheckFailure();
  std::ostream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
};

struct Voidify {
  void operator&(std::ostream&) {}
};

}  // namespace hunch::internal

#define HUNCH_CHECK(condition)                 \
  (condition) ? (void)0                        \
              : ::hunch::internal::Voidify() & \
                    ::hunch::internal::CheckFailure(__FILE__, __LINE__, #condition).stream()

#define HUNCH_CHECK_OP(a, b, op) HUNCH_CHECK((a)op(b)) << " (" << (a) << " vs " << (b) << ") "
#define HUNCH_CHECK_EQ(a, b) HUNCH_CHECK_OP(a, b, ==)
#define HUNCH_CHECK_LE(a, b) HUNCH_CHECK_OP(a, b, <=)
#define HUNCH_CHECK_LT(a, b) HUNCH_CHECK_OP(a, b, <)
#define HUNCH_CHECK_GE(a, b) HUNCH_CHECK_OP(a, b, >=)
#define HUNCH_CHECK_GT(a, b) HUNCH_CHECK_OP(a, b, >)

#endif  // HUNCH_BASE_CHECK_H_
