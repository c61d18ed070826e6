// Permits of the plain wire where nobody waits: scripts/permits.

#include "handlers.hpp"
#include "kept_texts.hpp"
#include "statistics.hpp"
#include "token_counter.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::server::permits {
namespace {

/// The first member of the set: with how many there are in its name, and how many of them are out, below
/// zero, as its score.
constexpr std::string_view marker_prefix{"holdfast_permits:"};
/// Who has more than one has a second member, whose score is this and their number.
constexpr std::string_view weight_suffix{":p"};
constexpr std::int64_t heavy = 8'000'000'000'000'000;
constexpr std::int64_t most_permits = 2'147'483'647;
/// Beyond the time of the owner that needs it longest, so that a set in use isn't given a time at each
/// request.
constexpr std::int64_t slack_ms = 1'000;

/// What the owner ids of those end in that have permits without a lease.
constexpr std::string_view without_lease{":l"};
bool has_no_lease(abi::string* const owner) { return text_of(owner).ends_with(without_lease); }

/// A connection broke, and carried this request when its owner had given up: see
/// scripts/include/abandoned.lua.
bool is_late_copy(request& call, abi::string* const owner) {
  if (!has_no_lease(owner)) return false;
  constexpr std::string_view of_counter{"token"};
  auto mark = std::string{text_of(call.counter())};
  mark.resize(mark.size() - std::min(mark.size(), of_counter.size()));
  mark.append("done:").append(text_of(owner));
  return exists(call.context(), owned_string{call.context(), mark}.get());
}

/// How the text of the key begins while one owner alone has one: it, too, is left to the script.
constexpr std::string_view one_permit{"holdfast_permit "};
bool is_of_one(stored_key const& set) { return set.text().value_or("").starts_with(one_permit); }

struct stock {
  owned_string marker;
  std::int64_t number;  ///< how many there are
  std::int64_t out;
};

/// Nothing: the set is something else.
std::optional<stock> stock_in(stored_key const& set) {
  auto first = set.first();
  if (!first || !first->member.text().starts_with(marker_prefix)) return std::nullopt;
  auto const number = parse_number(first->member.text().substr(marker_prefix.size()));
  if (!number || *number < 0 || *number > most_permits || first->score > 0 ||
      first->score < -static_cast<double>(largest_number))
    return std::nullopt;
  return stock{
      .marker = std::move(first->member), .number = *number, .out = -static_cast<std::int64_t>(first->score)};
}

constinit kept_texts<4> last_markers{marker_prefix};
/// Of markers, and of second members.
constinit kept_texts<8> last_scores;

constexpr std::size_t marker_and_owner = 2;  // the members of a set while one owner alone has one permit

/// Of a name that nobody has permits of.
std::optional<stock> new_stock(request& call, std::int64_t const offered) {
  auto number = offered;
  if (exists(call.context(), call.number_of_permits())) {
    stored_key const said{call.context(), call.number_of_permits()};
    auto const text = said.text();
    auto const found = text ? parse_number(*text) : std::nullopt;
    if (!found) return std::nullopt;
    number = *found;
  } else if (number == 0) {
    return std::nullopt;
  }
  if (number < 0 || number > most_permits) return std::nullopt;
  return stock{.marker = {nullptr, last_markers.of(number)}, .number = number, .out = 0};
}

/// Whether this owner alone has one permit. That costs less than a look at the first member. It may be
/// unknown where semaphores of several sizes are in use: false.
bool is_the_only_one(stored_key const& set, abi::string* const owner) {
  auto* const marker = last_markers.latest();
  if (marker == nullptr || set.member_count() != marker_and_owner) return false;
  auto const first = set.score_of(marker);
  auto const second = set.score_of(owner);
  return first && second && *first <= 0 && *first < *second;
}

owned_string weight_of(request& call, abi::string* const owner) {
  return {call.context(), std::string{text_of(owner)}.append(weight_suffix)};
}

}  // namespace

void forget_texts() {
  last_markers.forget();
  last_scores.forget();
}

void acquire(request& call) {
  auto* const owner = call.string();
  auto const amount = call.number("amount", 1, most_permits);
  auto const ttl_ms = call.milliseconds("ttl_ms");
  auto const offered = call.number("offered", 0, most_permits);
  if (call.refused()) return;
  if (is_late_copy(call, owner)) return call.leave_to_the_script();
  stored_key set{call.context(), call.keys()[0]};
  auto const is_new = set.is_absent();
  if ((!is_new && !set.is(abi::zset_key)) || exists(call.context(), call.permit_queue()))
    return call.leave_to_the_script();
  token_counter counter{call};
  auto const known = is_new ? new_stock(call, offered) : stock_in(set);
  if (!known || known->out + amount > known->number || counter.look() != token_counter::state::sound)
    return call.leave_to_the_script();
  if (!is_new && set.score_of(owner)) return call.leave_to_the_script();
  auto const end = call.after(ttl_ms);
  auto const end_text = end.text();
  owned_string const out{nullptr, last_scores.of(-(known->out + amount))};
  std::array<stored_key::scored, 3> entry{
      {{.member = known->marker.get(), .score = -static_cast<double>(known->out + amount), .text = out.get()},
       {.member = owner, .score = static_cast<double>(end.when()), .text = end_text.get()}}};
  if (amount == 1) {
    set.add(std::span{entry}.first(2));
  } else {
    auto const weight = weight_of(call, owner);
    owned_string const score{nullptr, last_scores.of(heavy + amount)};
    entry[2] = {.member = weight.get(), .score = static_cast<double>(heavy + amount), .text = score.get()};
    set.add(entry);
  }
  if (is_new) {
    set.expire_at(end);
  } else if (set.expires_at() < end.when()) {
    set.expire_at(call.after(ttl_ms + slack_ms));
  }
  ++counts.taken;
  auto const token = counter.take(1);
  if (!token) return call.refuse("ERR this server can't write the token counter");
  call.reply_list(std::array<long long, 2>{token->first, 1});
}

void release(request& call) {
  auto* const owner = call.string();
  stored_key set{call.context(), call.keys()[0]};
  if (set.is_absent()) return call.reply(0);
  // By force: the key ends with who is left, and not with an owner that has no lease.
  if (is_of_one(set) || has_no_lease(owner)) return call.leave_to_the_script();
  auto const is_set = set.is(abi::zset_key);
  auto const is_alone = is_set && is_the_only_one(set, owner);
  auto const known = is_set && !is_alone ? stock_in(set) : std::nullopt;
  if (!is_alone && !known) return call.reply(-1);
  if (exists(call.context(), call.permit_queue())) return call.leave_to_the_script();
  if (!is_alone && !set.score_of(owner)) return call.reply(0);
  ++counts.released;
  if (set.member_count() == marker_and_owner) {
    set.remove();
    return call.reply(1);
  }
  auto const weight = weight_of(call, owner);
  auto const score = set.score_of(weight.get());
  auto const amount = score ? static_cast<std::int64_t>(
                                  std::clamp<double>(*score - static_cast<double>(heavy), 1, most_permits))
                            : 1;
  if (known->out <= amount) {
    set.remove();
    return call.reply(1);
  }
  set.remove_member(owner);
  if (score) set.remove_member(weight.get());
  set.add(known->marker.get(), -static_cast<double>(known->out - amount));
  call.reply(1);
}

void renew(request& call) {
  auto const ttl_ms = call.milliseconds("ttl_ms");
  auto const owners = call.rest();
  if (call.refused()) return;
  for (auto* const key : call.keys()) {
    if (is_of_one(stored_key{call.context(), key})) return call.leave_to_the_script();
  }
  auto const end = call.after(ttl_ms);
  std::vector<long long> lost;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    auto const place = static_cast<long long>(i) + 1;
    stored_key set{call.context(), call.keys()[i]};
    auto const score = set.is(abi::zset_key) ? set.score_of(owners[i]) : std::nullopt;
    if (!score || *score <= static_cast<double>(call.now_ms())) {
      lost.push_back(set.is_absent_or(abi::zset_key) ? place : -place);
      continue;
    }
    set.add(owners[i], end);
    if (set.expires_at() < end.when()) set.expire_at(end);
  }
  counts.lost += lost.size();
  counts.renewed += owners.size() - lost.size();
  call.reply_list(lost);
}

}  // namespace holdfast::server::permits
