#include "simulation/latch_keeper.hpp"

#include <optional>

#include "script/names.hpp"
#include "script/names_redisson.hpp"
#include "scripts/latch.hpp"
#include "scripts/redisson_latch.hpp"
#include "scripts/redisson_number.hpp"
#include "simulation/latch_judge.hpp"
#include "sync/idempotency_marks.hpp"
#include "wire/plain/latch.hpp"

namespace holdfast::simulation {

using namespace std::chrono_literals;

namespace {

constexpr int count_of_a_round = 2;

}  // namespace

latch_keeper::latch_keeper(world& shared_world, server& redis, judge& referee, process& host,
                           habits const& behaviour)
    : world_{shared_world},
      server_{redis},
      judge_{referee},
      host_{host},
      habits_{behaviour},
      name_{behaviour.wanted.names.front()},
      plain_{behaviour.wanted.lock->lock_recipe == &recipes::plain::latch},
      rounds_left_{behaviour.rounds} {}

void latch_keeper::begin(bool alone) {
  alone_ = alone;
  go_on_after(habits_.longest_pause, step::close);
}

void latch_keeper::go_on_after(nanoseconds longest, step next) {
  step_ = next;
  mark_ = host_.new_mark();
  world_.after(world_.between(0ns, longest), [this] { host_.when_undisturbed([this] { ask(); }); });
}

/// Until the server has done it. All tries have one mark, since one that was refused may have been sent
/// twice.
void latch_keeper::ask() {
  if (host_.dead()) return;
  auto const mark =
      names::redisson::done(name_, host_.core().constants().uuid + ":r" + std::to_string(mark_));
  auto const channel = names::redisson::latch_channel(name_);
  std::optional<resp::reply> reply;
  try {
    reply = host_.core()
                .requests()
                .ask(plain_ ? plain_request_for(mark) : request_for(mark, channel),
                     {.while_down = net::retry_policy::steady})
                .reply;
  } catch (error const& failure) {
    if (failure.code() == errc::closed) {
      delete_count();
      return;
    }
  }
  if (reply && !reply->is_error()) {
    on_reply(reply->integer);
  } else {
    world_.after(20ms, [this] { host_.when_undisturbed([this] { ask(); }); });
  }
}

/// The same on the plain wire.
call latch_keeper::plain_request_for(std::string const& mark) const {
  constexpr auto publish = engine::word_of(engine::publishing::counted);
  constexpr auto kept_ms = sync::idempotency_marks::kept_ms;
  auto const counted = names::counted(name_);
  auto const channel = names::inbox_of_all(name_);
  switch (step_) {
    case step::close:
      return scripts::latch::set{.latch = {name_},
                                 .counted = {counted},
                                 .done = {mark},
                                 .answered = {},
                                 .count = count_of_a_round,
                                 .open_ms = 0,
                                 .told_ms = 0,
                                 .done_ms = kept_ms}();
    case step::count_down:
      return scripts::latch::count_down{.latch = {name_},
                                        .counted = {counted},
                                        .done = {mark},
                                        .answered = {},
                                        .participant = mark,
                                        .n = 1,
                                        .publish = publish,
                                        .channel = channel,
                                        .done_ms = kept_ms}();
    case step::open:
      break;
  }
  return scripts::latch::open{.latch = {name_},
                              .counted = {counted},
                              .done = {mark},
                              .answered = {},
                              .publish = publish,
                              .channel = channel,
                              .done_ms = kept_ms}();
}

call latch_keeper::request_for(std::string const& mark, std::string const& channel) const {
  constexpr auto publish = engine::word_of(engine::publishing::counted);
  constexpr auto kept_ms = sync::idempotency_marks::kept_ms;
  switch (step_) {
    case step::close:
      return scripts::redisson_number::try_set{.counter = {name_},
                                               .done = {mark},
                                               .answered = {},
                                               .number = count_of_a_round,
                                               .message = 1,
                                               .publish = publish,
                                               .channel = channel,
                                               .done_ms = kept_ms,
                                               .description = "the count of a latch"}();
    case step::count_down:
      return scripts::redisson_latch::count_down{.counter = {name_},
                                                 .done = {mark},
                                                 .answered = {},
                                                 .n = 1,
                                                 .publish = publish,
                                                 .channel = channel,
                                                 .done_ms = kept_ms}();
    case step::open:
      break;
  }
  return scripts::redisson_latch::open{.counter = {name_},
                                       .done = {mark},
                                       .answered = {},
                                       .publish = publish,
                                       .channel = channel,
                                       .done_ms = kept_ms}();
}

/// A count that another keeper has set is counted down once, so that the two get in each other's way.
void latch_keeper::on_reply(std::int64_t reply) {
  if (step_ == step::open) {
    done_ = true;
    return;
  }
  if (step_ == step::close) {
    to_count_ = reply == 1 ? count_of_a_round : 1;
  } else {
    --to_count_;
  }
  expect_count(to_count_);
  if (to_count_ != 0) {
    go_on_after(habits_.longest_hold, step::count_down);
  } else {
    go_on_after(habits_.longest_pause, --rounds_left_ > 0 ? step::close : step::open);
  }
}

void latch_keeper::expect_count(std::int64_t count) {
  auto const found = count_of_latch(server_.data().text_of(name_));
  if (alone_ && found != count)
    judge_.fail("the count of \"" + name_ + "\" is " + std::to_string(found) + ", not " +
                std::to_string(count));
}

void latch_keeper::delete_count() {
  (void)server_.execute({"DEL", name_, names::counted(name_)});
  done_ = true;
}

void latch_keeper::bury() {
  if (host_.dead()) delete_count();
}

}  // namespace holdfast::simulation
