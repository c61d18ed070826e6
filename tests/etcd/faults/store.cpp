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

using guard = std::lock_guard<std::mutex>;

/// An end of one zero byte: there is none.
bool in(etcd::range const& wanted, std::string const& key) {
  if (wanted.end == std::string(1, '\0')) return key >= wanted.key;
  return wanted.end.empty() ? key == wanted.key : key >= wanted.key && key < wanted.end;
}

std::pair<etcd::status, etcd::outcome> refusal() {
  return {{.type = etcd::status::kind::unauthorized, .sent = true, .text = "no right"}, {}};
}

std::pair<etcd::status, etcd::outcome> lost_lease() {
  return {{.type = etcd::status::kind::no_such_lease, .sent = true}, {}};
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

void store::before_next_removal(std::function<void()> f) {
  guard const hold{guard_};
  before_removal_ = std::move(f);
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

void store::answer_transactions(bool answered) {
  guard const hold{guard_};
  answers_transactions_ = answered;
}

int store::transactions_without_answer() const {
  guard const hold{guard_};
  return transactions_without_answer_;
}

void store::before_puts(std::function<etcd::operation()> deed) {
  guard const hold{guard_};
  before_puts_ = std::move(deed);
}

void store::answer_grants(bool answered) {
  guard const hold{guard_};
  answers_grants_ = answered;
}

int store::grants_without_answer() const {
  guard const hold{guard_};
  return grants_without_answer_;
}

void store::note_watch(std::uint64_t number, watch added) {
  guard const hold{guard_};
  auto const gone = told_of_ && added.key.starts_with(*told_of_) && !keys_.contains(added.key);
  if (gone) {
    added.deleted();
  } else {
    watches_.insert_or_assign({added.of, number}, std::move(added));
  }
}

void store::forget_watch(void const* of, std::uint64_t number) {
  guard const hold{guard_};
  watches_.erase({of, number});
}

void store::tell_of(std::string beginning) {
  guard const hold{guard_};
  told_of_ = std::move(beginning);
}

std::int64_t store::watchers(std::string const& key) const {
  guard const hold{guard_};
  return std::ranges::count_if(watches_, [&](auto const& each) {
    return each.second.key == key && each.second.wanted == etcd::channel::interest::deletion;
  });
}

void store::end_watches() {
  decltype(watches_) all;
  {
    guard const hold{guard_};
    all.swap(watches_);
  }
  for (auto const& [number, each] : all) each.end();
}

void store::remove(std::string const& key) {
  guard const hold{guard_};
  erase({.key = key});
}

void store::add_to(std::string const& key, std::string const& words) {
  guard const hold{guard_};
  auto& found = keys_.at(key);
  found.value += words;
  found.mod_revision = ++revision_;
}

/// Whoever is told only notes that, so it is called under the lock.
void store::erase(etcd::remove const& gone) {
  auto const is_gone = [&](auto const& key) { return in({.key = gone.key, .end = gone.end}, key); };
  std::erase_if(keys_, [&](auto const& each) { return is_gone(each.first); });
  if (!told_of_) return;
  std::erase_if(watches_, [&](auto const& each) {
    auto const& key = each.second.key;
    if (!is_gone(key) || !key.starts_with(*told_of_)) return false;
    each.second.deleted();
    return true;
  });
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
  if (!answers_transactions_) {
    ++transactions_without_answer_;
    return std::nullopt;
  }
  auto const now = kind_of(request);
  if (now == kind::put && before_puts_) {
    ++revision_;
    (void)carry_out(before_puts_());
  }
  if (now == kind::removal && before_removal_) std::exchange(before_removal_, {})();
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
  if (what == fate::refused) return refusal();
  if (what == fate::no_lease) return lost_lease();
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
    erase(*gone);
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
  if (without_lease) return lost_lease();
  ++revision_;
  etcd::outcome answer{.revision = revision_, .term = term_, .succeeded = fits};
  for (auto const& each : branch) answer.answers.push_back(carry_out(each));
  return {{.sent = true}, std::move(answer)};
}

}  // namespace holdfast::test
