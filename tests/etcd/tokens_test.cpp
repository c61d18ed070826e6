// Users' tokens, which members stop to believe.

#include "members.hpp"
#include "support/eventually.hpp"

#include <gtest/gtest.h>

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <stdexcept>
#include <stop_token>
#include <thread>

namespace holdfast::test {
namespace {

/// With the key of its tokens, and a user "root" whose password is "secret".
class cluster_with_signed_tokens {
 public:
  void enable_auth() const {
    all_.ctl({"user", "add", "root:secret"});
    all_.ctl({"user", "grant-role", "root", "root"});
    all_.ctl({"auth", "enable"});
  }
  /// A token from before that is too old.
  void change_roles() const { all_.ctl({"role", "add", "other"}, "root:secret"); }
  [[nodiscard]] std::size_t keys(std::string const& prefix) const {
    auto const text = all_.ctl({"get", "--prefix", "--keys-only", prefix}, "root:secret");
    return static_cast<std::size_t>(std::ranges::count(text, '\n')) / 2;
  }
  [[nodiscard]] std::string url() const { return "etcd://root:secret@" + all_.endpoint(); }

 private:
  [[nodiscard]] std::string key(std::string const& name) const {
    auto const secret = folder_ / "token.key";
    if (!std::filesystem::exists(secret)) {
      openssl({"genrsa", "-out", secret, "2048"});
      openssl({"rsa", "-in", secret, "-pubout", "-out", folder_ / "token.pub"});
    }
    return folder_ / name;
  }
  static void openssl(words command) {
    command.insert(command.begin(), "openssl");
    process program{command};
    if (program.wait() != 0) throw std::runtime_error{"openssl fails: " + program.err()};
  }

  temporary_folder folder_;
  etcd_cluster all_{{.args = {"--auth-token=jwt,pub-key=" + key("token.pub") +
                              ",priv-key=" + key("token.key") + ",sign-method=RS256"}}};
};

client_options patient() { return {.patience = wait_limit}; }

/// FOUND 411.
TEST(etcd_token, that_is_older_than_the_roles_is_replaced) {
  cluster_with_signed_tokens const guarded;
  guarded.enable_auth();
  client etcd{guarded.url(), patient()};
  mutex lock{etcd, "jobs", {.ttl = 90s}};
  auto held = lock.acquire();
  guarded.change_roles();
  EXPECT_EQ(held.release(), release_result::released);
  EXPECT_TRUE(lock.acquire().valid());
}

TEST(etcd_token, that_came_before_users_did_is_replaced) {
  cluster_with_signed_tokens const guarded;
  client etcd{guarded.url(), patient()};
  mutex lock{etcd, "jobs", {.ttl = 90s}};
  auto held = lock.acquire();
  guarded.enable_auth();
  EXPECT_EQ(held.release(), release_result::released);
}

/// FOUND 413: the stream of watches had the old token, and a watch that was refused was taken for one.
TEST(etcd_token, is_replaced_for_watches_too) {
  cluster_with_signed_tokens const guarded;
  guarded.enable_auth();
  client holds{guarded.url(), patient()};
  client waits{guarded.url(), {.patience = wait_limit, .recheck = 30s}};
  mutex first{holds, "first", {.ttl = 90s}};
  mutex second{holds, "second", {.ttl = 90s}};
  auto const one = first.acquire();
  auto two = second.acquire();
  mutex behind_first{waits, "first", {.ttl = 90s}};
  mutex behind_second{waits, "second", {.ttl = 90s}};
  std::stop_source gives_up;
  std::jthread watching{[&] { EXPECT_THROW((void)behind_first.acquire(gives_up.get_token()), error); }};
  ASSERT_TRUE(eventually([&] { return guarded.keys("first/") == 2; }));
  guarded.change_roles();
  std::atomic<bool> entered = false;
  std::jthread waiting{[&] {
    EXPECT_TRUE(behind_second.acquire().valid());
    entered = true;
  }};
  ASSERT_TRUE(eventually([&] { return guarded.keys("second/") == 2; }));
  EXPECT_EQ(two.release(), release_result::released);
  EXPECT_TRUE(eventually([&] { return entered.load(); }));
  gives_up.request_stop();
}

}  // namespace
}  // namespace holdfast::test
