// Compare-and-delete and compare-and-set: how servers differ, tried on each that this machine has. For the
// dialects that the server at hand doesn't speak, the same facts are tried on a proxy that speaks them.
#include "script/compare.hpp"
#include "contract/contract.hpp"
#include "contract/converted.hpp"
#include "resp/command.hpp"
#include "support/flaky_proxy.hpp"
#include "support/server_dialect.hpp"

namespace holdfast::contract::compare_test {

using scripting::compared;
using scripting::dialect;
using testing::AllOf;
using testing::Gt;
using testing::Le;

constexpr auto key = "orders:42";

/// A server that speaks the dialect: the real one if it does.
class compare_and_set : public testing::TestWithParam<dialect> {
 protected:
  compare_and_set() {
    facts_->speaks = GetParam();
    raw_.command({"FLUSHALL"});
    raw_.command({"CONFIG", "SET", "maxmemory", "0"});
    auto const command = GetParam() == dialect::redis    ? "DELEX"
                         : GetParam() == dialect::valkey ? "DELIFEQ"
                                                         : "CAD";
    auto const info = raw_.command({"COMMAND", "INFO", command});
    real_ = !info.elements.empty() && info.elements[0].type == raw_reply::kind::array &&
            !info.elements[0].elements.empty();
    if (real_) return;
    proxy_.decide(test::speaking(facts_));
  }
  ~compare_and_set() override { raw_.command({"CONFIG", "SET", "maxmemory", "0"}); }

  compared say(std::string const& bytes) {
    std::vector<std::string> words;
    for (auto const word : resp::arguments_of(bytes)) words.emplace_back(word);
    if (real_) return scripting::read_compared(converted(raw_.command(words)));
    raw_redis client{proxy_.url().substr(std::string_view{"redis+unix://"}.size())};
    return scripting::read_compared(converted(client.command(words)));
  }
  compared delete_if(std::string_view owner) {
    std::string bytes;
    scripting::append_delete_if(bytes, GetParam(), key, owner);
    return say(bytes);
  }
  compared expire_if(std::string_view owner, std::string_view ttl_ms = "30000") {
    std::string bytes;
    scripting::append_expire_if(bytes, GetParam(), key, owner, ttl_ms);
    return say(bytes);
  }
  void hold(std::string_view owner, std::string const& ttl_ms = "20000") {
    raw_.command({"SET", key, std::string{owner}, "PX", ttl_ms});
  }
  void fill_memory() {
    raw_.command({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
    if (real_) raw_.command({"CONFIG", "SET", "maxmemory", "1"});
    facts_->at_maxmemory = true;
  }
  /// Its CAS and CAD go on at maxmemory, unlike those of TairString.
  [[nodiscard]] bool is_of_our_module() const {
    return real_ && GetParam() == dialect::tair && std::getenv("HOLDFAST_CONTRACT_MODULE") != nullptr;
  }

  test::redis_server& server_ = empty_server();
  raw_redis raw_ = server_.raw();
  std::shared_ptr<test::server_facts_shown> facts_ = std::make_shared<test::server_facts_shown>();
  test::flaky_proxy proxy_{server_.socket_path()};
  bool real_ = false;
};

auto const tells_gone = [](dialect native) { return native == dialect::tair; };

TEST_P(compare_and_set, deletes_a_key_that_has_the_value) {
  hold(caller);
  EXPECT_EQ(delete_if(caller), compared::done);
  EXPECT_FALSE(raw_.exists(key));
}

TEST_P(compare_and_set, leaves_the_lock_of_another_alone) {
  hold(rival);
  EXPECT_EQ(delete_if(caller), compared::differs);
  EXPECT_EQ(expire_if(caller), compared::differs);
  EXPECT_EQ(raw_.get(key), std::string{rival});
  EXPECT_THAT(raw_.pttl(key), AllOf(Gt(0), Le(20'000)));
}

TEST_P(compare_and_set, brings_back_nothing_that_is_gone) {
  auto const expected = tells_gone(GetParam()) ? compared::gone : compared::differs;
  EXPECT_EQ(delete_if(caller), expected);
  EXPECT_EQ(expire_if(caller), expected);
  EXPECT_FALSE(raw_.exists(key));
}

TEST_P(compare_and_set, takes_a_hash_for_somebody_elses) {
  raw_.command({"HSET", key, "field", "1"});
  EXPECT_EQ(delete_if(caller), compared::other);
  EXPECT_EQ(expire_if(caller), compared::other);
  EXPECT_TRUE(raw_.exists(key));
  EXPECT_EQ(raw_.pttl(key), no_ttl);
}

TEST_P(compare_and_set, gives_a_full_ttl) {
  hold(caller, "2000");
  EXPECT_EQ(expire_if(caller), compared::done);
  EXPECT_THAT(raw_.pttl(key), left_of(30'000));
  EXPECT_EQ(raw_.get(key), std::string{caller});
}

TEST_P(compare_and_set, gives_a_ttl_to_a_key_that_has_lost_it) {
  raw_.command({"SET", key, std::string{caller}});
  EXPECT_EQ(expire_if(caller), compared::done);
  EXPECT_THAT(raw_.pttl(key), left_of(30'000));
}

TEST_P(compare_and_set, may_shorten_a_ttl) {
  hold(caller, "60000");
  EXPECT_EQ(expire_if(caller, "5000"), compared::done);
  EXPECT_THAT(raw_.pttl(key), left_of(5'000));
}

TEST_P(compare_and_set, is_unsuited_for_renewals_at_maxmemory) {
  hold(caller);
  fill_memory();
  if (is_of_our_module()) {
    EXPECT_EQ(expire_if(caller), compared::done);
    return;
  }
  EXPECT_EQ(expire_if(caller), compared::unsuited);
  EXPECT_THAT(raw_.pttl(key), AllOf(Gt(0), Le(20'000)));
}

TEST_P(compare_and_set, still_deletes_at_maxmemory_but_for_tairs) {
  hold(caller);
  fill_memory();
  auto const refused = GetParam() == dialect::tair && !is_of_our_module();
  EXPECT_EQ(delete_if(caller), refused ? compared::unsuited : compared::done);
}

TEST_P(compare_and_set, is_unsuited_where_it_is_not_allowed) {
  if (real_) GTEST_SKIP() << "of a proxy: the rights of the real server's users are tried by doctor's tests";
  hold(caller);
  facts_->allowed = false;
  EXPECT_EQ(delete_if(caller), compared::unsuited);
  EXPECT_EQ(expire_if(caller), compared::unsuited);
  EXPECT_TRUE(raw_.exists(key));
}

INSTANTIATE_TEST_SUITE_P(contract, compare_and_set,
                         testing::Values(dialect::redis, dialect::valkey, dialect::tair),
                         [](auto const& info) {
                           return info.param == dialect::redis    ? "of_redis"
                                  : info.param == dialect::valkey ? "of_valkey"
                                                                  : "of_tair";
                         });

TEST(compare_and_set_alone, is_unsuited_where_there_is_none) {
  auto raw = empty_server().raw();
  raw.command({"SET", key, std::string{caller}, "PX", "20000"});
  EXPECT_EQ(scripting::read_compared(converted(raw.command({"NOSUCHCAD", key, std::string{caller}}))),
            compared::unsuited);
  EXPECT_TRUE(raw.exists(key));
}

}  // namespace holdfast::contract::compare_test
