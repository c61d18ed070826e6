#include "simulation/kinds.hpp"

#include <algorithm>
#include <chrono>

#include "base/whole_number.hpp"
#include "script/names.hpp"
#include "script/names_redisson.hpp"
#include "wire/lock_names.hpp"
#include "wire/plain/barrier.hpp"
#include "wire/plain/election.hpp"
#include "wire/plain/exclusive.hpp"
#include "wire/plain/fair.hpp"
#include "wire/plain/latch.hpp"
#include "wire/plain/mixed.hpp"
#include "wire/plain/multi.hpp"
#include "wire/plain/permits.hpp"
#include "wire/plain/quorum.hpp"
#include "wire/plain/shared.hpp"
#include "wire/redisson/permit_id.hpp"
#include "wire/redisson/recipes.hpp"

namespace holdfast::simulation {

namespace {

namespace plain = recipes::plain;
namespace redisson = recipes::redisson;
using hold = std::optional<kind::hold>;

hold text_hold(dataset& data, std::string const& name, std::string const& owner) {
  if (data.text_of(name) != owner) return std::nullopt;
  return kind::hold{.end = data.end_of(name), .came = data.came(name, owner)};
}

hold field_hold(dataset& data, std::string const& name, std::string const& owner) {
  if (data.field_of(name, owner).empty()) return std::nullopt;
  return kind::hold{.end = data.end_of(name), .came = data.came(name, owner)};
}

/// The key of the reader's own hold may end before the lock.
hold reader_hold(dataset& data, std::string const& name, std::string const& owner) {
  auto const life = names::redisson::reader_timeout(name, owner);
  auto found = field_hold(data, name, owner);
  if (!found || !data.has(life)) return std::nullopt;
  found->end = std::min(found->end, data.end_of(life));
  return found;
}

hold writer_hold(dataset& data, std::string const& name, std::string const& owner) {
  return field_hold(data, name, owner + ":write");
}

time_point time_of(double score) {
  return time_point{std::chrono::milliseconds{static_cast<std::int64_t>(score)}};
}

hold permit_hold(dataset& data, std::string const& name, std::string const& owner) {
  auto const id = redisson::permit_id(owner);
  auto const key = names::redisson::permits(name);
  auto const score = data.score_in(key, id);
  if (!score) return std::nullopt;
  return kind::hold{.end = time_of(*score), .came = data.came(key, id)};
}

/// Who has more than one permit of the plain wire has its weight behind that.
constexpr double heavy = 8e15;
/// The most that a caller wants at once.
constexpr int most_at_once = 2;
/// How many there are.
constexpr int plain_permits = 3;

/// The size of a semaphore of which an owner has one permit, and is the text of the key; 0: it isn't so.
std::int64_t size_beside(dataset& data, std::string const& name) {
  std::string_view const text = names::held_by_one_permit;
  auto const holder = data.text_of(name);
  return holder.starts_with(text)
             ? leading_number(holder.substr(text.size(), holder.rfind(' ') - text.size()))
             : 0;
}

/// Replicas that have it as the text of the key have it, though it has become one of a set since.
std::uint64_t first_came(std::uint64_t as_text, std::uint64_t as_member) {
  return as_text == 0 ? as_member : std::min(as_text, as_member);
}

hold plain_permit_hold(dataset& data, std::string const& name, std::string const& owner) {
  auto const text =
      std::string{names::held_by_one_permit}.append(std::to_string(plain_permits)).append(" ").append(owner);
  if (data.text_of(name) == text) return kind::hold{.end = data.end_of(name), .came = data.came(name, text)};
  auto const score = data.score_in(name, owner);
  if (!score) return std::nullopt;
  return kind::hold{.end = std::min(time_of(*score), data.end_of(name)),
                    .came = first_came(data.came(name, text), data.came(name, owner))};
}

/// Whoever is first could go, however many it wants.
bool plain_permits_left(dataset& data, std::string const& name, int, time_point now) {
  if (size_beside(data, name) > 0) return plain_permits - 1 >= most_at_once;
  std::int64_t left = plain_permits;
  auto const* const members = data.members_of(name);
  if (members == nullptr) return left >= most_at_once;
  for (auto const& [score, member] : members->in_order()) {
    if (score < 0 || score >= heavy || time_of(score) <= now) continue;
    auto const weight = std::string{member} + ":p";
    left -= static_cast<std::int64_t>(members->score_of(weight).value_or(heavy + 1) - heavy);
  }
  return left >= most_at_once;
}

std::string reader_id(std::string const& owner) { return owner + std::string{names::reader_suffix}; }

/// Each reader has a time of its own; the lock's key has that of the last.
hold plain_reader_hold(dataset& data, std::string const& name, std::string const& owner) {
  if (data.text_of(name) == reader_id(owner))  // it has the lock for itself
    return kind::hold{.end = data.end_of(name), .came = data.came(name, reader_id(owner))};
  if (data.text_of(name) != names::held_by_readers) return std::nullopt;
  auto const readers = names::readers(name);
  auto const score = data.score_in(readers, reader_id(owner));
  if (!score) return std::nullopt;
  return kind::hold{
      .end = std::min(time_of(*score), data.end_of(name)),
      .came = first_came(data.came(name, reader_id(owner)), data.came(readers, reader_id(owner)))};
}

/// While its client may not have heard yet what it has become, that writes in its place.
hold plain_upgrade_hold(dataset& data, std::string const& name, std::string const& owner) {
  auto const readers = names::readers(name);
  auto const id = owner + std::string{names::upgrade_suffix};
  auto const score = data.score_in(readers, id);
  auto const writer = data.text_of(name);
  if (!score || (writer != names::held_by_readers &&
                 !data.score_in(readers, std::string{writer}.append(names::upgrading_suffix))))
    return std::nullopt;
  return kind::hold{.end = std::min(time_of(*score), data.end_of(name)), .came = data.came(readers, id)};
}

/// A semaphore knows no owners, nor does a latch.
hold no_hold(dataset&, std::string const&, std::string const&) { return std::nullopt; }

bool no_key(dataset& data, std::string const& name, int, time_point) { return !data.has(name); }
bool no_writer(dataset& data, std::string const& name, int, time_point) {
  return data.field_of(name, "mode") != "write";
}
/// While others read, a writer that waits may be before those that come to read.
bool no_plain_writer(dataset& data, std::string const& name, int, time_point) {
  auto const holder = data.text_of(name);
  auto const read = holder == names::held_by_readers || holder.ends_with(names::reader_suffix);
  return !data.has(name) || (read && data.members_in(names::queue(name)) == 0);
}
/// Who has the upgrade lease, and waits to write.
bool one_reader(dataset& data, std::string const& name, int, time_point) {
  return data.text_of(name) == names::held_by_readers && data.members_in(names::readers(name)) == 1;
}
bool permits_left(dataset& data, std::string const& name, int amount, time_point) {
  return leading_number(data.text_of(name)) >= amount;
}
bool permits_left_or_over(dataset& data, std::string const& name, int amount, time_point now) {
  auto const* const out = data.members_of(names::redisson::permits(name));
  return permits_left(data, name, amount, now) ||
         (out != nullptr && time_of(out->in_order().begin()->first) <= now);
}

/// Whoever waits at a barrier has arrived.
bool nobody_arrived(dataset& data, std::string const& name, int, time_point) {
  return data.members_in(names::arrived(name)) == 0;
}

using company = kind::company;

kind const mutex{&plain::exclusive, company::none, text_hold, no_key};
kind const fair_mutex{&plain::fair, company::none, text_hold, no_key};
kind const mutex_with_condition{
    .lock_recipe = &plain::exclusive, .hold_of = text_hold, .is_free = no_key, .has_condition = true};
kind const fair_with_condition{
    .lock_recipe = &plain::fair, .hold_of = text_hold, .is_free = no_key, .has_condition = true};
kind const election{&plain::election, company::none, text_hold, no_key};
kind const multi_mutex{&plain::multi, company::none, text_hold, no_key};
kind const mixed{&plain::mixed, company::none, no_hold, nullptr};  // its names have kinds of their own
kind const redisson_lock{&redisson::lock, company::none, field_hold, no_key};
kind const redisson_fenced{&redisson::fenced, company::none, field_hold, no_key};
kind const redisson_fair{&redisson::fair, company::none, field_hold, no_key};
kind const redisson_multi{&redisson::multi, company::none, field_hold, no_key};
kind const plain_reader{&plain::reader, company::readers, plain_reader_hold, no_plain_writer, 0, true};
kind const plain_upgraded{&plain::upgrader, company::none, text_hold, one_reader};
kind const plain_upgrade{.lock_recipe = &plain::upgradable,
                         .beside = company::upgrade,
                         .hold_of = plain_upgrade_hold,
                         .is_free = no_key,
                         .upgraded = &plain_upgraded};
kind const plain_reader_first{&plain::reader_first, company::readers, plain_reader_hold, no_plain_writer};
kind const plain_writer_first{&plain::writer_first, company::none, text_hold, no_key};
kind const reader{&redisson::reader, company::readers, reader_hold, no_writer};
kind const writer{&redisson::writer, company::none, writer_hold, no_key};
kind const permit{&redisson::permit, company::permits, permit_hold, permits_left_or_over, 2};
kind const plain_permit{&plain::permits,   company::permits,
                        plain_permit_hold, plain_permits_left,
                        plain_permits,     false,
                        nullptr,           true};
kind const lasting_permit{&plain::lasting_permits,
                          company::permits,
                          no_hold,
                          plain_permits_left,
                          plain_permits,
                          false,
                          nullptr,
                          true};
kind const permits{&redisson::semaphore, company::permits, no_hold, permits_left, 3};
kind const latch{&plain::latch, company::none, no_hold, nullptr};
kind const redisson_latch{&redisson::latch, company::none, no_hold, nullptr};
kind const barrier{&plain::barrier, company::none, no_hold, nobody_arrived, 0, false, nullptr, false, 2};
kind const quorum_mutex{&plain::quorum, company::none, text_hold, nullptr};
kind const redisson_quorum_mutex{&redisson::quorum, company::none, field_hold, nullptr};

}  // namespace

kind const& part::of(std::string const& name) const {
  if (kinds.empty()) return *lock;
  return *kinds[static_cast<std::size_t>(std::ranges::find(names, name) - names.begin())];
}

int part::amount_of(std::string const& name, int amount) const {
  if (kinds.empty()) return amount;
  return of(name).permits == 0 ? 1 : most_at_once;
}

std::string queue_name(part const& wanted) {
  if (!wanted.kinds.empty()) {
    std::vector<multi_name> all;
    for (auto const& name : wanted.names) {
      auto const& each = wanted.of(name);
      all.push_back(each.permits != 0 ? holdfast::permits(name, most_at_once, each.permits)
                    : each.beside == kind::company::readers ? holdfast::read(name)
                                                            : holdfast::write(name));
    }
    return recipes::join_names(all);
  }
  return wanted.lock->lock_recipe->several == nullptr || wanted.lock->is_barrier()
             ? wanted.names.front()
             : recipes::join_names(wanted.names);
}

std::vector<cast> const& all_casts() {
  static std::vector<cast> const all{
      {"mutex", {{&mutex}}},
      {"fair_mutex", {{&fair_mutex}}},
      {"election", {{&election}, {&election}, {&fair_mutex}}},
      {"multi_mutex",
       {{&multi_mutex, {"a", "orders"}},
        {&multi_mutex, {"b", "orders"}},
        {&multi_mutex, {"a", "b"}},
        {&mutex}}},
      {"multi_mutex_of_kinds",
       {{&mixed, {"a", "orders", "pool"}, {&mutex, &plain_reader, &plain_permit}},
        {&plain_reader},
        {&mixed, {"orders", "pool"}, {&plain_reader, &plain_permit}},
        {&plain_permit, {"pool"}},
        {&fair_mutex},
        {&mixed, {"a", "orders"}, {&plain_reader, &mutex}}}},
      {"multi_mutex_of_kinds_and_others",
       {{&mixed, {"orders", "pool"}, {&mutex, &plain_permit}},
        {&multi_mutex, {"a", "orders"}},
        {&mixed, {"a", "pool"}, {&plain_reader, &plain_permit}},
        {&plain_upgrade},
        {&mutex, {"a"}}}},
      {"shared_mutex", {{&plain_reader}, {&fair_mutex}, {&plain_reader}}},
      {"shared_mutex_upgrade", {{&plain_upgrade}, {&plain_reader}, {&fair_mutex}, {&plain_upgrade}}},
      {"shared_mutex_upgrade_and_others",
       {{&plain_upgrade}, {&plain_reader_first}, {&mutex}, {&plain_writer_first}}},
      {"shared_mutex_and_mutex", {{&plain_reader}, {&mutex}, {&plain_reader}, {&fair_mutex}}},
      {"shared_mutex_that_prefers",
       {{&plain_reader}, {&plain_writer_first}, {&plain_reader_first}, {&plain_reader}}},
      {"redisson_shared_mutex", {{&reader}, {&writer}, {&reader}}},
      {"semaphore", {{&lasting_permit}}},
      {"semaphore_and_leases", {{&lasting_permit}, {&plain_permit}}},
      {"redisson_semaphore", {{&permits}}},
      {"expiring_semaphore", {{&plain_permit}}},
      {"redisson_expiring_semaphore", {{&permit}}},
      {"redisson_mutex", {{&redisson_lock}, {&redisson_fenced}}},
      {"redisson_fair_mutex", {{&redisson_fair}}},
      {"redisson_multi_mutex",
       {{&redisson_multi, {"a", "orders"}}, {&redisson_multi, {"b", "orders"}}, {&redisson_lock}}},
      {"latch", {{&latch}}},
      {"redisson_latch", {{&redisson_latch}}},
      {"barrier", {{&barrier}}},
      {"condition", {{&mutex_with_condition}, {&fair_with_condition}, {&mutex_with_condition}}},
      {"condition_of_readers_and_writers", {{&fair_with_condition}, {&plain_reader}}},
      {"quorum_mutex", {{&quorum_mutex}}, 3},
      {"redisson_quorum_mutex", {{&redisson_quorum_mutex}}, 3},
  };
  return all;
}

}  // namespace holdfast::simulation
