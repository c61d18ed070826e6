/// A process that may have no more threads, or no more open files.
#include "fault.hpp"
#include "support/sanitizers.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>

namespace holdfast::test {
namespace {

/// Over TCP: to reach its limits the worker gives up its rights, with them access to the server's folder.
class limit_fault : public fault {
 protected:
  limit_fault() : fault{{.transport = server_transport::tcp}} {}
};

TEST_F(limit_fault, of_threads_is_an_error_before_anything_is_sent) {
  auto holder = worker::session(server_.url(), "mutex_inbox", "orders", 60s);
  if (holder.reply_to("no threads") != "ok") GTEST_SKIP() << "this user's threads can't be limited";
  for (auto round = 0; round < 2; ++round) {
    auto const reply = holder.reply_to("acquire");
    EXPECT_EQ(reply.rfind("error ", 0), 0u) << reply;
    EXPECT_NE(reply.find("ulimit -u"), std::string::npos) << reply;
    EXPECT_EQ(holder.reply_to("async"), "refused, called 0");
    EXPECT_EQ(holder.reply_to("signals"), "open");
  }
  EXPECT_TRUE(leftover_keys(raw_).empty());
  EXPECT_EQ(holder.reply_to("threads"), "ok");
  EXPECT_EQ(holder.reply_to("acquire").rfind("held ", 0), 0u);
  EXPECT_EQ(holder.reply_to("no threads"), "ok");
  EXPECT_EQ(holder.reply_to("release"), "ended " + code_word(release_result::released));
  EXPECT_EQ(holder.reply_to("acquire").rfind("held ", 0), 0u) << "what it needs is there";
  EXPECT_EQ(holder.reply_to("threads"), "ok") << "LeakSanitizer looks from a thread of its own";
  holder.write_line("exit");
  EXPECT_EQ(holder.wait(), 0);
  EXPECT_TRUE(nothing_left_behind());
}

/// Limits the process to the descriptors that are open now and `more`.
class few_descriptors {
 public:
  explicit few_descriptors(unsigned more) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    auto const next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::close(next);
    auto limited = before_;
    limited.rlim_cur = static_cast<rlim_t>(next) + more;
    ::setrlimit(RLIMIT_NOFILE, &limited);
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

constexpr auto sanitizer_needs_descriptors =
    "AddressSanitizer opens a file when an exception is thrown, and its companion when it looks at a type";

TEST_F(limit_fault, of_descriptors_is_an_error_of_the_constructor) {
  if (under_address_sanitizer) GTEST_SKIP() << sanitizer_needs_descriptors;
  auto const before = open_descriptors();
  auto refusals = 0;
  for (auto more = 0u; more < 32; ++more) {
    auto const refusal = [&] {
      few_descriptors const limit{more};
      return failure_of([&] { client const redis{server_.url()}; });
    }();
    EXPECT_EQ(open_descriptors(), before);
    if (refusal.code == std::error_code{}) break;
    ++refusals;
    EXPECT_EQ(refusal.code, std::errc::too_many_files_open) << refusal;
    EXPECT_TRUE(refusal.mentions("ulimit -n")) << refusal;
    EXPECT_TRUE(refusal.mentions(server_.address())) << refusal;
  }
  EXPECT_GE(refusals, 3);
  EXPECT_LT(refusals, 32);
}

TEST_F(limit_fault, of_descriptors_is_told_to_whom_it_keeps_from_connecting) {
  if (under_address_sanitizer) GTEST_SKIP() << sanitizer_needs_descriptors;
  client redis{server_.url()};
  mutex m{redis, "orders"};
  auto const refusal = [&] {
    few_descriptors const limit{0};
    return failure_of([&] { (void)m.try_acquire(); });
  }();
  EXPECT_EQ(refusal.code, errc::unreachable) << refusal;
  EXPECT_TRUE(refusal.mentions("ulimit -n")) << refusal;
  EXPECT_TRUE(m.try_acquire_for(20s));
}

}  // namespace
}  // namespace holdfast::test
