// How a lease ends whose key stays: kept to its ttl, or to another one.

#include <algorithm>
#include <new>
#include <utility>

#include "engine/core.hpp"

namespace holdfast::engine {

/// Without giving the lock back. To others, those of this process too, it is busy until its ttl is over.
void core::keep(held& what, std::optional<milliseconds> left, release_handler done) noexcept {
  held_ptr const pin{&what};
  line_ptr const at{&what.place()};
  if (what.drop_handle()) {  // the last one decides
    if (done) done(what.now() == held::state::held ? release_result::kept : release_result::lost);
    return;
  }
  if (what.now() != held::state::held) {
    if (done) done(release_result::lost);
    return;
  }
  (void)finish_here(what);
  note_left_key(what, left.value_or(milliseconds{0}));
  leave_key(what, left, std::move(done));
  if (!at->waiters.empty() && !at->on_wire) begin_bid(*at);
}

/// A key that is to have another ttl, its last one.
struct core::leaving {
  held_ptr what;
  time_point until;
  release_handler done;
};

/// To its ttl, or to one of `left`.
void core::leave_key(held& what, std::optional<milliseconds> left, release_handler done) noexcept {
  if (!left && what.provisional) left = what.options().ttl;
  auto const until = left ? boot_clock::now() + *left : time_point::max();
  if (auto const late = outrun_.find(what.number()); late != outrun_.end()) late->second = until;
  presence_.stay_until(left ? until : what.deadline());
  if (!left) {
    if (done) done(release_result::kept);
    return;
  }
  std::shared_ptr<leaving> mine;
  try {
    mine = std::make_shared<leaving>();
    *mine = {.what = held_ptr{&what}, .until = until, .done = std::move(done)};
    what.when_settled([this, mine] { set_last_ttl(mine); });
  } catch (std::bad_alloc const&) {
    if (mine) {
      last_ttl_unconfirmed(*mine, no_memory_->what());
    } else if (done) {
      done(release_result::unknown);
    }
  }
}

/// A renewal that is the last one, and may be shorter than what is left.
void core::set_last_ttl(std::shared_ptr<leaving> const& mine) noexcept try {
  auto const& what = *mine->what;
  auto const left = std::max(std::chrono::ceil<milliseconds>(mine->until - boot_clock::now()), milliseconds{1});
  auto const owner = owner_id(what.number());
  servers_->set_ttl(
      what.place().how(), left, {.name = what.place().name(), .owner = owner},
      [this, mine](net::answer&& answer) { on_last_ttl(*mine, answer); },
      {.while_down = net::patience::endless, .give_up = what.deadline()});
} catch (std::bad_alloc const&) {
  last_ttl_unconfirmed(*mine, no_memory_->what());
}

void core::on_last_ttl(leaving& mine, net::answer const& answer) noexcept try {
  if (answer.failure || !answer.reply.is_array()) {
    last_ttl_unconfirmed(mine, answer.failure ? answer.failure->what() : std::string_view{answer.reply.text});
    return;
  }
  auto const lost = !mine.what->place().how().read_renew(answer.reply).empty();
  if (mine.done) std::exchange(mine.done, {})(lost ? release_result::lost : release_result::kept);
} catch (std::bad_alloc const&) {
  last_ttl_unconfirmed(mine, no_memory_->what());
}

void core::last_ttl_unconfirmed(leaving& mine, std::string_view why) noexcept {
  log(log_level::warning, [&] {
    return "the last ttl of " + mine.what->place().title() + " is not confirmed: " + std::string{why} +
           "; it keeps the one it has";
  });
  if (mine.done) std::exchange(mine.done, {})(release_result::unknown);
}

}  // namespace holdfast::engine
