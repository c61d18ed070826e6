#include "etcd/backend.hpp"

#include <algorithm>
#include <utility>

#include "base/whole_number.hpp"
#include "etcd/keys.hpp"
#include "resp/make_reply.hpp"
#include "script/names.hpp"

namespace holdfast::etcd {
namespace {

using namespace std::chrono_literals;

/// Whoever holds a lock for longer than that hears at once that its key was deleted, or is wanted back.
constexpr auto short_work = 500ms;

constexpr std::string_view ping{"*1\r\n$4\r\nPING\r\n"};

}  // namespace

backend::backend(reactor::loop& loop, engine::client_constants const& client, client_stats& counts,
                 std::string prefix, settings const& to, topology::events handlers)
    : lock_backend{client.no_memory},
      loop_{loop},
      client_{client},
      prefix_{std::move(prefix)},
      events_{std::move(handlers)},
      mail_{std::make_shared<mailbox>(loop)},
      channel_{open(
          to,
          {.alive =
               [this, mail = mail_](std::int64_t lease, std::chrono::seconds ttl, std::uint64_t term) {
                 mail->put([this, lease, ttl, term] { leases_.on_alive(lease, ttl, term); });
               },
           .keep_alive_broken =
               [this, mail = mail_](status const& /*ended*/) { mail->put([this] { leases_.on_broken(); }); },
           .deleted =
               [this, mail = mail_](std::uint64_t watch) { mail->put([this, watch] { on_deleted(watch); }); },
           .changed =
               [this, mail = mail_](std::uint64_t watch) { mail->put([this, watch] { on_changed(watch); }); },
           .watch_over = [this, mail = mail_](
                             std::uint64_t watch) { mail->put([this, watch] { on_watch_over(watch); }); }},
          client.url)},
      server_{loop, client, counts, prefix_, mail_, *channel_},
      leases_{loop, server_, *channel_, mail_, [this](lease_ptr const& gone) { on_lease_over(gone); }},
      viewing_{server_, prefix_, client.uuid, client.options.label,
               [this](std::string const& name, std::string const& first, std::int64_t revision) {
                 observe(name, first, revision);
               }} {
  wake_all_.set([this] {
    tell_all_observers();
    auto const all = places_;
    for (auto const& [owner, each] : all) {
      if (!each->held && each->watch == 0 && each->lease) wake(*each);
    }
    // Each renewal watches anew.
    if (std::exchange(holders_unwatched_, false) && events_.broken) events_.broken();
  });
}

backend::~backend() { mail_->close(); }

void backend::shut(std::shared_ptr<error const> const& reason) {
  listeners_.clear();
  server_.refuse(reason);
  leases_.stop();
  server_.fail_all();
  mail_->close();
  for (auto const& [owner, each] : places_) {
    each->watching.disarm();
    each->end.disarm();
  }
  wake_all_.disarm();
}

place_ptr backend::find(std::string_view owner) const {
  auto const known = places_.find(owner);
  return known == places_.end() ? nullptr : known->second;
}

place_ptr backend::at(engine::recipe const& lock_recipe, std::string_view name,
                      engine::acquire_request const& request) {
  auto& known = places_[std::string{request.owner}];
  if (known == nullptr) {
    known = std::make_shared<place>();
    known->owner = request.owner;
    known->name = name;
    known->reads = lock_recipe.sharing == engine::sharing::shared;
    // A lock has no slash in its name.
    known->claim = known->reads ? known->name + '/' + known->owner : known->name;
    known->value =
        request.value ? std::string{*request.value} : keys::value(request.owner, client_.options.label);
  }
  return known;
}

/// Each step calls go_on() when it has ended.
void backend::enqueue(place_ptr const& of, callback<void()> step) {
  if (std::exchange(of->busy, true)) {
    of->next.push_back(std::move(step));
  } else {
    step();
  }
}

void backend::go_on(place_ptr const& of) {
  if (of->next.empty()) {
    of->busy = false;
    return;
  }
  auto const step = std::make_shared<callback<void()>>(std::move(of->next.front()));
  of->next.pop_front();
  (*step)();
}

void backend::send(net::request&& request) {
  auto done = std::move(request.done);
  if (request.bytes != ping) {
    if (!done) return;
    later([done = std::move(done)]() mutable {
      done({.reply = resp::make_error(
                "ERR etcd has no commands of Redis: that isn't possible there (docs/etcd.md)")});
    });
    return;
  }
  auto const key = prefix_ + "holdfast";
  server_.transact(
      {.then = {range{.key = key}}}, {.while_down = request.while_down, .give_up = request.give_up},
      [this, done = std::make_shared<decltype(done)>(std::move(done))](response<outcome>&& answer) {
        if (!*done) return;
        net::response result{.sent_at = answer.sent_at, .sent = answer.sent};
        if (answer.ok()) {
          result.reply = resp::make_text("PONG");
        } else {
          result.failure = answer.failure ? answer.failure : server_.explain(answer.ended);
        }
        (*done)(std::move(result));
      });
}

void backend::listen(std::string const& channel, topology::channel_of /*owner*/,
                     net::subscriber::listener& listener) {
  auto const [known, added] = listeners_.insert_or_assign(channel, &listener);
  if (added) listener.on_subscribed();
}

void backend::forget(std::string_view channel) {
  if (auto const known = listeners_.find(channel); known != listeners_.end()) listeners_.erase(known);
  stop_observing(channel);
}

void backend::watch(place& of, std::string const& key, std::int64_t from_revision) {
  if (of.watch != 0 && of.watched == key) return;
  unwatch(of);
  of.watch = ++last_watch_;
  of.watched = key;
  watches_.emplace(of.watch, find(of.owner));
  using enum channel::interest;
  channel_->watch(of.watch, key, {}, from_revision, key == of.key ? all_changes : deletion);
}

/// Not from the revision of the key on, if that is long ago: it may have been compacted.
void backend::watch_own(place& of) {
  of.watching.disarm();
  watch(of, of.key, std::max(of.revision, of.seen) + 1);
}

void backend::unwatch(place& of) {
  if (of.watch == 0) return;
  watches_.erase(of.watch);
  channel_->unwatch(std::exchange(of.watch, 0));
}

/// Tells the engine, as a message of Redis would.
void backend::wake(place const& of) {
  auto const colon = of.owner.rfind(':');
  tell(names::inbox(std::string_view{of.owner}.substr(0, colon), of.name),
       "woken " + of.owner.substr(colon + 1) + ' ' + of.name);
}

void backend::tell(std::string const& channel, std::string const& message) {
  auto const known = listeners_.find(channel);
  if (known == listeners_.end()) return;  // it asks from time to time
  known->second->on_message(message);
}

void backend::on_deleted(std::uint64_t watch) {
  if (tell_observers(watch, true)) return;
  auto const known = watches_.extract(watch);
  if (!known) return;
  auto const& of = known.mapped();
  of->watch = 0;
  if (!of->held) {
    wake(*of);
  } else if (events_.broken) {
    events_.broken();  // the engine asks about its leases
  }
}

/// Somebody has changed the value of a holder's key, perhaps to ask for the lock: see find_petition.
void backend::on_changed(std::uint64_t watch) {
  if (tell_observers(watch, false)) return;
  auto const known = watches_.find(watch);
  if (known == watches_.end() || !known->second->held) return;
  auto const& owner = known->second->owner;
  tell(names::hints(client_.uuid), "asked " + owner.substr(owner.rfind(':') + 1));
}

void backend::on_watch_over(std::uint64_t watch) {
  if (auto const known = watches_.extract(watch)) {
    known.mapped()->watch = 0;
    holders_unwatched_ = holders_unwatched_ || known.mapped()->held;
  } else if (!forget_observed(watch)) {
    return;
  }
  look_again_soon();
}

/// Its keys are gone. Waiters get in line again; holders hear of it by their next renewal, which follows at
/// once.
void backend::on_lease_over(lease_ptr const& gone) {
  auto const all = places_;
  for (auto const& [owner, each] : all) {
    if (each->lease != gone) continue;
    unwatch(*each);
    if (!each->held) wake(*each);
  }
  if (events_.broken) events_.broken();
}

/// The client keeps a lease alive for all its keys: one that the engine has given up has to go all the same.
void backend::hold(place_ptr const& of, milliseconds ttl) {
  of->held = true;
  of->end.set([this, weak = std::weak_ptr{of}] {
    auto const still = weak.lock();
    if (still && still->held) give_back(still, {.while_down = net::retry_policy::endless}, {});
  });
  auto const now = boot_clock::now();
  loop_.arm(of->end, now + ttl);
  if (of->watch != 0 && of->watched == of->key) return;
  of->watching.set([this, weak = std::weak_ptr{of}] {
    auto const still = weak.lock();
    if (still && still->held && still->revision != 0) watch_own(*still);
  });
  loop_.arm(of->watching, now + short_work);
}

time_point backend::alive_since(place const& of, milliseconds ttl) const noexcept {
  auto const more = std::max<std::chrono::nanoseconds>(ttl - of.lease->ttl, 0ns);
  return of.lease->alive_from - more;
}

void backend::drop(place_ptr const& of) noexcept {
  of->watching.disarm();
  of->end.disarm();
  unwatch(*of);
  if (of->lease) leases_.give(*of->lease, of->claim, boot_clock::now());
  of->lease.reset();
  of->key.clear();
  of->revision = 0;
  of->seen = 0;
  of->held = false;
  of->unsure = false;
  if (of->next.empty()) {
    if (auto const known = places_.find(of->owner); known != places_.end() && known->second == of)
      places_.erase(known);
  }
}

void backend::leave_behind(place& of) {
  if (of.lease && !of.lease->over && !of.key.empty()) leases::leave_behind(*of.lease, of.key);
}

}  // namespace holdfast::etcd
