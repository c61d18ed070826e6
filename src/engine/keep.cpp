// How a lease ends whose key stays: kept to its ttl, or to another one.

#include <algorithm>
#include <new>
#include <utility>

#include "engine/core.hpp"

namespace holdfast::engine {

/// Without giving the lock back. To others, those of this process too, it is busy until its ttl is over.
void core::keep(lease_state& what, std::optional<milliseconds> left, release_handler done) noexcept {
  lease_state_ptr const pin{&what};
  lock_queue_ptr const at{&what.queue()};
  if (what.drop_handle()) {  // the last one decides
    if (done) done(what.status() == lease_state::state::held ? release_result::kept : release_result::lost);
    return;
  }
  if (what.status() != lease_state::state::held) {
    if (done) done(release_result::lost);
    return;
  }
  (void)finish_here(what);
  note_left_key(what, left.value_or(milliseconds{0}));
  leave_key(what, left, std::move(done));
  if (!at->waiters.empty() && !at->contender) begin_contending(*at);
}

/// An answer that comes late undoes nothing that is kept.
void core::stay_behind_answer(std::uint64_t number, time_point until) noexcept {
  if (auto const late = outrun_.find(number); late != outrun_.end()) late->second = until;
}

/// A key that is to have another ttl, its last one, and who wants to hear of that.
struct core::leaving {
  leaving(lease_state const& lease, time_point when) : what{&lease}, until{when} {}

  void tell(release_result how) noexcept {
    if (done) std::exchange(done, {})(how);
  }

  boost::intrusive_ptr<lease_state const> what;
  time_point until;
  release_handler done{};
};

/// To its ttl, or to one of `left`.
void core::leave_key(lease_state& what, std::optional<milliseconds> left, release_handler done) noexcept {
  if (!left && what.provisional) left = what.options().ttl;
  auto const until = left ? boot_clock::now() + *left : time_point::max();
  stay_behind_answer(what.number(), until);
  presence_.stay_until(left ? until : what.deadline());
  if (!left) {
    if (done) done(release_result::kept);
    return;
  }
  std::shared_ptr<leaving> mine;
  try {
    mine = std::make_shared<leaving>(what, until);
    mine->done = std::move(done);
    what.when_settled([this, mine] { set_last_ttl(mine); });
  } catch (std::bad_alloc const&) {
    owe_last_ttl(what.queue(), what.number(), until, what.deadline());
    if (mine) {
      mine->tell(release_result::unknown);
    } else if (done) {
      done(release_result::unknown);
    }
  }
}

/// A renewal that is the last one, and may be shorter than what is left.
void core::set_last_ttl(std::shared_ptr<leaving> const& mine) noexcept {
  auto const& what = *mine->what;
  try {
    send_last_ttl(what.queue(), what.number(), mine->until, what.deadline(),
                  [this, mine](net::response&& answer) { on_last_ttl(*mine, answer); });
  } catch (std::bad_alloc const&) {
    owe_last_ttl(what.queue(), what.number(), mine->until, what.deadline());
    mine->tell(release_result::unknown);
  }
}

/// Nobody waits for the outcome any more.
void core::set_last_ttl(lock_queue& at, std::uint64_t number, time_point until,
                        time_point deadline) noexcept {
  try {
    send_last_ttl(at, number, until, deadline, {});
  } catch (std::bad_alloc const&) {
    owe_last_ttl(at, number, until, deadline);
  }
}

void core::send_last_ttl(lock_queue& at, std::uint64_t number, time_point until, time_point give_up,
                         lock_backend::handler done) {
  auto const left = std::max(std::chrono::ceil<milliseconds>(until - boot_clock::now()), milliseconds{1});
  auto const owner = owner_id(number);
  servers_->set_ttl(at.protocol(), left, {.name = at.name(), .owner = owner}, std::move(done),
                    {.while_down = net::retry_policy::endless, .give_up = give_up});
}

void core::owe_last_ttl(lock_queue& at, std::uint64_t number, time_point until,
                        time_point deadline) noexcept {
  owe({.place = lock_queue_ptr{&at},
       .number = number,
       .what = owed::kind::last_ttl,
       .how = {},
       .until = deadline,
       .kept_until = until});
}

void core::on_last_ttl(leaving& mine, net::response const& answer) noexcept {
  auto const& at = mine.what->queue();
  if (answer.failure || !answer.reply.is_array()) {
    log(log_level::warning, [&] {
      return "the last ttl of " + at.title() +
             " is not confirmed: " + (answer.failure ? answer.failure->what() : answer.reply.text) +
             "; it keeps the one it has";
    });
    mine.tell(release_result::unknown);
    return;
  }
  try {
    mine.tell(at.protocol().read_renew(answer.reply).empty() ? release_result::kept : release_result::lost);
  } catch (std::bad_alloc const&) {
    mine.tell(release_result::unknown);
  }
}

}  // namespace holdfast::engine
