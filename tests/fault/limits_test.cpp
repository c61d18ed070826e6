/// A process that may have no more threads, or no more open files.
#include "fault.hpp"
#include "support/sanitizers.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>

namespace holdfast::test {
namespace {

/// Over TCP: the worker gives up its rights to reach its limits, and with them the server's folder.
class limit_fault : public fault {
 protected:
  limit_fault() : fault{{.on = server_options::listen::tcp}} {}
};

TEST_F(limit_fault, of_threads_is_an_error_before_anything_is_sent) {
  auto holder = worker::session(server_.url(), "mutex_inbox", "orders", 60s);
  if (holder.ask("no threads") != "ok") GTEST_SKIP() << "this user's threads can't be limited";
  for (auto round = 0; round < 2; ++round) {
    auto const said = holder.ask("acquire");
    EXPECT_EQ(said.rfind("error ", 0), 0u) << said;
    EXPECT_NE(said.find("ulimit -u"), std::string::npos) << said;
    EXPECT_EQ(holder.ask("async"), "refused, called 0");
    EXPECT_EQ(holder.ask("signals"), "open");
  }
  EXPECT_TRUE(residue().empty());
  EXPECT_EQ(holder.ask("threads"), "ok");
  EXPECT_EQ(holder.ask("acquire").rfind("held ", 0), 0u);
  EXPECT_EQ(holder.ask("no threads"), "ok");
  EXPECT_EQ(holder.ask("release"), "ended " + code_word(release_result::released));
  EXPECT_EQ(holder.ask("acquire").rfind("held ", 0), 0u) << "what it needs is there";
  EXPECT_EQ(holder.ask("threads"), "ok") << "LeakSanitizer looks from a thread of its own";
  holder.say("exit");
  EXPECT_EQ(holder.wait(), 0);
  EXPECT_TRUE(comes_clean());
}

/// No descriptor above those that are open now, and `more`.
class few_descriptors {
 public:
  explicit few_descriptors(unsigned more) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    auto const next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::close(next);
    auto few = before_;
    few.rlim_cur = static_cast<rlim_t>(next) + more;
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  ~few_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  few_descriptors(few_descriptors const&) = delete;
  few_descriptors& operator=(few_descriptors const&) = delete;

 private:
  rlimit before_{};
};

std::ptrdiff_t open_descriptors() {
  std::filesystem::directory_iterator const all{"/proc/self/fd"};
  return std::distance(begin(all), end(all));
}

constexpr auto why_it_needs_descriptors =
    "AddressSanitizer opens a file when an exception is thrown, and its companion when it looks at a type";

TEST_F(limit_fault, of_descriptors_is_an_error_of_the_constructor) {
  if (under_address_sanitizer) GTEST_SKIP() << why_it_needs_descriptors;
  auto const before = open_descriptors();
  auto refusals = 0;
  for (auto more = 0u; more < 32; ++more) {
    auto const said = [&] {
      few_descriptors const only{more};
      return failure_of([&] { client const made{server_.url()}; });
    }();
    EXPECT_EQ(open_descriptors(), before);
    if (said.code == std::error_code{}) break;
    ++refusals;
    EXPECT_EQ(said.code, std::errc::too_many_files_open) << said;
    EXPECT_TRUE(said.says("ulimit -n")) << said;
    EXPECT_TRUE(said.says(server_.address())) << said;
  }
  EXPECT_GE(refusals, 3);
  EXPECT_LT(refusals, 32);
}

TEST_F(limit_fault, of_descriptors_is_told_to_whom_it_keeps_from_connecting) {
  if (under_address_sanitizer) GTEST_SKIP() << why_it_needs_descriptors;
  client redis{server_.url()};
  mutex m{redis, "orders"};
  auto const said = [&] {
    few_descriptors const only{0};
    return failure_of([&] { (void)m.try_acquire(); });
  }();
  EXPECT_EQ(said.code, errc::unreachable) << said;
  EXPECT_TRUE(said.says("ulimit -n")) << said;
  EXPECT_TRUE(m.try_acquire_for(20s));
}

}  // namespace
}  // namespace holdfast::test
