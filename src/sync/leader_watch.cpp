#include "sync/leader_watch.hpp"

#include <algorithm>
#include <utility>

#include "base/whole_number.hpp"
#include "engine/presence.hpp"
#include "engine/record.hpp"
#include "script/names.hpp"
#include "scripts/inspect.hpp"
#include "wire/plain/election.hpp"

namespace holdfast::sync {
namespace {

/// Redis counts in whole milliseconds.
constexpr milliseconds behind_the_end{2};

}  // namespace

leader_look read_leader(resp::reply const& reply) {
  if (reply.size() == 0) return {};
  leader_look look{.pttl = milliseconds{reply[0].integer}};
  if (reply.size() < 4) return look;
  auto const term = whole_number(reply[2].text);
  if (!term) return look;
  look.leader = seen_leader{.owner = reply[1].text, .term = *term, .value = reply[3].text};
  return look;
}

leader_look read_leader(etcd::viewer::leading&& found) {
  leader_look look{.pttl = found.left};
  if (found.leads)
    look.leader =
        seen_leader{.owner = std::move(found.owner), .term = found.term, .value = std::move(found.value)};
  return look;
}

/// The answer is read in on_answer(), where there may be no memory.
void leader_watch::ask(engine::lock_backend& backend, callback<void()> answered) {
  if (auto* const view = backend.viewer()) {
    view->read_leader(name_, [this, done = std::make_shared<callback<void()>>(std::move(answered))](
                                 std::shared_ptr<error const> const& failure, etcd::viewer::leading found) {
      auto const no_lock = failure && failure->code() == errc::wrong_type;
      seen_.reset();
      if (!failure) seen_ = read_leader(std::move(found));
      if (no_lock) seen_.emplace();
      (*done)();
    });
    return;
  }
  auto const asks_name = naming_;
  std::string const record =
      asks_name ? names::client_record(engine::uuid_of(reports_.last()->owner)) : std::string{};
  backend.run(asks_name ? scripts::inspect::record{.record = {record}}() : recipes::plain::read_leader(name_),
              [this, done = std::move(answered)](net::response&& response) mutable {
                answer_ = std::move(response);
                done();
              });
  asked_name_ = asks_name;
}

time_point leader_watch::on_answer(time_point now) {
  if (!asked_name_) return on_look(now);
  if (naming_) {
    naming_ = false;
    auto const& owner = reports_.last()->owner;
    process_ = answer_.failure || answer_.reply.is_error() ? process_info{.owner = owner}
                                                           : engine::read_record(owner, answer_.reply);
    tell();
  }
  return next_look_;
}

/// Nullopt: the server doesn't say. A key that is no lock has no leader.
std::optional<leader_look> leader_watch::latest_look() {
  if (core_.constants().deployment.etcd) return seen_;
  if (answer_.reply.is_error("WRONGTYPE")) return leader_look{};
  if (answer_.failure || answer_.reply.is_error()) return std::nullopt;
  return read_leader(answer_.reply);
}

time_point leader_watch::on_look(time_point now) {
  auto const& times = core_.constants().options;
  next_look_ = now + times.recheck;
  auto look = latest_look();
  if (!look) return next_look_;
  auto const held_for_a_time = look->pttl.count() >= 0;
  if (held_for_a_time) next_look_ = std::min<time_point>(next_look_, now + look->pttl + behind_the_end);
  counts_until_ =
      look->leader && held_for_a_time ? now + look->pttl + times.reply_timeout : time_point::max();
  if (reports_.look(std::move(look->leader))) untold_ = true;
  if (!untold_) return next_look_;
  auto const& leader = reports_.last();
  naming_ = leader && !known(leader->owner);
  if (naming_) return now;
  tell();
  return next_look_;
}

/// The process of that owner is that of the last leader, or this one, or can't be known.
bool leader_watch::known(std::string_view owner) const {
  auto const uuid = engine::uuid_of(owner);
  return uuid.empty() || uuid == core_.constants().uuid ||
         (!process_.host.empty() && uuid == engine::uuid_of(process_.owner));
}

void leader_watch::on_outdated(time_point /*now*/) {
  counts_until_ = time_point::max();
  naming_ = false;
  if (reports_.look(std::nullopt)) untold_ = true;
  if (untold_) tell();
}

void leader_watch::tell() {
  std::optional<leader_info> info;
  if (auto const& leader = reports_.last()) {
    auto const uuid = engine::uuid_of(leader->owner);
    if (uuid == core_.constants().uuid) {
      process_ = engine::describe_self(core_.constants().options.label);
    } else if (uuid != engine::uuid_of(process_.owner)) {
      process_ = {};
    }
    process_.owner = leader->owner;
    info = leader_info{.value = leader->value, .term = leader->term, .process = process_};
  }
  std::lock_guard const hold{mutex_};
  news_.push_back(std::move(info));
  untold_ = false;
}

bool leader_watch::has_news() const noexcept {
  std::lock_guard const hold{mutex_};
  return !news_.empty();
}

/// A thread that finds another thread in the handler leaves the news to it.
void leader_watch::deliver() {
  std::unique_lock hold{mutex_};
  if (calling_ != std::thread::id{}) return;
  struct finished {
    leader_watch& watch;
    ~finished() {
      watch.calling_ = {};
      watch.over_.notify_all();
    }
  };
  finished const at_end{*this};
  calling_ = std::this_thread::get_id();
  while (!stopped_ && !news_.empty()) {
    auto const next = std::move(news_.front());
    news_.pop_front();
    hold.unlock();
    try {
      handler_(next);
    } catch (...) {
      hold.lock();
      throw;
    }
    hold.lock();
  }
}

void leader_watch::stop() noexcept {
  std::unique_lock hold{mutex_};
  stopped_ = true;
  auto const me = std::this_thread::get_id();
  over_.wait(hold, [&] { return calling_ == std::thread::id{} || calling_ == me; });
}

}  // namespace holdfast::sync
