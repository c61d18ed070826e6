#include "etcd/latching.hpp"

#include <algorithm>
#include <holdfast/error.hpp>
#include <span>
#include <utility>

#include "etcd/keys.hpp"

namespace holdfast::etcd {
namespace {

/// How long a latch whose time is over says so.
constexpr std::chrono::seconds told = std::chrono::weeks{1};
/// Longer than a request is sent again and again. It is revoked as soon as there is an answer.
constexpr std::chrono::seconds longest_ticket{60};
constexpr milliseconds revoke_timeout{2'000};

}  // namespace

std::string latching::next_request() { return client_.uuid + ":r" + std::to_string(++requests_); }

void latching::read(
    std::string const& name,
    std::function<void(std::shared_ptr<error const>, latch_reading const&, std::int64_t revision)> found,
    scripting::send_options const& send) {
  transaction request;
  latch_reading::ask(request.then, keys::folder(prefix_, name));
  server_.transact(
      std::move(request), send, [this, name, found = std::move(found)](response<outcome>&& answer) {
        if (!answer.ok()) answer.value.answers.assign(latch_reading::answers, {});
        latch_reading const seen{keys::folder(prefix_, name), answer.value.answers};
        auto failure = server_.failure_of(answer);
        if (!failure && !seen.misfit.empty()) {
          failure = std::make_shared<error const>(errc::wrong_type, client_.url + ": below \"" + name +
                                                                        "\" there is " + seen.misfit +
                                                                        ", so it can't be a latch; choose "
                                                                        "another name");
        }
        found(std::move(failure), seen, answer.value.revision);
      });
}

std::shared_ptr<error const> latching::expired(std::string const& name, latch_reading const& seen) const {
  return std::make_shared<error const>(
      errc::expired, client_.url + ": the time of the latch \"" + name +
                         "\" is over: it was still to be counted " + std::to_string(seen.left) +
                         " times of " + std::to_string(seen.of) + "; set it anew, or open it");
}

std::shared_ptr<error const> latching::unknown(std::string const& name) const {
  return std::make_shared<error const>(
      errc::unreachable, client_.url + ": it isn't known whether the latch \"" + name +
                             "\" was counted down: a request got no answer, and it was set anew since");
}

/// They go together, or some that count would be those of the next latch. What says that a request has set it
/// stays: see `put`.
void latching::remove_all(std::string const& name, std::string const& text, handler<bool> done) {
  auto const folder = keys::folder(prefix_, name);
  auto const latch = keys::latch_of(folder);
  auto const counted = keys::counted_of(folder);
  server_.transact({.when = {{.key = latch, .equals = text}},
                    .then = {remove{.key = latch}, remove{.key = keys::latch_time_of(folder)},
                             remove{.key = counted, .end = keys::end_of(counted)}}},
                   {}, [this, done = std::move(done)](response<outcome>&& answer) {
                     done(server_.failure_of(answer),
                          answer.ok() && (answer.value.succeeded || answer.resent));
                   });
}

struct latching::wait_under_way {
  place_ptr waiter{};
  bool join = false;
  waiting_handler done{};
  time_point sent_at{};
};

void latching::wait(engine::recipe const& lock_recipe, std::string_view name,
                    engine::acquire_request const& request, waiting_handler done,
                    scripting::send_options const& send) {
  auto const asked = std::make_shared<wait_under_way>();
  asked->waiter = places_.find_or_add(lock_recipe, name, request);
  asked->join = request.join;
  asked->done = std::move(done);
  asked->waiter->enqueue([this, asked, send] {
    asked->sent_at = boot_clock::now();
    read(
        asked->waiter->name(),
        [this, asked](std::shared_ptr<error const> const& failure, latch_reading const& seen,
                      std::int64_t revision) { on_waited(asked, failure, seen, revision); },
        send);
  });
}

/// Whoever counts last removes the latch. If it died before that, its key says that it is open.
void latching::on_waited(std::shared_ptr<wait_under_way> const& asked,
                         std::shared_ptr<error const> const& failure, latch_reading const& seen,
                         std::int64_t revision) {
  auto const waiter = asked->waiter;
  engine::answer<engine::verdict> result{.sent_at = asked->sent_at};
  auto waits = false;
  if (failure) {
    result.content = engine::failed{.reason = failure};
  } else if (seen.open()) {
    result.content = engine::granted{};
  } else if (seen.over) {
    result.content = engine::failed{.reason = expired(waiter->name(), seen)};
  } else {
    result.content = engine::busy{.pttl = milliseconds{-2}, .counter = seen.left};
    waits = asked->join;
  }
  if (waits) {
    auto const folder = keys::folder(prefix_, waiter->name());
    std::vector<std::string> ends;
    if (seen.ends) ends.push_back(keys::latch_time_of(folder));
    watching_.watch_all(waiter, ends, keys::latch_of(folder), revision + 1);
  } else {
    watching_.unwatch(*waiter);
  }
  asked->done(std::move(result));
  if (!waits && !waiter->has_more_steps()) places_.drop(waiter);
  waiter->end_step();
}

void latching::count(std::string const& name, handler<std::int64_t> done) {
  read(name, [this, name, done = std::move(done)](std::shared_ptr<error const> failure,
                                                  latch_reading const& seen, std::int64_t /*revision*/) {
    if (!failure && !seen.open() && seen.over) failure = expired(name, seen);
    done(failure, failure || seen.open() ? 0 : seen.left);
  });
}

struct latching::setting {
  std::string name{};
  std::int64_t number = 0;
  std::chrono::seconds open_for{};  ///< 0: for any time
  std::string by{};                 ///< of this request
  std::string text{};
  std::int64_t ticket = 0;  ///< the lease without which it isn't carried out
  std::int64_t time_lease = 0;
  std::int64_t lease = 0;
  int lost_leases = 0;  ///< how often they had ended before they were used
  handler<bool> done{};
};

void latching::set(std::string const& name, std::int64_t number, std::chrono::milliseconds expires_after,
                   handler<bool> done) {
  auto const asked = std::make_shared<setting>();
  asked->name = name;
  asked->number = number;
  asked->open_for = std::chrono::ceil<std::chrono::seconds>(expires_after);
  asked->by = next_request();
  asked->text = keys::latch_text(number, asked->open_for.count() > 0, asked->by);
  asked->done = std::move(done);
  try_to_set(asked);
}

/// Leases that nothing is under are revoked; the ticket in any case.
void latching::end(std::shared_ptr<setting> const& asked, std::shared_ptr<error const> failure, bool set) {
  auto const revoke = [this](std::int64_t lease) {
    if (lease != 0) channel_.revoke(lease, revoke_timeout, [](status const&) {});
  };
  revoke(asked->ticket);
  if (!failure && !set) {
    revoke(asked->time_lease);
    revoke(asked->lease);
  }
  asked->done(std::move(failure), set);
}

void latching::try_to_set(std::shared_ptr<setting> const& asked) {
  read(asked->name,
       [this, asked](std::shared_ptr<error const> failure, latch_reading const& seen, std::int64_t revision) {
         auto const ours = !seen.text.empty() && seen.text == asked->text;
         auto const closed = !seen.open() && !seen.over;
         if (failure || ours || closed) {
           auto const set = !failure && ours;
           end(asked, std::move(failure), set);
         } else if (asked->number == 0 && seen.text.empty()) {
           end(asked, nullptr, true);
         } else if (asked->number == 0) {
           remove_all(asked->name, seen.text,
                      [this, asked](std::shared_ptr<error const> trouble, bool /*removed*/) {
                        auto const set = !trouble;
                        end(asked, std::move(trouble), set);
                      });
         } else {
           grant_leases(asked, [this, asked, seen, revision] { put(asked, seen, revision); });
         }
       });
}

/// The time of a latch is one that etcd measures: that of a lease which nobody keeps alive. Another one ends
/// a week later: until then the latch says that its time is over.
void latching::grant_leases(std::shared_ptr<setting> const& asked, std::function<void()> done) {
  auto const has_time = asked->open_for.count() != 0;
  if (asked->ticket == 0) {
    grant(asked, asked->ticket, longest_ticket, std::move(done));
  } else if (has_time && asked->time_lease == 0) {
    grant(asked, asked->time_lease, asked->open_for, std::move(done));
  } else if (has_time && asked->lease == 0) {
    grant(asked, asked->lease, asked->open_for + told, std::move(done));
  } else {
    done();
  }
}

void latching::grant(std::shared_ptr<setting> const& asked, std::int64_t& lease, std::chrono::seconds ttl,
                     std::function<void()> done) {
  server_.grant(ttl, {},
                [this, asked, &lease, done = std::move(done)](response<lease_grant>&& answer) mutable {
                  if (!answer.ok()) {
                    end(asked, server_.failure_of(answer), false);
                    return;
                  }
                  lease = answer.value.id;
                  grant_leases(asked, std::move(done));
                });
}

/// It puts a key under the ticket, too. A copy that comes while that is there does nothing, and one that
/// comes later is refused for want of the lease: what the first copy has set may have been counted down by
/// then.
void latching::put(std::shared_ptr<setting> const& asked, latch_reading const& before,
                   std::int64_t revision) {
  auto const folder = keys::folder(prefix_, asked->name);
  auto const latch = keys::latch_of(folder);
  auto const counted = keys::counted_of(folder);
  auto const set_by = keys::latch_set_by(folder, asked->by);
  transaction request{.when = {still_says(latch, before.text), {.key = set_by, .equals = std::int64_t{0}}},
                      .otherwise = {range{.key = set_by}}};
  // No lock has come meanwhile.
  request.when.push_back({.key = folder, .end = keys::end_of(folder), .made_before = revision + 1});
  request.then = {remove{.key = counted, .end = keys::end_of(counted)},
                  etcd::put{.key = latch, .value = asked->text, .lease = asked->lease},
                  etcd::put{.key = set_by, .value = asked->text, .lease = asked->ticket}};
  if (asked->time_lease != 0)
    request.then.emplace_back(
        etcd::put{.key = keys::latch_time_of(folder), .value = asked->text, .lease = asked->time_lease});
  server_.transact(std::move(request), {}, [this, asked](response<outcome>&& answer) {
    if (answer.ended.type == status::kind::no_such_lease && !answer.resent && ++asked->lost_leases < 3) {
      asked->ticket = asked->time_lease = asked->lease = 0;  // its time was over before it was put
      try_to_set(asked);
    } else if (!answer.ok()) {
      end(asked, server_.failure_of(answer), false);
    } else if (answer.value.succeeded || !answer.value.answers.at(0).keys.empty()) {
      end(asked, nullptr, true);
    } else {
      try_to_set(asked);
    }
  });
}

struct latching::counting_down {
  std::string name{};
  counting by{};
  std::string value{};
  handler<bool> done{};
};

void latching::count_down(std::string const& name, counting by, handler<bool> done) {
  auto const asked = std::make_shared<counting_down>();
  asked->name = name;
  asked->value = keys::value(next_request(), client_.options.label);
  asked->by = std::move(by);
  asked->done = std::move(done);
  try_to_count(asked);
}

void latching::try_to_count(std::shared_ptr<counting_down> const& asked) {
  read(asked->name, [this, asked](std::shared_ptr<error const> failure, latch_reading const& seen,
                                  std::int64_t /*revision*/) {
    if (!failure && !seen.open() && seen.over) failure = expired(asked->name, seen);
    if (failure || seen.open()) {
      asked->done(std::move(failure), false);
    } else {
      put(asked, seen);
    }
  });
}

void latching::put(std::shared_ptr<counting_down> const& asked, latch_reading const& seen) {
  auto const folder = keys::folder(prefix_, asked->name);
  auto const key = keys::counted_by(folder, asked->by.number, asked->by.named, asked->by.participant);
  auto const counted = keys::counted_of(folder);
  transaction request{
      .when = {{.key = keys::latch_of(folder), .equals = seen.text}, {.key = key, .equals = std::int64_t{0}}},
      .then = {etcd::put{.key = key, .value = asked->value, .lease = seen.lease},
               names_from_to(counted, keys::end_of(counted))},
      .otherwise = {range{.key = key}, names_from_to(counted, keys::end_of(counted)),
                    range{.key = keys::latch_of(folder)}}};
  if (seen.ends) request.when.push_back({.key = keys::latch_time_of(folder), .equals = seen.text});
  server_.transact(std::move(request), {}, [this, asked, folder, seen](response<outcome>&& answer) {
    if (!answer.ok()) {
      asked->done(server_.failure_of(answer), false);
      return;
    }
    auto const& answers = answer.value.answers;
    if (!answer.value.succeeded) {
      auto const& counted_before = answers.at(0).keys;
      auto const& latch = answers.at(2).keys;
      auto const same = !latch.empty() && latch.front().value == seen.text;
      if (counted_before.empty() && answer.resent && !same) {
        // An earlier copy of this request may have counted it, and whoever was last has removed all.
        auto failure = latch.empty() ? nullptr : unknown(asked->name);
        auto const counted = !failure;
        asked->done(std::move(failure), counted);
        return;
      }
      if (counted_before.empty()) {
        try_to_count(asked);
        return;
      }
      if (counted_before.front().value != asked->value) {
        asked->done(nullptr, false);
        return;
      }
    }
    if (left_of(seen.of, folder, answers.at(1).keys) > 0) {
      asked->done(nullptr, true);
      return;
    }
    // It has counted, whatever becomes of that: whoever looks finds the latch open.
    remove_all(asked->name, seen.text,
               [asked](std::shared_ptr<error const> const& /*failure*/, bool /*removed*/) {
                 asked->done(nullptr, true);
               });
  });
}

void latching::open(std::string const& name, handler<bool> done) {
  read(name, [this, name, done = std::move(done)](std::shared_ptr<error const> failure,
                                                  latch_reading const& seen, std::int64_t /*revision*/) {
    if (failure || seen.text.empty()) {
      done(std::move(failure), false);
      return;
    }
    auto const was_closed = !seen.open();
    remove_all(name, seen.text, [done, was_closed](std::shared_ptr<error const> trouble, bool removed) {
      done(std::move(trouble), removed && was_closed);
    });
  });
}

}  // namespace holdfast::etcd
