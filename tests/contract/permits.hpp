/// Permits with leases on the plain wire: the state of their keys before and after a call.
#pragma once

#include <algorithm>

#include "contract/contract.hpp"
#include "script/names.hpp"
#include "scripts/permits.hpp"
#include "wire/plain/permits.hpp"

namespace holdfast::contract::permits_test {

namespace lua = holdfast::scripts::permits;

inline constexpr std::int64_t heavy = 8'000'000'000'000'000;

/// Somebody who has permits, or waits for some.
struct party {
  std::string_view owner;
  std::int64_t amount = 1;
  std::int64_t ms = 20'000;  ///< for so long it still has them; of a waiter: so long it has waited

  friend bool operator==(party const& a, party const& b) {
    return a.owner == b.owner && a.amount == b.amount;
  }
  friend std::ostream& operator<<(std::ostream& out, party const& p) {
    return out << p.owner << " " << p.amount;
  }
};
using parties = std::vector<party>;

class permits : public testing::Test {
 protected:
  permits() { raw_.command({"SET", names::token_counter(lock_name), std::to_string(last_token)}); }

  [[nodiscard]] static call acquire(engine::acquire_request request, int amount = 1, int size = 0) {
    request.ttl = std::chrono::milliseconds{full_ttl};
    request.amount = amount;
    request.size = size;
    return recipes::plain::permits.acquire(lock_name, request);
  }
  [[nodiscard]] static call release(std::string_view owner) {
    return recipes::plain::permits.release({.name = lock_name, .owner = owner}, {});
  }
  [[nodiscard]] static call abandon(std::string_view owner) {
    return recipes::plain::permits.abandon({.name = lock_name, .owner = owner}, {});
  }
  [[nodiscard]] static call renew(std::vector<engine::owned> const& leases) {
    return recipes::plain::permits.renew(std::chrono::milliseconds{full_ttl}, leases);
  }
  [[nodiscard]] call resize(std::string_view mode, std::int64_t number, std::int64_t offered = 0) {
    make_mark();
    return lua::resize{.lock = keys_.lock,
                       .counter = keys_.counter,
                       .queue = keys_.queue,
                       .size = keys_.size,
                       .done = {mark_},
                       .answered = {},
                       .mode = mode,
                       .number = number,
                       .offered = offered,
                       .grant_ms = 2000,
                       .publish = "PUBLISH",
                       .done_ms = day}();
  }
  [[nodiscard]] call counts(std::int64_t offered = 0) const {
    return lua::counts{.lock = keys_.lock,
                       .counter = keys_.counter,
                       .queue = keys_.queue,
                       .size = keys_.size,
                       .offered = offered,
                       .grant_ms = 2000,
                       .publish = "PUBLISH"}();
  }

  /// For the next request that is to be carried out once.
  void make_mark() { mark_ = names::beside(lock_name, "holdfast_done:" + std::to_string(++marks_)); }
  [[nodiscard]] std::string const& mark() const { return mark_; }

  raw_reply run(call const& script) { return ask(raw_, script); }

  [[nodiscard]] std::int64_t now_ms() {
    auto const time = raw_.command({"TIME"}).elements;
    return std::stoll(time.at(0).text) * 1'000 + std::stoll(time.at(1).text) / 1'000;
  }

  /// So many of `size` permits are out.
  void given_out(std::int64_t size, parties const& holders) {
    std::int64_t out = 0;
    for (auto const& [owner, amount, left_ms] : holders) {
      raw_.command({"ZADD", std::string{lock_name}, std::to_string(now_ms() + left_ms), std::string{owner}});
      add_weight(std::string{lock_name}, owner, amount);
      out += amount;
    }
    raw_.command({"ZADD", std::string{lock_name}, std::to_string(-out),
                  std::string{names::permits_marker} + std::to_string(size)});
    raw_.command({"PEXPIRE", std::string{lock_name}, "20000"});
  }
  void given_waiting(parties const& waiters) {
    for (auto const& [owner, amount, waited_ms] : waiters) {
      raw_.command({"ZADD", names::permit_queue(lock_name), std::to_string((now_ms() - waited_ms) * 1'000),
                    std::string{owner}});
      add_weight(names::permit_queue(lock_name), owner, amount);
    }
    raw_.command({"PEXPIRE", names::permit_queue(lock_name), "60000"});
  }
  void given_size(std::int64_t size) {
    raw_.command({"SET", names::permits(lock_name), std::to_string(size)});
  }

  /// Who has permits, the first to end first. Checks that the set is in step with itself.
  [[nodiscard]] parties out() {
    auto const members = raw_.command({"ZRANGE", std::string{lock_name}, "0", "-1", "WITHSCORES"}).elements;
    if (members.empty()) return {};
    auto const marker = members[0].text;
    EXPECT_TRUE(marker.starts_with(names::permits_marker)) << marker;
    size_ = std::stoll(marker.substr(names::permits_marker.size()));
    auto found = read(members, 1);
    std::int64_t sum = 0;
    for (auto const& p : found) sum += p.amount;
    EXPECT_EQ(members[1].text, std::to_string(-sum));
    auto const ttl = raw_.pttl(std::string{lock_name});
    EXPECT_GT(ttl, 0);
    for (auto const& p : found) EXPECT_GE(ttl + 5, p.ms - now_ms()) << "it ends before " << p.owner;
    return found;
  }
  [[nodiscard]] parties waiting() {
    if (raw_.exists(names::permit_queue(lock_name))) {
      EXPECT_GT(raw_.pttl(names::permit_queue(lock_name)), 0);
    }
    return read(raw_.command({"ZRANGE", names::permit_queue(lock_name), "0", "-1", "WITHSCORES"}).elements,
                0);
  }
  [[nodiscard]] std::int64_t size() {
    (void)out();
    return size_;
  }
  [[nodiscard]] std::int64_t left_of_holder(std::string_view owner) {
    return std::stoll(raw_.command({"ZSCORE", std::string{lock_name}, std::string{owner}}).text) - now_ms();
  }

  static testing::Matcher<raw_reply const&> is_granted(std::int64_t token = last_token + 1) {
    return is_list({token, 1});
  }
  static testing::Matcher<raw_reply const&> is_short(testing::Matcher<std::int64_t> const& left,
                                                     std::int64_t ahead, std::string_view holder,
                                                     std::int64_t altogether, std::int64_t taken,
                                                     std::int64_t counter = last_token) {
    return is_array({is_number(left), is_number(ahead),
                     is_number(ahead < 0 ? testing::Eq(0) : testing::Matcher<std::int64_t>(testing::Gt(0))),
                     is_number(counter), is_text(holder), is_number(-1), is_number(altogether),
                     is_number(taken)});
  }

  test::redis_server& server_ = empty_server();
  raw_redis raw_ = server_.raw();
  recipes::plain::permit_keys const keys_{lock_name};

 private:
  void add_weight(std::string const& key, std::string_view owner, std::int64_t amount) {
    if (amount > 1) raw_.command({"ZADD", key, std::to_string(heavy + amount), std::string{owner} + ":p"});
  }
  parties read(std::vector<raw_reply> const& members, std::size_t from) {
    parties found;
    names_.clear();
    names_.reserve(members.size());
    for (std::size_t i = 2 * from; i + 1 < members.size(); i += 2) {
      auto const score = std::stod(members[i + 1].text);
      auto name = members[i].text;
      if (score < static_cast<double>(heavy)) {
        found.push_back({names_.emplace_back(name), 1, static_cast<std::int64_t>(score)});
        continue;
      }
      name.resize(name.size() - 2);
      auto const of = std::ranges::find(found, name, &party::owner);
      EXPECT_NE(of, found.end()) << members[i].text << " weighs nobody";
      if (of != found.end()) of->amount = static_cast<std::int64_t>(score) - heavy;
    }
    kept_.push_back(std::move(names_));
    names_ = {};
    return found;
  }

  std::int64_t size_ = 0;
  int marks_ = 0;
  std::string mark_;
  std::vector<std::string> names_;
  std::vector<std::vector<std::string>> kept_;
};

}  // namespace holdfast::contract::permits_test
