#include "etcd/leases.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace holdfast::etcd {
namespace {

using namespace std::chrono_literals;
using confirmation = client_lease::confirmation;

/// Keep-alives within a ttl, as the engine's watchdog has it.
constexpr int keep_alives_per_ttl = 3;
/// Before a keep-alive without an answer is sent again, to another member.
constexpr auto shortest_wait = 500ms;
constexpr auto longest_wait = 2s;
/// Behind a stream that broke.
constexpr auto pause = 100ms;
constexpr milliseconds revoke_timeout{2'000};

/// Not in whole seconds, in which a third of two would be none.
std::chrono::nanoseconds interval_of(client_lease const& lease) noexcept {
  return std::chrono::nanoseconds{lease.ttl} / keep_alives_per_ttl;
}

}  // namespace

leases::leases(reactor::loop& loop, server& to, channel& over, std::shared_ptr<mailbox> mail,
               std::function<void(lease_ptr const&)> on_over)
    : loop_{loop}, server_{to}, channel_{over}, mail_{std::move(mail)}, on_over_{std::move(on_over)} {}

lease_ptr leases::take(std::span<std::string const> claims, std::chrono::seconds ttl) {
  for (auto const& each : all_) {
    auto const has = [&each](std::string const& claim) { return each->claims.contains(claim); };
    if (each->ttl != ttl || each->over || each->retired || std::ranges::any_of(claims, has)) continue;
    each->claims.insert(claims.begin(), claims.end());
    return each;
  }
  auto const added = std::make_shared<client_lease>(ttl);
  added->tick.set([this, weak = std::weak_ptr{added}] {
    if (auto const still = weak.lock()) look(still);
  });
  added->claims.insert(claims.begin(), claims.end());
  all_.push_back(added);
  return added;
}

bool leases::has(std::int64_t id) const noexcept {
  return std::ranges::find(all_, id, &client_lease::id) != all_.end();
}

void leases::give(client_lease& from, std::span<std::string const> claims, time_point now) noexcept {
  for (auto const& each : claims) from.claims.erase(each);
  from.used_at = now;
  if (from.retired && from.claims.empty() && !stopped_) loop_.arm(from.tick, now);
}

void leases::leave_behind(client_lease& under, std::string key) {
  under.retired = true;
  under.left_behind.push_back(std::move(key));
}

void leases::when_granted(lease_ptr const& wanted, scripting::send_options const& send,
                          client_lease::handler done) {
  if (wanted->id != 0) {
    done(nullptr);
    return;
  }
  wanted->until_granted.push_back({std::move(done), server_.last_attempt_at(send, boot_clock::now())});
  if (!std::exchange(wanted->granting, true)) grant(wanted, send);
}

void leases::grant(lease_ptr const& wanted, scripting::send_options const& send) {
  auto const until = server_.last_attempt_at(send, boot_clock::now());
  server_.grant(wanted->ttl, send, [this, wanted, until](response<lease_grant>&& answer) {
    if (answer.failure && !stopped_) {
      fail_until(wanted, until, answer);
      return;
    }
    wanted->granting = false;
    auto const fits = answer.ok() && answer.value.ttl <= wanted->ttl;
    if (answer.ok() && !fits) {
      channel_.revoke(answer.value.id, revoke_timeout, [](status const&) {});
      answer.ended = {.type = status::kind::refused,
                      .text = "etcd's shortest lease is " + std::to_string(answer.value.ttl.count()) +
                              " s there (one and a half times its election timeout), so a ttl of " +
                              std::to_string(wanted->ttl.count()) + " s isn't possible: use a longer one"};
    } else if (answer.ok()) {
      wanted->id = answer.value.id;
      wanted->alive_from = answer.sent_at;
      wanted->used_at = answer.sent_at;
      loop_.arm(wanted->tick, wanted->alive_from + interval_of(*wanted));
    }
    for (auto const& each : std::exchange(wanted->until_granted, {})) each.done(fits ? nullptr : &answer);
    if (!fits) std::erase(all_, wanted);
  });
}

/// The request was made until one of them has to give up; the others ask on for as long as they may.
void leases::fail_until(lease_ptr const& wanted, time_point until, response<lease_grant> const& answer) {
  auto& all = wanted->until_granted;
  auto const gives_up = [until](auto const& each) { return each.last_attempt_at <= until; };
  std::vector<client_lease::applicant> failed;
  std::ranges::copy_if(all, std::back_inserter(failed), gives_up);
  std::erase_if(all, gives_up);
  wanted->granting = !all.empty();
  if (wanted->granting) {
    auto const next = std::ranges::min(all, {}, &client_lease::applicant::last_attempt_at).last_attempt_at;
    grant(wanted, {.while_down = net::retry_policy::endless, .give_up = next});
  } else {
    std::erase(all_, wanted);
  }
  for (auto const& each : failed) each.done(&answer);
}

void leases::confirm(lease_ptr const& wanted, scripting::send_options const& send,
                     std::function<void(confirmation)> done) {
  if (wanted->over) {
    mail_->put([done = std::move(done)] { done(confirmation::over); });
    return;
  }
  wanted->until_alive.push_back(
      {std::move(done), server_.last_attempt_at(send, boot_clock::now(), /*sent=*/true)});
  if (wanted->asked_at == time_point{}) ask(*wanted, boot_clock::now());
}

std::shared_ptr<error const> leases::unanswered() const {
  if (auto const& reason = server_.down_because()) return reason;
  return server_.explain({.type = status::kind::unreachable, .text = "no answer to a keep-alive"});
}

std::chrono::nanoseconds leases::wait_for_answer(client_lease const& asked) noexcept {
  return std::clamp<std::chrono::nanoseconds>(interval_of(asked) / 2, shortest_wait, longest_wait);
}

void leases::ask(client_lease& about, time_point now) {
  if (stopped_ || about.id == 0) return;
  about.asked_at = now;
  about.asked = ++keep_alives_;
  channel_.keep_alive(about.id, about.asked);
  loop_.arm(about.tick, now + wait_for_answer(about));
}

void leases::on_alive(std::int64_t id, std::uint64_t number, std::chrono::seconds ttl, std::uint64_t term) {
  auto const known = std::ranges::find(all_, id, &client_lease::id);
  if (known == all_.end()) return;
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): it may leave the list meanwhile
  lease_ptr const lease{*known};
  if (ttl.count() <= 0) {
    note_over(lease);
    return;
  }
  if (lease->asked_at == time_point{} || number != lease->asked) return;
  // It would never count. After wait_for_answer() another member is asked.
  if (term < lease->newest_term) return;
  lease->newest_answer = {
      .from = std::exchange(lease->asked_at, {}), .answered_at = boot_clock::now(), .term = term};
  if (!stopped_) loop_.arm(lease->tick, lease->newest_answer.from + interval_of(*lease));
  for (auto const& each : std::exchange(lease->until_alive, {})) each.done(confirmation::alive);
}

void leases::note_majority(client_lease& under, outcome const& answer, time_point sent_at) noexcept {
  under.newest_term = std::max(under.newest_term, answer.term);
  if (answer.term == under.newest_answer.term && sent_at >= under.newest_answer.answered_at)
    under.alive_from = std::max(under.alive_from, under.newest_answer.from);
}

void leases::on_broken() {
  auto const now = boot_clock::now();
  for (auto const& each : all_) {
    if (each->asked_at == time_point{}) continue;
    each->asked_at = {};
    if (!stopped_) loop_.arm(each->tick, now + pause);
  }
}

void leases::note_over(lease_ptr const& gone) {
  if (std::exchange(gone->over, true)) return;
  gone->tick.disarm();
  std::erase(all_, gone);
  for (auto const& each : std::exchange(gone->until_alive, {})) each.done(confirmation::over);
  on_over_(gone);
}

/// From its timer.
void leases::look(lease_ptr const& at) {
  auto const now = boot_clock::now();
  if (stopped_ || at->over || at->id == 0) return;
  give_up_confirming(*at, now);
  auto const unused = at->claims.empty() && at->until_alive.empty();
  if (unused && (at->retired || now - at->used_at >= at->ttl)) {
    revoke(at);
    return;
  }
  if (at->asked_at != time_point{}) {
    channel_.go_on_to_next();  // it ends the stream: see on_broken
    loop_.arm(at->tick, now + wait_for_answer(*at));
    return;
  }
  if (!at->left_behind.empty()) sweep(at);
  ask(*at, now);
}

void leases::give_up_confirming(client_lease& at, time_point now) {
  auto const gives_up = [now](auto const& each) { return each.last_attempt_at <= now; };
  std::vector<client_lease::doubter> failed;
  std::ranges::copy_if(at.until_alive, std::back_inserter(failed), gives_up);
  std::erase_if(at.until_alive, gives_up);
  for (auto const& each : failed) each.done(confirmation::no_answer);
}

/// Whatever their values are: a release by force, or a proclamation, may have changed them.
void leases::sweep(lease_ptr const& under) {
  for (auto const& each : under->left_behind) {
    server_.transact({.then = {remove{each}}}, {.while_down = net::retry_policy::little},
                     [](response<outcome>&&) {});
  }
}

/// If that fails, it ends by itself: nothing extends it any more.
void leases::revoke(lease_ptr const& unused) {
  channel_.revoke(unused->id, revoke_timeout, [](status const&) {});
  unused->over = true;
  unused->tick.disarm();
  std::erase(all_, unused);
}

void leases::stop() {
  stopped_ = true;
  auto const all = std::exchange(all_, {});
  for (auto const& each : all) {
    each->tick.disarm();
    each->over = true;
    for (auto const& waiting : std::exchange(each->until_alive, {})) waiting.done(confirmation::over);
    // A key that is kept, or whose release isn't confirmed, stays for its ttl.
    if (each->id != 0 && each->claims.empty())
      channel_.revoke(each->id, revoke_timeout, [](status const&) {});
  }
}

}  // namespace holdfast::etcd
