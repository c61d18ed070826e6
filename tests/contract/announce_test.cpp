#include "contract/contract.hpp"
#include "script/names.hpp"
#include "scripts/client.hpp"

namespace holdfast::contract::announce_test {

namespace names = holdfast::names;
using testing::AllOf;
using testing::Gt;
using testing::Le;

std::string const record = names::client_record(caller.substr(0, 36));

holdfast::call announce(std::string_view label, std::string_view traces = "") {
  return holdfast::scripts::client::announce{.record = {record},
                                             .ttl_ms = minute,
                                             .host = "web-3",
                                             .pid = 812,
                                             .program = "importer",
                                             .label = label,
                                             .traces = traces}();
}

std::string field(raw_redis& raw, std::string const& name) {
  return raw.command({"HGET", record, name}).text;
}

TEST(announce_script, says_who_a_client_is_for_a_minute) {
  auto raw = empty_server().raw();
  EXPECT_THAT(raw.command(eval(announce("nightly import"))), is(1));
  EXPECT_EQ(field(raw, "host"), "web-3");
  EXPECT_EQ(field(raw, "pid"), "812");
  EXPECT_EQ(field(raw, "program"), "importer");
  EXPECT_EQ(field(raw, "label"), "nightly import");
  EXPECT_THAT(raw.pttl(record), AllOf(Gt(minute / 2), Le(minute)));
  EXPECT_THAT(raw.keys(), testing::ElementsAre(record));
}

TEST(announce_script, keeps_the_time_when_it_was_said_first) {
  auto raw = empty_server().raw();
  raw.command(eval(announce("")));
  auto const since = field(raw, "since");
  EXPECT_GT(std::stoll(since), 1'700'000'000'000'000);
  EXPECT_THAT(raw.command(eval(announce("later"))), is(1));
  EXPECT_EQ(field(raw, "since"), since);
  EXPECT_EQ(field(raw, "label"), "later");
}

TEST(announce_script, says_which_work_holds_the_leases_of_a_client_now) {
  auto raw = empty_server().raw();
  raw.command(eval(announce("", "")));
  EXPECT_FALSE(raw.command({"HEXISTS", record, "traces"}).integer) << "it never says any";
  EXPECT_THAT(raw.command(eval(announce("", "1=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"))),
              is(1));
  EXPECT_EQ(field(raw, "traces"), "1=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  EXPECT_THAT(raw.pttl(record), AllOf(Gt(minute / 2), Le(minute)));
  EXPECT_THAT(raw.command(eval(announce("", "-"))), is(1));
  EXPECT_EQ(field(raw, "traces"), "-");
}

TEST(announce_script, leaves_a_key_of_another_type_alone) {
  auto raw = empty_server().raw();
  raw.command({"SET", record, "spoilt"});
  EXPECT_THAT(raw.command(eval(announce(""))), is_error("WRONGTYPE"));
  EXPECT_EQ(raw.get(record), "spoilt");
}

}  // namespace holdfast::contract::announce_test
