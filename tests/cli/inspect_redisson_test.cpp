// `holdfast inspect` of objects on Redisson's wire, of any client.
#include "objects_of_java.hpp"

namespace {

using namespace holdfast::test;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
namespace of_redisson = holdfast::names::redisson;

class inspect_redisson : public objects_of_java {};

TEST_F(inspect_redisson, shows_a_lock_that_java_holds_once_more_than_it_will_release) {
  lock("orders", java, 2);
  auto const report = inspected("orders");
  EXPECT_EQ(report.at("kind"), "reentrant");
  EXPECT_EQ(report.at("wire"), "redisson");
  EXPECT_EQ(report.at("holder").at("owner"), java);
  EXPECT_EQ(report.at("holder").at("host"), nullptr);
  EXPECT_EQ(report.at("holders")[0].at("count"), 2);
  EXPECT_EQ(report.at("token"), nullptr);
  EXPECT_GT(report.at("ttl_ms"), 20'000);
  EXPECT_THAT(page_about("orders"),
              AllOf(HasSubstr("kind      reentrant: a lock on Redisson's wire\n"),
                    HasSubstr("holder    unknown: Java, or a client of Holdfast without a record\n"),
                    HasSubstr(std::string{"owner     "} + java + "\n"), HasSubstr("held      2 times: "),
                    HasSubstr("release --force")));
}

TEST_F(inspect_redisson, names_a_holder_that_is_a_client_of_holdfast) {
  lock("orders", holdfast_owner);
  EXPECT_THAT(page_about("orders"), AllOf(HasSubstr("holder    web-3 pid 812\n"),
                                          HasSubstr("label     nightly import\n"), Not(HasSubstr("held "))));
}

TEST_F(inspect_redisson, shows_the_queue_of_a_fair_lock_and_its_credit) {
  lock("orders");
  wait_in_fair_queue("orders", holdfast_owner, 330'000);
  wait_in_fair_queue("orders", other_java, -5);
  auto const report = inspected("orders");
  EXPECT_EQ(report.at("fair"), true);
  EXPECT_EQ(report.at("waiting"), 2);
  ASSERT_EQ(report.at("queue").size(), 2U);
  EXPECT_EQ(report.at("queue")[0].at("host"), "web-3");
  EXPECT_EQ(report.at("queue")[0].at("waited_ms"), nullptr);
  EXPECT_THAT(report.at("queue")[0].at("credit_ms").get<int>(),
              AllOf(testing::Gt(300'000), testing::Le(330'000)));
  EXPECT_EQ(report.at("queue")[1].at("credit_ms"), 0);
  EXPECT_THAT(page_about("orders"),
              AllOf(HasSubstr("reentrant: a fair lock"), HasSubstr("    1. dead in 5m"),
                    HasSubstr("web-3 pid 812 'nightly import'\n"), HasSubstr("    2. dead in 0")));
}

TEST_F(inspect_redisson, shows_a_fair_queue_whose_head_has_no_time) {
  lock("orders");
  redis.command({"RPUSH", of_redisson::fair_queue("orders"), java});
  EXPECT_EQ(inspected("orders").at("queue")[0].at("credit_ms"), nullptr);
}

TEST_F(inspect_redisson, shows_the_token_of_a_fenced_lock) {
  lock("orders");
  redis.command({"SET", of_redisson::token("orders"), "7"});
  EXPECT_EQ(inspected("orders").at("token"), 7);
  EXPECT_THAT(page_about("orders"), AllOf(HasSubstr("with tokens\n"), HasSubstr("token     7\n")));
}

TEST_F(inspect_redisson, shows_all_readers_with_what_is_left_to_each) {
  read("prices", java, 2, 9'000);
  read("prices", holdfast_owner);
  auto const report = inspected("prices");
  EXPECT_EQ(report.at("kind"), "read_write");
  EXPECT_EQ(report.at("holding"), 2);
  EXPECT_EQ(report.at("holders")[0].at("side"), "read");
  EXPECT_EQ(report.at("holders")[0].at("count"), 2);
  EXPECT_THAT(report.at("holders")[0].at("ttl_ms").get<int>(), AllOf(testing::Gt(3'000), testing::Le(9'000)));
  EXPECT_EQ(report.at("holders")[1].at("host"), "web-3");
  EXPECT_EQ(report.at("misfit"), nullptr);
  EXPECT_THAT(page_about("prices"),
              AllOf(HasSubstr("kind      read_write: readers only\n"), HasSubstr("holders   2\n"),
                    HasSubstr(", held 2 times\n"), HasSubstr("web-3 pid 812 'nightly import'\n")));
}

TEST_F(inspect_redisson, shows_a_writer_before_what_it_reads_itself) {
  write("prices", java);
  read("prices", java);
  auto const report = inspected("prices");
  ASSERT_EQ(report.at("holders").size(), 2U);
  EXPECT_EQ(report.at("holders")[0].at("side"), "write");
  EXPECT_EQ(report.at("holders")[0].at("owner"), java);
  EXPECT_EQ(report.at("holders")[1].at("side"), "read");
  EXPECT_THAT(page_about("prices"), HasSubstr("read_write: somebody writes"));
}

TEST_F(inspect_redisson, shows_a_reader_whose_time_is_over_and_who_is_still_in_the_lock) {
  read("prices", java);
  redis.del(of_redisson::reader_timeout("prices", java));
  EXPECT_EQ(inspected("prices").at("holders")[0].at("ttl_ms"), 0);
}

TEST_F(inspect_redisson, shows_permits_by_their_ids) {
  permits("licenses", 3);
  take("licenses", '\xa1');
  take("licenses", 'b', std::to_string(millis_in(10'000)));
  take("licenses", 'c', std::to_string(millis_in(-10)));
  auto const report = inspected("licenses");
  EXPECT_EQ(report.at("kind"), "permits");
  EXPECT_EQ(report.at("available"), 4) << "an expired one is left";
  EXPECT_EQ(report.at("permits"), 6);
  EXPECT_EQ(report.at("holding"), 2);
  ASSERT_EQ(report.at("holders").size(), 2U);
  EXPECT_EQ(report.at("holders")[0].at("owner"), "62626262626262626262626262626262");
  EXPECT_THAT(report.at("holders")[0].at("ttl_ms").get<int>(),
              AllOf(testing::Gt(3'000), testing::Le(10'000)));
  EXPECT_EQ(report.at("holders")[1].at("owner"), "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1");
  EXPECT_EQ(report.at("holders")[1].at("ttl_ms"), nullptr);
  EXPECT_THAT(page_about("licenses"), AllOf(HasSubstr("left      4\n"), HasSubstr("permits   6\n"),
                                            HasSubstr("permit, for ever a1a1a1a1")));
}

TEST_F(inspect_redisson, says_by_whoever_waits_what_a_counter_is) {
  permits("number", 3);
  EXPECT_EQ(inspected("number").at("kind"), "counter");
  EXPECT_EQ(inspected("number").at("counts"), nullptr);
  EXPECT_EQ(inspected("number").at("available"), 3);
  listen(of_redisson::latch_channel("number"));
  EXPECT_EQ(inspected("number").at("counts"), "latch");
  EXPECT_EQ(inspected("number").at("waiting"), 1);
  permits("uploads", -2);
  listen(of_redisson::semaphore_channel("uploads"));
  EXPECT_EQ(inspected("uploads").at("counts"), "permits");
  EXPECT_EQ(inspected("uploads").at("available"), -2);
  EXPECT_THAT(page_about("uploads"), HasSubstr("counter: what is left of a semaphore\n"));
}

TEST_F(inspect_redisson, counts_the_processes_that_listen_for_a_lock) {
  lock("orders");
  listen(of_redisson::lock_channel("orders"));
  EXPECT_EQ(inspected("orders").at("waiting"), 1);
  read("prices", java);
  listen(of_redisson::rw_channel("prices"));
  EXPECT_EQ(inspected("prices").at("waiting"), 1);
  listen(of_redisson::semaphore_channel("never given any"));
  EXPECT_EQ(inspected("never given any").at("kind"), "free");
  EXPECT_EQ(inspected("never given any").at("counts"), "permits");
  EXPECT_EQ(inspected("never given any").at("waiting"), 1);
}

TEST_F(inspect_redisson, knows_names_with_braces) {
  for (std::string const name : {"a{x}b", "{x}"}) {
    read(name, java);
    EXPECT_GT(inspected(name).at("holders")[0].at("ttl_ms"), 0) << name;
    redis.del(name);
    permits(name, 1);
    take(name, 'a');
    EXPECT_EQ(inspected(name).at("kind"), "permits") << name;
    redis.del(name);
    redis.del(of_redisson::permits(name));
  }
}

TEST_F(inspect_redisson, says_what_does_not_fit) {
  redis.command({"HSET", "orders", java, "many"});
  EXPECT_THAT(inspected("orders").at("misfit").get<std::string>(),
              HasSubstr("\"many\", not a number from 1 up"));
  redis.command({"HSET", "prices", "mode", "write", java, "1"});
  EXPECT_EQ(inspected("prices").at("misfit"), "its mode is \"write\", but nobody writes");
  redis.command({"SET", "licenses", "lots"});
  take("licenses", 'a');
  EXPECT_EQ(inspected("licenses").at("misfit"), "what is left of it is \"lots\", not a number");
  permits("old", 1);
  redis.command({"ZADD", of_redisson::permits("old"), never, "00112233445566778899aabbccddeeff"});
  EXPECT_THAT(inspected("old").at("misfit").get<std::string>(), HasSubstr("a Redisson before 3.17"));
  EXPECT_THAT(page_about("old"),
              AllOf(HasSubstr("misfit    1 of its permits"), HasSubstr("00112233445566778899aabb")));
  redis.command({"SET", "huge", "99999999999999999999"});
  EXPECT_THAT(page_about("huge"), HasSubstr("not a number"));
  permits("spoilt", 1);
  redis.command({"SET", of_redisson::permits("spoilt"), "x"});
  EXPECT_THAT(page_about("spoilt"), HasSubstr("is not a sorted set"));
}

TEST_F(inspect_redisson, takes_nothing_else_for_one_of_redissons) {
  redis.command({"HSET", "settings", "mode", "read", "path", "/"});
  EXPECT_EQ(inspected("settings").at("kind"), "other");
  redis.command({"HSET", "mode only", "mode", "read"});
  EXPECT_EQ(inspected("mode only").at("kind"), "other");
  redis.command({"HSET", "one field", "a", "1"});
  EXPECT_EQ(inspected("one field").at("kind"), "other");
  redis.command({"HSET", "two fields", java, "1", other_java, "1"});
  EXPECT_EQ(inspected("two fields").at("kind"), "other");
  redis.command({"SET", "a lock that is a number", "1", "PX", "60000"});
  EXPECT_EQ(inspected("a lock that is a number").at("kind"), "foreign");
  redis.command({"SET", "text", "3 permits"});
  EXPECT_EQ(inspected("text").at("kind"), "foreign");
}

TEST_F(inspect_redisson, shows_all_of_a_crowd_and_counts_those_that_it_does_not_show) {
  words all{"HSET", "prices", "mode", "read"};
  for (int i = 0; i != 1'500; ++i)
    all.insert(all.end(), {"33333333-3333-4333-8333-333333333333:" + std::to_string(i), "1"});
  redis.command(all);
  auto const report = inspected("prices");
  EXPECT_EQ(report.at("holding"), 1'500);
  EXPECT_GE(report.at("holders").size(), 900U);
  EXPECT_THAT(page_about("prices"), HasSubstr("more\n"));
}

}  // namespace
