#include "store.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <variant>

namespace holdfast::test {
namespace {

using std::chrono::milliseconds;
using guard = std::lock_guard<std::mutex>;

/// Answers at once. Nobody is told of what happens to keys: whoever waits asks again.
class memory_channel final : public etcd::channel {
 public:
  explicit memory_channel(etcd::channel_events events) : events_{std::move(events)} {}

  void transact(etcd::transaction const& request, milliseconds /*timeout*/,
                handler<etcd::outcome> done) override {
    if (auto answer = the_store().transact(request)) {
      done(std::move(answer->first), std::move(answer->second));
    } else {
      done({.type = etcd::status::kind::unreachable, .sent = true, .text = "no answer"}, {});
    }
  }
  void grant(std::chrono::seconds ttl, milliseconds /*timeout*/, handler<etcd::lease_grant> done) override {
    if (auto const given = the_store().grant(ttl)) {
      done({.sent = true}, *given);
    } else {
      done({.type = etcd::status::kind::unreachable, .sent = true, .text = "no answer"}, {});
    }
  }
  void revoke(std::int64_t lease, milliseconds /*timeout*/, std::function<void(etcd::status)> done) override {
    the_store().revoke(lease);
    done({.sent = true});
  }
  void time_to_live(std::int64_t lease, milliseconds /*timeout*/, handler<etcd::lease_time> done) override {
    done({.sent = true}, {.left = the_store().ttl_of(lease)});
  }
  void examine(milliseconds /*timeout*/, std::function<void(etcd::cluster_view)> done) override { done({}); }
  void keep_alive(std::int64_t lease, std::uint64_t number) override {
    auto const answer = [lease, number, alive = events_.alive] {
      alive(lease, number, the_store().ttl_of(lease), the_store().term_of_keep_alives());
    };
    if (!the_store().hold_keep_alive(answer)) answer();
  }
  void watch(std::uint64_t number, std::string const& /*key*/, std::string const& /*end*/,
             std::int64_t /*from_revision*/, interest /*wanted*/) override {
    the_store().note_watch(number, [over = events_.watch_over, number] { over(number); });
  }
  void unwatch(std::uint64_t number) override { the_store().forget_watch(number); }
  void go_on_to_next() override { events_.keep_alive_broken({}); }

 private:
  etcd::channel_events const events_;
};

/// An end of one zero byte: there is none.
bool in(etcd::range const& wanted, std::string const& key) {
  if (wanted.end == std::string(1, '\0')) return key >= wanted.key;
  return wanted.end.empty() ? key == wanted.key : key >= wanted.key && key < wanted.end;
}

std::pair<etcd::status, etcd::outcome> refusal() {
  return {{.type = etcd::status::kind::unauthorized, .sent = true, .text = "no right"}, {}};
}

}  // namespace

store& the_store() {
  static store one;
  return one;
}

void store::set_terms(std::uint64_t of_transactions, std::uint64_t of_keep_alives) {
  guard const hold{guard_};
  term_ = of_transactions;
  keep_alive_term_ = of_keep_alives;
}

void store::next_put(fate what, std::optional<etcd::operation> meanwhile) {
  guard const hold{guard_};
  fates_[kind::put].push_back({what, std::move(meanwhile)});
}

void store::next_removal(fate what) {
  guard const hold{guard_};
  fates_[kind::removal].push_back({what});
}

bool store::are_decided() const {
  guard const hold{guard_};
  return std::ranges::all_of(fates_, [](auto const& each) { return each.second.empty(); });
}

void store::hold_back_next_put(std::string const& meanwhile) {
  std::optional<etcd::operation> other;
  if (!meanwhile.empty()) other = etcd::put{.key = meanwhile, .lease = 1};
  next_put(fate::held_back, std::move(other));
}

void store::refuse_next_read() {
  guard const hold{guard_};
  refuses_next_read_ = true;
}

void store::put_behind_reads(std::vector<std::string> keys) {
  guard const hold{guard_};
  behind_reads_ = std::move(keys);
}

void store::hold_keep_alives(bool held) {
  guard const hold{guard_};
  holds_keep_alives_ = held;
}

std::size_t store::held_keep_alives() const {
  guard const hold{guard_};
  return keep_alives_.size();
}

bool store::hold_keep_alive(std::function<void()> answer) {
  guard const hold{guard_};
  if (holds_keep_alives_) keep_alives_.push_back(std::move(answer));
  return holds_keep_alives_;
}

void store::answer_keep_alive() {
  std::function<void()> first;
  {
    guard const hold{guard_};
    first = std::move(keep_alives_.front());
    keep_alives_.pop_front();
  }
  first();
}

store::kind store::kind_of(etcd::transaction const& request) {
  auto const has = [&](auto const& of_kind) { return std::ranges::any_of(request.then, of_kind); };
  if (has([](auto const& each) { return std::holds_alternative<etcd::put>(each); })) return kind::put;
  if (has([](auto const& each) { return std::holds_alternative<etcd::remove>(each); })) return kind::removal;
  return kind::read;
}

void store::change_meanwhile(std::string const& key, std::function<std::string(std::string const&)> to) {
  guard const hold{guard_};
  changed_meanwhile_ = key;
  change_ = std::move(to);
}

void store::answer_grants(bool answered) {
  guard const hold{guard_};
  answers_grants_ = answered;
}

int store::grants_without_answer() const {
  guard const hold{guard_};
  return grants_without_answer_;
}

void store::note_watch(std::uint64_t number, std::function<void()> end) {
  guard const hold{guard_};
  watches_.insert_or_assign(number, std::move(end));
}

void store::forget_watch(std::uint64_t number) {
  guard const hold{guard_};
  watches_.erase(number);
}

void store::end_watches() {
  std::map<std::uint64_t, std::function<void()>> all;
  {
    guard const hold{guard_};
    all.swap(watches_);
  }
  for (auto const& [number, end] : all) end();
}

void store::remove(std::string const& key) {
  guard const hold{guard_};
  keys_.erase(key);
}

bool store::holds_back() const {
  guard const hold{guard_};
  return held_back_.has_value();
}

void store::carry_out(std::string const& added) {
  guard const hold{guard_};
  auto const late = std::exchange(held_back_, {});
  if (!late) return;
  (void)carry_out(*late);
  for (auto const& each : late->then) {
    auto const* const put = std::get_if<etcd::put>(&each);
    if (put != nullptr && keys_.contains(put->key)) keys_[put->key].value += added;
  }
}

std::vector<std::string> store::keys(std::string const& prefix) const {
  guard const hold{guard_};
  std::vector<std::string> all;
  for (auto const& [key, value] : keys_) {
    if (key.starts_with(prefix)) all.push_back(key);
  }
  return all;
}

std::string store::value(std::string const& key) const {
  guard const hold{guard_};
  auto const found = keys_.find(key);
  return found == keys_.end() ? std::string{} : found->second.value;
}

std::int64_t store::lease_of(std::string const& prefix) const {
  guard const hold{guard_};
  auto const first = keys_.lower_bound(prefix);
  return first == keys_.end() || !first->first.starts_with(prefix) ? 0 : first->second.lease;
}

bool store::has_lease(std::int64_t lease) const {
  guard const hold{guard_};
  return leases_.contains(lease);
}

std::optional<std::pair<etcd::status, etcd::outcome>> store::transact(etcd::transaction const& request) {
  guard const hold{guard_};
  auto const now = kind_of(request);
  if (now != kind::put && std::exchange(refuses_next_read_, false)) return refusal();
  auto& fates = fates_[now];
  if (now != kind::put && !behind_reads_.empty()) {
    auto answer = carry_out(request);
    ++revision_;
    (void)carry_out(etcd::operation{etcd::put{.key = behind_reads_.back(), .lease = 1}});
    behind_reads_.pop_back();
    return answer;
  }
  if (fates.empty()) return carry_out(request);
  auto const [what, meanwhile] = std::move(fates.front());
  fates.pop_front();
  std::optional<std::pair<etcd::status, etcd::outcome>> answer;
  if (what == fate::held_back) {
    held_back_ = request;
  } else {
    answer = carry_out(request);
  }
  if (meanwhile) (void)carry_out(*meanwhile);
  do_meanwhile();
  if (what != fate::answered) answer.reset();
  return answer;
}

void store::do_meanwhile() {
  auto const key = std::exchange(changed_meanwhile_, {});
  if (key.empty()) return;
  ++revision_;
  auto const& old = keys_[key];
  (void)carry_out(etcd::operation{etcd::put{.key = key, .value = change_(old.value), .lease = old.lease}});
}

std::optional<etcd::lease_grant> store::grant(std::chrono::seconds ttl) {
  guard const hold{guard_};
  if (!answers_grants_) {
    ++grants_without_answer_;
    return std::nullopt;
  }
  leases_.emplace(++last_lease_, ttl);
  return etcd::lease_grant{.id = last_lease_, .ttl = ttl};
}

void store::revoke(std::int64_t lease) {
  guard const hold{guard_};
  leases_.erase(lease);
  std::erase_if(keys_, [&](auto const& each) { return each.second.lease == lease; });
}

std::chrono::seconds store::ttl_of(std::int64_t lease) const {
  guard const hold{guard_};
  auto const known = leases_.find(lease);
  return known == leases_.end() ? std::chrono::seconds{} : known->second;
}

std::uint64_t store::term_of_keep_alives() const {
  guard const hold{guard_};
  return keep_alive_term_;
}

bool store::holds(etcd::condition const& wanted) const {
  return std::ranges::all_of(keys_,
                             [&](auto const& each) {
                               if (!in({.key = wanted.key, .end = wanted.end}, each.first)) return true;
                               if (wanted.made_before != 0)
                                 return each.second.create_revision < wanted.made_before;
                               if (wanted.changed_in != 0)
                                 return each.second.mod_revision == wanted.changed_in;
                               auto const* const revision = std::get_if<std::int64_t>(&wanted.equals);
                               return revision != nullptr
                                          ? each.second.create_revision == *revision
                                          : each.second.value == std::get<std::string>(wanted.equals);
                             }) &&
         (!wanted.end.empty() ||
          (wanted.changed_in == 0 && wanted.equals == decltype(wanted.equals){std::int64_t{0}}) ||
          keys_.contains(wanted.key));
}

etcd::found store::carry_out(etcd::operation const& one) {
  if (auto const* const put = std::get_if<etcd::put>(&one)) {
    auto& key = keys_[put->key];
    if (key.create_revision == 0) key.create_revision = revision_;
    key = {.key = put->key,
           .value = put->value,
           .create_revision = key.create_revision,
           .mod_revision = revision_,
           .lease = put->lease};
    return {};
  }
  if (auto const* const gone = std::get_if<etcd::remove>(&one)) {
    std::erase_if(keys_,
                  [&](auto const& each) { return in({.key = gone->key, .end = gone->end}, each.first); });
    return {};
  }
  auto const& wanted = std::get<etcd::range>(one);
  etcd::found answer;
  for (auto const& [key, value] : keys_) {
    if (!in(wanted, key)) continue;
    ++answer.count;
    if (wanted.max_create_revision == 0 || value.create_revision <= wanted.max_create_revision)
      answer.keys.push_back(value);
  }
  std::ranges::sort(answer.keys, {}, &etcd::key_value::create_revision);
  if (wanted.sorted == etcd::range::order::newest_first) std::ranges::reverse(answer.keys);
  if (wanted.limit != 0 && std::ssize(answer.keys) > wanted.limit)
    answer.keys.resize(static_cast<std::size_t>(wanted.limit));
  return answer;
}

std::pair<etcd::status, etcd::outcome> store::carry_out(etcd::transaction const& request) {
  auto const fits = std::ranges::all_of(request.when, [&](auto const& each) { return holds(each); });
  auto const& branch = fits ? request.then : request.otherwise;
  auto const without_lease = std::ranges::any_of(branch, [this](auto const& each) {
    auto const* const put = std::get_if<etcd::put>(&each);
    return put != nullptr && put->lease != 0 && !leases_.contains(put->lease);
  });
  if (without_lease) return {{.type = etcd::status::kind::no_such_lease, .sent = true}, {}};
  ++revision_;
  etcd::outcome answer{.revision = revision_, .term = term_, .succeeded = fits};
  for (auto const& each : branch) answer.answers.push_back(carry_out(each));
  return {{.sent = true}, std::move(answer)};
}

}  // namespace holdfast::test

namespace holdfast::etcd {

/// In place of the library's own, which loads the shared object.
std::unique_ptr<channel> open(settings const& /*to*/, channel_events const& events,
                              std::string const& /*url*/) {
  return std::make_unique<test::memory_channel>(events);
}

}  // namespace holdfast::etcd
