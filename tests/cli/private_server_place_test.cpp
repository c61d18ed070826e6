// Where the private server lives, and what starts it.
#include "server/local_folder.hpp"
#include "server/own_unit.hpp"
#include "support/process.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <string>

namespace {

using namespace holdfast::test;
using namespace holdfast::cli;
using testing::AnyOf;
using testing::ElementsAre;
using testing::IsEmpty;

/// A variable of this process, as long as the object lives.
class variable {
 public:
  variable(char const* name, char const* value) : name_{name} {
    if (char const* const before = std::getenv(name); before != nullptr) before_ = before;
    value == nullptr ? unsetenv(name) : setenv(name, value, 1);
  }
  ~variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  variable(variable const&) = delete;
  variable& operator=(variable const&) = delete;

 private:
  char const* name_;
  std::optional<std::string> before_{};
};

TEST(private_server, has_one_place_for_a_user_at_a_login_in_cron_and_in_a_unit) {
  variable const no_name{"HOLDFAST_LOCAL_DIR", nullptr};
  auto const uid = std::to_string(geteuid());
  auto const usual = local_folder();
  EXPECT_THAT(usual.native(), AnyOf("/run/lock/holdfast-" + uid, "/tmp/holdfast-" + uid));
  {
    variable const logged_in{"XDG_RUNTIME_DIR", "/run/user/1000"};
    EXPECT_EQ(local_folder(), usual);
  }
  variable const cron{"XDG_RUNTIME_DIR", nullptr};
  variable const unit{"HOME", nullptr};
  variable const elsewhere{"TMPDIR", "/var/tmp"};
  EXPECT_EQ(local_folder(), usual);
}

TEST(private_server, may_have_a_folder_of_a_test_or_a_demonstration) {
  variable const named{"HOLDFAST_LOCAL_DIR", "/somewhere/else"};
  EXPECT_EQ(local_folder(), "/somewhere/else");
  EXPECT_TRUE(local_folder_is_named());
}

TEST(private_server, of_root_is_a_unit_of_its_own_that_no_other_unit_ends) {
  EXPECT_THAT(unit_launcher({.runs = true, .user = 0, .lingers = false}),
              ElementsAre("systemd-run", "--quiet", "--collect", "--unit=holdfast-private-redis",
                          "--service-type=exec", "--property=UMask=0077", "--"));
}

TEST(private_server, of_a_user_who_lingers_is_a_unit_of_that_users_manager) {
  EXPECT_THAT(
      unit_launcher({.runs = true, .user = 1000, .lingers = true}),
      ElementsAre("env", "XDG_RUNTIME_DIR=/run/user/1000", "systemd-run", "--user", "--quiet", "--collect",
                  "--unit=holdfast-private-redis", "--service-type=exec", "--property=UMask=0077", "--"));
}

TEST(private_server, of_a_user_who_does_not_linger_would_end_with_the_last_logout_as_a_unit) {
  EXPECT_THAT(unit_launcher({.runs = true, .user = 1000, .lingers = false}), IsEmpty());
}

TEST(private_server, is_started_without_systemd_where_there_is_none) {
  EXPECT_THAT(unit_launcher({.runs = false, .user = 0, .lingers = true}), IsEmpty());
}

}  // namespace
