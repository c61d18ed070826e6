#include "contract/rw.hpp"

#include "script/names_redisson.hpp"
#include "support/rounds.hpp"
#include "wire/redisson/recipes.hpp"
#include "wire/redisson/rw.hpp"

namespace holdfast::contract::rw {
namespace {

namespace names = names::redisson;
using recipes::redisson::reader;
using recipes::redisson::writer;
using std::chrono::milliseconds;
using testing::AllOf;

std::string text(std::string_view view) { return std::string{view}; }

std::vector<engine::owned> leases_of(std::string_view name, std::vector<std::string_view> const& owners) {
  std::vector<engine::owned> leases;
  for (auto const owner : owners) leases.push_back({.name = name, .owner = owner});
  return leases;
}

std::vector<std::string> fields_of(state const& lock_state) {
  std::vector<std::string> lines;
  if (!lock_state.mode.empty()) lines.push_back("mode=" + text(lock_state.mode));
  for (auto const& [owner, count] : lock_state.fields)
    lines.push_back(text(owner) + "=" + std::to_string(count));
  return lines;
}

}  // namespace

table::table(state const& given, std::string_view name)
    : name_{name}, raw_{empty_server().raw()}, subscription_{empty_server()} {
  put(given);
}

void table::put(state const& given) {
  if (!given.mode.empty()) {
    raw_.command({"HSET", name_, "mode", text(given.mode)});
    for (auto const& [owner, count] : given.fields)
      raw_.command({"HSET", name_, text(owner), std::to_string(count)});
    if (given.ttl != no_ttl) raw_.command({"PEXPIRE", name_, std::to_string(given.ttl)});
  }
  for (auto const& reader_hold : given.holds) {
    raw_.command({"SET", names::reader_timeout(name_, reader_hold.reader, reader_hold.number), "1", "PX",
                  std::to_string(reader_hold.ttl)});
  }
}

void table::check(state const& wanted) {
  std::vector<std::string> fields;
  auto const all = raw_.command({"HGETALL", name_}).elements;
  for (std::size_t i = 0; i + 1 < all.size(); i += 2) fields.push_back(all[i].text + "=" + all[i + 1].text);
  EXPECT_THAT(fields, testing::UnorderedElementsAreArray(fields_of(wanted)));
  std::vector<std::string> keys;
  if (!wanted.mode.empty()) {
    keys.push_back(name_);
    auto const left = raw_.pttl(name_);
    EXPECT_THAT(left, left_of(wanted.ttl)) << name_;
  }
  for (auto const& reader_hold : wanted.holds) {
    keys.push_back(names::reader_timeout(name_, reader_hold.reader, reader_hold.number));
    EXPECT_EQ(raw_.get(keys.back()), "1") << keys.back();
    auto const left = raw_.pttl(keys.back());
    EXPECT_THAT(left, left_of(reader_hold.ttl)) << keys.back();
  }
  EXPECT_THAT(raw_.keys(), testing::UnorderedElementsAreArray(keys));
}

void table::step(std::string_view title, holdfast::call const& call, outcome const& wanted) {
  SCOPED_TRACE(title);
  EXPECT_THAT(raw_.command(eval(call)), wanted.reply);
  check(wanted.after);
  EXPECT_THAT(subscription_.take(), testing::ElementsAreArray(wanted.messages));
}

void table::step_twice(std::string_view title, holdfast::call const& call, outcome const& wanted) {
  step(title, call, wanted);
  step("sent twice", call, {.reply = wanted.reply, .after = wanted.after});
}

static void check_once(row const& test_case) {
  table lock{test_case.given};
  if (!test_case.again) {
    lock.step_twice(test_case.name, test_case.call, test_case.expect);
    return;
  }
  lock.step(test_case.name, test_case.call, test_case.expect);
  lock.step("sent twice", test_case.call, *test_case.again);
}

void check(row const& test_case) {
  test::retry_if_slower_than(std::chrono::milliseconds{50}, [&] { check_once(test_case); });
}

testing::Matcher<raw_reply const&> is_granted(std::int64_t tokens) { return is_list({0, tokens}); }

testing::Matcher<raw_reply const&> is_busy_with(testing::Matcher<std::string> const& owner,
                                                std::int64_t pttl) {
  return is_array({is_number(left_of(pttl)), is(-1), is(0), is(0),
                   AllOf(testing::Field("what", &raw_reply::type, raw_reply::kind::text),
                         testing::Field("text", &raw_reply::text, owner)),
                   is(-1)});
}

testing::Matcher<raw_reply const&> was_cut_to(std::int64_t left) {
  return is_array({is_array({is(1), is_number(left_of(left))})});
}

std::string wake_one_message(std::string_view name) { return names::rw_channel(name) + " 0"; }

std::string wake_all_message(std::string_view name) { return names::rw_channel(name) + " 1"; }

call acquire_read(std::string_view owner, std::int64_t ttl, std::string_view name) {
  return reader.acquire(name, {.owner = owner, .ttl = milliseconds{ttl}});
}

call release_read(std::string_view owner, std::string_view name) {
  return reader.release({.name = name, .owner = owner}, {});
}

call acquire_write(std::string_view owner, std::int64_t ttl, std::string_view name) {
  return writer.acquire(name, {.owner = owner, .ttl = milliseconds{ttl}});
}

call release_write(std::string_view owner, std::string_view name) {
  return writer.release({.name = name, .owner = owner}, {});
}

call pass_write(std::string_view owner, std::string_view next, bool listening, std::string_view name) {
  return writer.pass({.name = name, .owner = owner}, {},
                     {.owner = next, .ttl = milliseconds{full_ttl}, .tokens = 65, .listening = listening});
}

call abandon_lock(std::string_view owner, std::string_view name) {
  return reader.abandon({.name = name, .owner = owner}, {});
}

call renew_read(std::vector<std::string_view> const& owners, std::int64_t ttl, std::string_view name) {
  return reader.renew(milliseconds{ttl}, leases_of(name, owners));
}

call renew_write(std::vector<std::string_view> const& owners, std::int64_t ttl, std::string_view name) {
  return writer.renew(milliseconds{ttl}, leases_of(name, owners));
}

call downgrade(std::string_view owner, std::int64_t ttl, std::string_view name) {
  return recipes::redisson::downgrade({.name = name, .owner = owner}, milliseconds{ttl},
                                      engine::publishing::counted);
}

call force(std::string_view field, std::string_view name) {
  return recipes::redisson::force(name, engine::publishing::counted, field);
}

call quiet(call (*operation)(engine::owned, engine::release_policy), std::string_view owner) {
  return operation({.name = "rw", .owner = owner}, {.quiet = true});
}

}  // namespace holdfast::contract::rw
