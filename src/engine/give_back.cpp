// What the server has of ours, and nobody wants any more: given back, until it says that it is.

#include <algorithm>
#include <new>
#include <utility>

#include "engine/core.hpp"
#include "engine/failure.hpp"

namespace holdfast::engine {
namespace {

/// Before a refused release is sent again.
constexpr std::chrono::milliseconds release_pause{25};
constexpr std::chrono::milliseconds refused_release_pause{500};

/// Fewer leases than that are given back one by one: those who wait for them hear of it in one round trip.
constexpr std::size_t worth_a_batch = 16;

/// How long a request that cleans up stays worth sending: the queue of a lock nobody asks for is gone by
/// then.
constexpr std::chrono::minutes traces_last{1};

}  // namespace

core::giving_back::giving_back(lease_state const& what, release_policy terms)
    : queue{&what.queue()}, number{what.number()}, policy{terms}, deadline{what.deadline()} {}

struct core::release_under_way {
  release_under_way(giving_back const& of, release_handler then) : what{of}, done{std::move(then)} {}

  void tell(release_result how) {
    if (done) std::exchange(done, {})(what.lost ? release_result::lost : how);
  }

  giving_back what;
  release_handler done;
};

/// Without memory for it now, it is sent a little later, and the caller hears that nothing is known.
void core::send_release(giving_back const& what, release_handler done) noexcept {
  std::shared_ptr<release_under_way> mine;
  try {
    mine = std::make_shared<release_under_way>(what, std::move(done));
    send_release(mine);
  } catch (std::bad_alloc const&) {
    owe({.place = what.queue,
         .number = what.number,
         .what = owed::kind::release,
         .how = what.policy,
         .until = what.deadline});
    if (mine) {
      mine->tell(release_result::unknown);
    } else if (done) {
      done(what.lost ? release_result::lost : release_result::unknown);
    }
  }
}

void core::send_release(std::shared_ptr<release_under_way> const& mine) {
  auto const& what = mine->what;
  auto& at = *what.queue;
  auto const owner = owner_id(what.number);
  ++releasing_;
  at.releasing = what.number;
  try {
    servers_->release(at.protocol(), {.name = at.name(), .owner = owner}, what.policy,
                      [this, mine](net::response&& answer) { on_released(mine, answer); },
                      {.while_down = net::retry_policy::endless, .give_up = what.deadline});
  } catch (...) {
    --releasing_;
    if (at.releasing == what.number) at.releasing = 0;
    throw;
  }
}

void core::on_released(std::shared_ptr<release_under_way> const& mine, net::response const& answer) noexcept {
  auto const& what = mine->what;
  auto& at = *what.queue;
  if (at.releasing == what.number) at.releasing = 0;
  --releasing_;
  if (answer.reply.is_integer()) {
    // Sent twice, and not ours the second time: the first one did it; or what cleared a ghost away.
    auto const ours = at.protocol().read_release(answer.reply) == ownership::mine || answer.resent ||
                      departed_.take_cleared(what.number);
    if (ours) note_released(what);
    mine->tell(ours ? release_result::released : release_result::lost);
    return;
  }
  auto const now = boot_clock::now();
  if (answer.failure || now >= what.deadline) {
    if (!told_unreleased_) {
      log(log_level::warning, [&] {
        return "release of " + at.title() +
               " is not confirmed: " + (answer.failure ? answer.failure->what() : answer.reply.text) +
               "; the lock is free at the end of its ttl at the latest";
      });
    }
    mine->tell(release_result::unknown);
    return;
  }
  // The server is there and refuses: an error that passes is waited out, of any other the caller hears now;
  // both are tried again until the lease is over anyway.
  auto pause = release_pause;
  if (!passes(answer.reply)) {
    pause = refused_release_pause;
    log(log_level::warning, [&] { return std::string{explain(answer.reply, at, url())->what()}; });
    mine->tell(release_result::unknown);
  }
  try {
    later(std::min(now + pause, what.deadline), [this, mine] {
      --releasing_;
      send_release(mine->what, std::move(mine->done));
    });
    ++releasing_;
  } catch (std::bad_alloc const&) {
    send_release(what, std::move(mine->done));
  }
}

/// At the end of the client, which may have very many; they are lost already. One by one, but in the same
/// write, those that somebody waits for.
void core::release_together(batches::leases those) noexcept {
  if (those.size() >= worth_a_batch) {
    std::shared_ptr<batches::leases> mine;
    try {
      mine = std::make_shared<batches::leases>();
      mine->swap(those);
      send_releases(mine);
      return;
    } catch (std::bad_alloc const&) {
      if (mine) those.swap(*mine);
    }
  }
  for (auto const& one : those) send_release({*one, terms_of(one->options())}, {});
}

void core::send_releases(std::shared_ptr<batches::leases> const& those) {
  std::vector<std::string> owners;
  std::vector<owned> list;
  owners.reserve(those->size());
  list.reserve(those->size());
  auto give_up = time_point::min();
  for (auto const& one : *those) {
    owners.push_back(owner_id(one->number()));
    list.push_back({.name = one->queue().name(), .owner = owners.back()});
    give_up = std::max(give_up, one->deadline());
  }
  auto const& how = those->front()->queue().protocol();
  servers_->run(how.release_unwanted(list),
                [this, those](net::response&& answer) {
                  if (answer.failure) return;  // the client has ended meanwhile
                  releasing_ -= those->size();
                  on_released_together(*those, answer.reply);
                },
                {.while_down = net::retry_policy::endless, .give_up = give_up, .divisible = true});
  releasing_ += those->size();
}

/// Those that somebody waits for are left to be released.
void core::on_released_together(batches::leases const& those, resp::reply const& reply) noexcept {
  std::vector<std::size_t> wanted;
  auto understood = reply.is_array();
  try {
    if (understood) wanted = those.front()->queue().protocol().read_wanted(reply);
    std::ranges::sort(wanted);
  } catch (std::bad_alloc const&) {
    understood = false;
  }
  auto next = wanted.begin();
  for (std::size_t i = 0; i != those.size(); ++i) {
    auto const is_wanted = next != wanted.end() && *next == i;
    if (is_wanted) ++next;
    if (!understood || is_wanted) {
      send_release({*those[i], terms_of(those[i]->options())}, {});
    } else {
      ++stats_.released;
    }
  }
}

void core::note_released(giving_back const& what) noexcept {
  ++stats_.released;
  departed_.note_release(what.queue->protocol(), what.queue->name(), what.number, what.policy, what.deadline);
}

/// As whom the server may know it by now.
void core::release_as(lock_queue& at, lease_state const& what) noexcept {
  giving_back back{what, terms_of(what.options())};
  back.queue = lock_queue_ptr{&at};
  send_release(back, {});
}

/// What is left of an acquisition that nobody waits for any more.
void core::abandon(lock_queue& at, std::uint64_t number, release_policy how) noexcept {
  if (at.protocol().abandon == nullptr) return;
  auto const until = boot_clock::now() + traces_last;
  try {
    auto const owner = owner_id(number);
    servers_->abandon(at.protocol(), {.name = at.name(), .owner = owner}, how,
                      {.while_down = net::retry_policy::endless, .give_up = until});
  } catch (std::bad_alloc const&) {
    owe({.place = lock_queue_ptr{&at},
         .number = number,
         .what = owed::kind::abandon,
         .how = how,
         .until = until});
  }
}

/// Once, at `when`.
void core::later(time_point when, callback<void()> f) {
  auto const place = delayed_.emplace(delayed_.end());
  place->what = std::move(f);
  place->bell.set([this, place] {
    auto now = std::move(place->what);
    delayed_.erase(place);
    now();
  });
  loop_.arm(place->bell, when);
}

}  // namespace holdfast::engine
