// What messages bring: wake-ups, and grants.

#include <algorithm>

#include "engine/core.hpp"
#include "script/names.hpp"

namespace holdfast::engine {
namespace {

/// How much of a grant's ttl must be left for it to be used without asking.
constexpr std::chrono::milliseconds grant_reserve{500};

}  // namespace

/// Who may publish in the inbox of a lock may use that lock, and is believed about no other.
void core::on_turn(std::string const& channel, std::string_view message) {
  auto const what = read_turn(message);
  if (!what) return;
  auto const known = bids_.find(what->number);
  if (known == bids_.end()) {
    if (channel == names::inbox(uuid_, what->name)) answer_for(what->number, what->name);
    return;
  }
  auto const& at = *known->second;
  auto const own = channels_of(at, at.contender->owner);
  if (std::ranges::find(own, channel) == own.end()) return;
  if (what->grant) {
    on_grant(what->number, *what->grant);
  } else {
    on_woken(what->number);
  }
}

void core::on_woken(std::uint64_t number) {
  auto const known = bids_.find(number);
  if (known == bids_.end()) return;
  auto& at = *known->second;
  if (at.contender->current == contender::state::waiting) {
    send_acquire(at);
  } else {
    at.contender->woken = true;
  }
}

void core::on_grant(std::uint64_t number, granted const& what) {
  auto const known = bids_.find(number);
  if (known == bids_.end()) return;
  auto& at = *known->second;
  auto& mine = *at.contender;
  if (mine.current == contender::state::leaving) return;  // the request under way finds the lock to be ours
  // A grant that is newer than the answer "busy" to the last ask was made after that ask was sent, so its ttl
  // counts from there at the earliest. An older one, whose message was held up, may have ended long ago: then
  // only asking tells.
  // And where replicas have to acknowledge, only asking has them do so.
  // Of several names this is but one; of several masters, one vote. Where a replica may take over, it may be
  // a replica that says so, on what was the master a moment ago: messages are replicated, and the master,
  // which counts those who hear it itself, has gone on to the next waiter.
  auto const one_server = url_.deployment == net::deployment_url::kind::single;
  auto const certain = one_server && at.protocol().several == nullptr && !at.waiters.empty() &&
                       !at.waiters.front().options->acknowledged() && mine.asked_at != time_point{} &&
                       what.token > mine.counter &&
                       deadline_of(mine.asked_at, grant_ttl) > boot_clock::now() + grant_reserve;
  if (!certain) {
    on_woken(number);
    return;
  }
  ++stats_.granted;
  on_granted(at, what, mine.asked_at, grant_ttl);
}

/// Whatever was said before is lost, or came from a server that doesn't count any more, so look.
void core::ask_all_again() noexcept {
  for (auto next = bids_.begin(); next != bids_.end();) {
    lock_queue_ptr const at{(next++)->second};
    if (at->contender && at->contender->current == contender::state::waiting) send_acquire(*at);
  }
}

/// What the server that answers from now on knows may be older than what was acknowledged: see to it that
/// what is lost is told at once, and that nobody waits for a message of the one before.
void core::on_moved(std::string const& now) {
  log(log_level::info, [&] { return url() + ": served by " + now + " from now on"; });
  renewer_.ask_about_all();
  repeat_releases();
  ask_all_again();
}

/// The channels of one bid are (again) open: whatever was said before is lost, so look.
void core::on_open(std::uint64_t number) {
  auto const known = bids_.find(number);
  if (known == bids_.end()) return;
  known->second->contender->listening = true;
  on_woken(number);
}

void core::on_turns_refused(std::string const& channel, std::string const& words) {
  auto const of_all = channel.substr(0, channel.size() - uuid_.size()) + "*";
  fall_back_to_polling(no_inbox_, "the inbox channel " + of_all, "&" + of_all, words);
}

void core::on_channel_refused(std::string const& channel, std::string const& words) {
  fall_back_to_polling(no_broadcast_, "the channel " + channel, "&redisson_*", words);
}

/// Waiters that don't insist on messages ask again and again from now on.
void core::fall_back_to_polling(std::shared_ptr<error const>& note, std::string const& channel,
                                std::string const& pattern, std::string const& words) {
  auto const rights = pattern + (servers_->sharded() ? " and +ssubscribe +subscribe" : " and +subscribe");
  note = std::make_shared<error const>(errc::unauthorized, url() + ": the server refuses " + channel + ": " +
                                                               words + "; grant " + rights +
                                                               ", or use wake::automatic");
  if (options_.wake != wake::inbox) {
    log(log_level::warning, [&] {
      return url() + ": the server refuses " + channel + " (" + words +
             "), so waiting is by polling; grant " + rights + " to be woken instead";
    });
  }
  ask_all_again();
}

}  // namespace holdfast::engine
