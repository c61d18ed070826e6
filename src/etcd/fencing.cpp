#include "etcd/fencing.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/quoted.hpp"
#include "base/whole_number.hpp"

namespace holdfast::etcd {
namespace {

using namespace std::chrono_literals;
using std::chrono::seconds;

constexpr milliseconds revoke_within{2'000};
/// In which others have written meanwhile, before its time counts.
constexpr int most_rounds = 20;
/// A request that is carried out late, after it got no answer, must not find the mark gone that another one
/// has made.
constexpr milliseconds least_extra = 1h;

/// How much longer than the mark has to be remembered a new lease lasts, so that few writes need one.
milliseconds extra_of(milliseconds remember) { return std::max(least_extra, remember / 8); }

/// Revision 0: there is no such key.
condition unchanged(std::string key, std::int64_t revision) {
  if (revision == 0) return {.key = std::move(key), .equals = std::int64_t{0}};
  return {.key = std::move(key), .changed_in = revision};
}

bool needs_value(fence_deed const& wanted) {
  return wanted.type == fence_deed::kind::append || wanted.type == fence_deed::kind::increment;
}

std::string subject(fence_writer const& of, fence_deed const& wanted) {
  auto const fenced = [&](std::string_view verb) {
    return "the " + std::string{verb} + " of the key " + quoted(wanted.key) + ", fenced by " +
           quoted(of.resource) + ',';
  };
  switch (wanted.type) {
    case fence_deed::kind::look:
      return "the look at the fence " + quoted(of.resource);
    case fence_deed::kind::claim:
      return "the claim of the fence " + quoted(of.resource);
    case fence_deed::kind::set:
      return fenced("set");
    case fence_deed::kind::append:
      return fenced("append");
    case fence_deed::kind::increment:
      return fenced("increment");
    case fence_deed::kind::erase:
      return fenced("erase");
  }
  return {};
}

}  // namespace

struct fence_writer::job {
  fence_deed wanted{};
  fence_viewer::handler done{};
  std::int64_t number = 0;
  std::optional<key_value> before{};  ///< what a deed that needs the old value has found
  std::int64_t demanded = 0;          ///< the revision of the mark that the last request was for
  bool unsure = false;                ///< a request for that may be carried out, or was
  time_point came_at = boot_clock::now();
  int rounds = 0;  ///< others have written each time
  // Leases that it has got; 0: none.
  std::int64_t mark_lease = 0;
  bool moves = false;  ///< the mark goes under mark_lease
  std::int64_t key_lease = 0;

  /// Whether a request may have been carried out that the mark says nothing of any more.
  [[nodiscard]] bool lost_track(fence_mark const& seen, std::string_view writer) const {
    if (!unsure || seen.revision == demanded) return false;
    return seen.revision == 0 ||
           (seen.writers.size() >= fence_mark::most_writers && seen.last_of(writer) == 0);
  }
};

void fencing::carry_out(writer_ptr const& by, fence_deed wanted, handler done) {
  auto const job = std::make_shared<fence_writer::job>();
  job->wanted = std::move(wanted);
  job->done = std::move(done);
  by->jobs.push_back(job);
  if (by->jobs.size() == 1) begin(by);
}

void fencing::begin(writer_ptr const& by) {
  auto& job = *by->jobs.front();
  auto const looks = job.wanted.type == fence_deed::kind::look;
  if (!looks) job.number = ++by->last_number;
  if (looks || !by->mark || by->mark->token > job.wanted.token || needs_value(job.wanted)) {
    look(by);
  } else {
    find_lease_of_mark(by);
  }
}

std::vector<operation> fencing::what_to_read(fence_writer const& by) const {
  std::vector<operation> all{range{.key = prefix_ + fence_mark_of(by.resource)}};
  auto const& wanted = by.jobs.front()->wanted;
  if (needs_value(wanted)) all.emplace_back(range{.key = prefix_ + wanted.key});
  return all;
}

void fencing::look(writer_ptr const& by) {
  server_.transact({.then = what_to_read(*by)}, {}, [this, by](response<outcome>&& answer) {
    if (!fails(by, answer)) on_seen(by, answer.value.answers);
  });
}

/// The mark comes first, and the key if its value is needed.
void fencing::on_seen(writer_ptr const& by, std::vector<found>& answers) {
  auto& job = *by->jobs.front();
  auto& marks = answers.at(0).keys;
  auto const seen = marks.empty() ? fence_mark{} : fence_mark::read(marks.front());
  by->mark = seen;
  if (!seen) {
    fail(by, errc::wrong_type,
         client_.url + ": the key " + quoted(marks.front().key) +
             " holds no token: something else uses it; delete it if nothing needs it, or choose another name "
             "for the resource");
    return;
  }
  if (job.wanted.type == fence_deed::kind::look || seen->last_of(by->name) == job.number) {
    end(by, nullptr, true);
    return;
  }
  if (job.lost_track(*seen, by->name)) {
    fail(by, errc::unreachable,
         client_.url + ": a request got no answer, and the fence has seen too many writers since");
    return;
  }
  // Nothing that was sent for another revision is carried out any more.
  job.unsure = job.unsure && seen->revision == job.demanded;
  if (seen->token > job.wanted.token) {
    end(by, nullptr, false);
    return;
  }
  if (++job.rounds > most_rounds && boot_clock::now() >= limit_of(job)) {
    fail(by, errc::refused, client_.url + ": others write to it all the time");
    return;
  }
  job.before.reset();
  if (needs_value(job.wanted) && !answers.at(1).keys.empty())
    job.before = std::move(answers.at(1).keys.front());
  find_lease_of_mark(by);
}

/// A mark that is there without a lease stays so.
void fencing::find_lease_of_mark(writer_ptr const& by) {
  auto& job = *by->jobs.front();
  auto const& mark = *by->mark;
  auto const for_ever = by->remember == 0ms || (mark.revision != 0 && mark.lease == 0);
  auto const known = mark.lease == 0 || mark.lease == by->lease;
  // By this mark: in an earlier round it may have been another one.
  job.moves = !for_ever && known &&
              (mark.lease == 0 || by->lasts_until - boot_clock::now() < by->remember + least_extra / 2);
  if (job.moves && job.mark_lease == 0) {
    grant_lease_of_mark(by);
  } else if (!for_ever && !known) {
    server_.time_to_live(mark.lease, {}, [this, by, lease = mark.lease](response<lease_time>&& answer) {
      if (fails(by, answer)) return;
      by->lease = lease;
      by->lasts_until = answer.sent_at + std::max(answer.value.left, 0s);
      find_lease_of_mark(by);
    });
  } else {
    find_lease_of_key(by);
  }
}

void fencing::grant_lease_of_mark(writer_ptr const& by) {
  auto const ttl = std::chrono::ceil<seconds>(by->remember + extra_of(by->remember));
  server_.grant(ttl, {}, [this, by](response<lease_grant>&& answer) {
    if (fails(by, answer)) return;
    by->jobs.front()->mark_lease = by->lease = answer.value.id;
    by->lasts_until = answer.sent_at + answer.value.ttl;
    find_lease_of_key(by);
  });
}

void fencing::find_lease_of_key(writer_ptr const& by) {
  auto const& job = *by->jobs.front();
  if (job.wanted.ttl == 0ms || job.key_lease != 0) {
    write(by);
    return;
  }
  auto const ttl = std::chrono::ceil<seconds>(job.wanted.ttl);
  server_.grant(ttl, {}, [this, by, ttl](response<lease_grant>&& answer) {
    if (fails(by, answer)) return;
    by->jobs.front()->key_lease = answer.value.id;
    if (answer.value.ttl <= ttl) {
      write(by);
    } else {
      fail(by, errc::refused,
           client_.url + ": the shortest lease is " + std::to_string(answer.value.ttl.count()) +
               " s there, and a ttl of " + std::to_string(ttl.count()) +
               " s was asked for; use a longer one");
    }
  });
}

void fencing::write(writer_ptr const& by) {
  using kind = fence_deed::kind;
  auto& job = *by->jobs.front();
  auto const& wanted = job.wanted;
  auto const key = prefix_ + wanted.key;
  transaction request{.otherwise = what_to_read(*by)};
  request.when.push_back(unchanged(prefix_ + fence_mark_of(by->resource), by->mark->revision));
  if (needs_value(wanted)) request.when.push_back(unchanged(key, job.before ? job.before->mod_revision : 0));
  put change{.key = key, .value = wanted.text, .lease = job.before ? job.before->lease : job.key_lease};
  if (wanted.type == kind::append && job.before) change.value.insert(0, job.before->value);
  if (wanted.type == kind::increment) {
    auto const number = job.before ? whole_number(job.before->value) : 0;
    auto sum = std::int64_t{0};
    if (!number || __builtin_add_overflow(*number, wanted.number, &sum)) {
      fail(by, errc::refused,
           client_.url + ": the key " + quoted(wanted.key) +
               (number ? " would be no integer of 64 bits behind that" : " holds no integer of 64 bits"));
      return;
    }
    change.value = std::to_string(sum);
  }
  if (wanted.type == kind::erase) {
    request.then.emplace_back(remove{.key = key});
  } else if (wanted.type != kind::claim) {
    request.then.emplace_back(std::move(change));
  }
  auto next = by->mark->after(by->name, job.number, wanted.token);
  if (by->remember != 0ms) next.lease = job.moves ? job.mark_lease : by->mark->lease;
  request.then.emplace_back(
      put{.key = prefix_ + fence_mark_of(by->resource), .value = next.text(), .lease = next.lease});
  job.demanded = by->mark->revision;
  server_.transact(std::move(request), {},
                   [this, by, next](response<outcome>&& answer) { on_written(by, next, std::move(answer)); });
}

void fencing::on_written(writer_ptr const& by, fence_mark next, response<outcome>&& answer) {
  auto& job = *by->jobs.front();
  job.unsure = job.unsure || answer.resent || (answer.failure && answer.sent);
  if (fails(by, answer)) return;
  if (!answer.value.succeeded) {
    if (!job.unsure) revoke(std::exchange(job.key_lease, 0));  // the next round has the whole of the ttl
    on_seen(by, answer.value.answers);
    return;
  }
  next.revision = answer.value.revision;
  by->mark = std::move(next);
  end(by, nullptr, true);
}

template <class Answer>
bool fencing::fails(writer_ptr const& by, response<Answer> const& answer) {
  auto const failure = server_.failure_of(answer);
  if (!failure) return false;
  by->mark.reset();
  fail(by, failure->code(), failure->what());
  return true;
}

void fencing::fail(writer_ptr const& by, std::error_code code, std::string const& text) {
  auto const& job = *by->jobs.front();
  if (job.unsure && code != errc::closed) code = errc::unreachable;
  auto const outcome = job.unsure ? " may have been made: look before you try again" : " was not made";
  end(by, std::make_shared<error const>(code, text + "; " + subject(*by, job.wanted) + outcome), false);
}

/// In an outage each waits for its own time, not for those before it.
void fencing::fail_late(writer_ptr const& by) {
  auto const& reason = server_.down_because();
  while (reason && !by->jobs.empty() && boot_clock::now() >= limit_of(*by->jobs.front())) {
    auto const job = std::move(by->jobs.front());
    by->jobs.pop_front();
    auto const text = reason->what() + ("; " + subject(*by, job->wanted) + " was not made");
    job->done(std::make_shared<error const>(reason->code(), text), {});
  }
}

time_point fencing::limit_of(fence_writer::job const& asked) const noexcept {
  return asked.came_at + client_.options.connect_timeout + client_.options.reply_timeout;
}

void fencing::revoke(std::int64_t lease) {
  if (lease != 0) channel_.revoke(lease, revoke_within, [](status const&) {});
}

/// Leases under which nothing is are revoked.
void fencing::end(writer_ptr const& by, std::shared_ptr<error const> failure, bool written) {
  auto const job = std::move(by->jobs.front());
  by->jobs.pop_front();
  if (!job->unsure) {
    if (!written) revoke(job->key_lease);
    if (!written || !job->moves) revoke(job->mark_lease);
  }
  job->done(std::move(failure), {.written = written, .newest = by->mark ? by->mark->token : 0});
  fail_late(by);
  if (!by->jobs.empty()) begin(by);
}

}  // namespace holdfast::etcd
