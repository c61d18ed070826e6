#include "plain_lock.hpp"

#include "statistics.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::server {
namespace {

constexpr std::int64_t minute = 60'000;
constexpr std::int64_t tokens_of_a_grant = 65;  // for a series of handoffs

constexpr std::string_view reader_suffix{":r"};
constexpr std::string_view upgrading_suffix{":w"};

bool is_reader(std::string_view owner) { return owner.ends_with(reader_suffix) || is_upgrade(owner); }

std::string_view number_of(std::string_view owner) {
  constexpr std::size_t uuid_and_colon = 37;
  if (is_reader(owner)) owner.remove_suffix(reader_suffix.size());  // as long as upgrade_suffix
  return owner.substr(std::min(owner.size(), uuid_and_colon));
}

std::int64_t whole(double score) {
  constexpr auto most = static_cast<double>(largest_number);
  return static_cast<std::int64_t>(std::clamp(score, -most, most));
}

}  // namespace

stored_key& plain_lock::queue() {
  if (!queue_) queue_.emplace(call_.context(), call_.queue());
  return *queue_;
}

bool plain_lock::has_queue() {
  if (queue_) return !queue_->is_absent();
  is_without_queue_ = is_without_queue_ || !exists(call_.context(), call_.queue());
  return !is_without_queue_;
}

void plain_lock::leave_queue(abi::string* const owner) {
  if (has_queue()) queue().remove_member(owner);
}

bool plain_lock::has_sound_side_keys() {
  using state = token_counter::state;
  auto const counter = counter_.look();
  if (counter == state::other_type || (has_queue() && !queue().is_absent_or(abi::zset_key))) {
    call_.refuse(abi::wrong_type);
  } else if (counter == state::no_number) {
    call_.refuse("WRONGTYPE the token counter is no number");
  }
  return !call_.refused();
}

bool plain_lock::set_holder(abi::string* const owner, std::int64_t const ttl_ms) {
  if (lock_.set(owner, call_.after(ttl_ms))) return true;
  call_.refuse("ERR this server can't write the lock");
  return false;
}

void plain_lock::reply_tokens(std::int64_t const wanted) {
  auto const block = counter_.take(wanted);
  if (!block) return call_.refuse("ERR this server can't write the token counter");
  call_.reply_list(std::array<long long, 2>{block->first, block->count});
}

void plain_lock::reply_passed(std::int64_t const wanted) {
  auto const block = counter_.take(wanted);
  if (!block) return call_.refuse("ERR this server can't write the token counter");
  call_.reply_list(std::array<long long, 3>{1, block->first, block->count});
}

std::int64_t plain_lock::join(abi::string* const owner, place const& where) {
  auto ticket = where.ticket;
  if (!ticket) {
    if (auto const score = queue().score_of(owner)) {
      ticket = whole(*score);
    } else {
      auto now = call_.now_us();
      auto const last = queue().last();
      if (last && static_cast<double>(now) <= last->score) now = whole(last->score) + 1;
      ticket = now - where.waited_us;
      ++counts.queued;
    }
  }
  queue().add(owner, static_cast<double>(*ticket));
  queue().expire_at(call_.after(minute));
  return *ticket;
}

std::optional<long long> plain_lock::wake(queue_entry const& waiter, publishing const mode) {
  auto const owner = waiter.member.text();
  auto const message = std::string{"woken "}.append(number_of(owner)).append(" ").append(lock_.name());
  return tell_waiter(call_.context(), mode, owner, queue().name(), message);
}

/// Owns the lock before it is told. When nobody hears it, it doesn't any more.
std::optional<long long> plain_lock::grant(queue_entry const& waiter, grant_policy const& policy) {
  auto const owner = waiter.member.text();
  auto const tokens = counter_.take(tokens_of_a_grant);
  if (!tokens || !lock_.set(waiter.member.get(), call_.after(policy.grant_ms))) return std::nullopt;
  auto const heard =
      tell_waiter(call_.context(), policy.mode, owner, queue().name(), grant_message(owner, *tokens));
  if (heard.value_or(0) == 0) lock_.remove();
  return heard;
}

std::string plain_lock::grant_message(std::string_view const owner, token_block const& tokens) const {
  return std::string{"granted "}
      .append(number_of(owner))
      .append(" ")
      .append(std::to_string(tokens.first))
      .append(" ")
      .append(std::to_string(tokens.count))
      .append(" ")
      .append(lock_.name());
}

bool plain_lock::is_shared() const { return holder() == held_by_readers; }

bool plain_lock::is_read_alone() const {
  constexpr std::size_t place_of_colon = 36;
  auto const reader = holder();
  return reader && reader->size() > place_of_colon && (*reader)[place_of_colon] == ':' &&
         reader->ends_with(reader_suffix) && lock_.ttl_ms() > 0;
}

bool plain_lock::make_reader_one_of(stored_key& readers) {
  owned_string const reader{call_.context(), *holder()};
  expiry const end{lock_.expires_at()};
  readers.remove();
  readers.add(reader.get(), end);
  readers.expire_at(end);
  return lock_.set(word_of_readers(), end);
}

owned_string plain_lock::readers_name() {
  constexpr std::string_view ending_of_queues{"queue"};
  auto const name = queue().name();
  auto const text = std::string{name.substr(0, name.size() - ending_of_queues.size())}.append("readers");
  return {call_.context(), text};
}

bool plain_lock::is_one_of_its_keys(owned_string const& name) const {
  return name.text() == lock_.name() || name.text() == text_of(call_.counter());
}

bool plain_lock::has_readers_beside() {
  return are_here(call_.context(), call_.keys()[0], readers_name().get());
}

wake_outcome plain_lock::let_readers_in(grant_policy const& policy) {
  auto const name = readers_name();
  if (is_one_of_its_keys(name) || !has_readers_beside()) return wake_outcome::spoilt;
  stored_key readers{call_.context(), name.get()};
  if (!queue().is_absent_or(abi::zset_key) || !readers.is_absent_or(abi::zset_key))
    return wake_outcome::spoilt;
  if (is_read_alone() && !make_reader_one_of(readers)) return wake_outcome::spoilt;
  auto const shared = is_shared();
  auto const ends_at = call_.after(policy.grant_ms);
  std::optional<token_block> tokens;
  auto outcome = wake_outcome::nobody;
  std::optional<bool> upgrade_is_taken;
  std::vector<queue_entry> passed_over;
  while (auto waiter = queue().first()) {
    auto const owner = waiter->member.text();
    if (is_upgrade(owner) && !upgrade_is_taken)
      upgrade_is_taken =
          shared && readers.has_member(upgrade_suffix, static_cast<double>(call_.now_us()) / 1000);
    if (is_upgrade(owner) && *upgrade_is_taken) {
      queue().remove_member(waiter->member.get());
      passed_over.push_back(std::move(*waiter));
      continue;
    }
    if (!is_reader(owner)) {
      queue().expire_at(call_.after(minute));
      break;
    }
    if (!tokens) {
      if (counter_.look() != token_counter::state::sound) return wake_outcome::spoilt;
      tokens = counter_.take(1);
      if (!tokens) return wake_outcome::spoilt;
      if (!shared) readers.remove();
      if (!shared && !lock_.set(word_of_readers(), ends_at)) return wake_outcome::spoilt;
    }
    queue().remove_member(waiter->member.get());
    readers.add(waiter->member.get(), static_cast<double>(ends_at.when()));
    auto const heard =
        tell_waiter(call_.context(), policy.mode, owner, queue().name(), grant_message(owner, *tokens));
    if (heard.value_or(0) == 0) {
      readers.remove_member(waiter->member.get());
    } else {
      outcome = wake_outcome::granted;
      ++counts.granted;
      if (is_upgrade(owner)) upgrade_is_taken = true;
    }
    if (!heard) {
      queue().add(waiter->member.get(), waiter->score);
      queue().expire_at(call_.after(minute));
      if (outcome == wake_outcome::nobody) outcome = wake_outcome::mute;
      break;
    }
    if (*heard == 0) ++counts.unreachable;
  }
  for (auto const& each : passed_over) queue().add(each.member.get(), each.score);
  if (!passed_over.empty()) queue().expire_at(call_.after(minute));
  if (auto const last = readers.last(); outcome == wake_outcome::granted && last) {
    expiry const end{time_in(last->score)};
    lock_.expire_at(end);
    readers.expire_at(end);
  } else if (tokens && !shared) {
    lock_.remove();
  }
  return outcome;
}

bool plain_lock::back_to_upgrade(abi::string* const owner, grant_policy const& policy) {
  auto const name = readers_name();
  if (is_one_of_its_keys(name)) return false;
  {
    stored_key readers{call_.context(), name.get()};
    owned_string const writer{call_.context(), std::string{text_of(owner)}.append(upgrading_suffix)};
    if (!readers.is(abi::zset_key) || !readers.score_of(writer.get())) return false;
    readers.remove_member(writer.get());
    auto const last = readers.last();
    if (!last || last->score - static_cast<double>(call_.now_us()) / 1000 < 1) return false;
    expiry const end{time_in(last->score)};
    if (!lock_.set(word_of_readers(), end)) return false;
    readers.expire_at(end);
  }
  static_cast<void>(let_readers_in(policy));
  return true;
}

wake_outcome plain_lock::wake_next(grant_policy const& policy, abi::string* const self) {
  if (!has_queue()) return wake_outcome::nobody;
  if (!queue().is_absent_or(abi::zset_key)) return wake_outcome::spoilt;
  while (auto const waiter = queue().first()) {
    if (is_reader(waiter->member.text())) {
      auto const outcome = let_readers_in(policy);
      // Who waits for an upgrade lease beside readers stays at the head.
      if (outcome != wake_outcome::nobody || is_shared()) return outcome;
      continue;
    }
    queue().remove_member(waiter->member.get());
    if (waiter->member.text().ends_with(upgrading_suffix)) continue;
    if (self != nullptr && waiter->member.text() == text_of(self)) return wake_outcome::self;
    auto const waited_us = static_cast<double>(call_.now_us()) - waiter->score;
    auto const starved = policy.starvation_us <= 0 || waited_us >= static_cast<double>(policy.starvation_us);
    if (starved && counter_.look() != token_counter::state::sound) return wake_outcome::spoilt;
    auto const heard = starved ? grant(*waiter, policy) : wake(*waiter, policy.mode);
    if (!heard) {
      queue().add(waiter->member.get(), waiter->score);
      queue().expire_at(call_.after(minute));
      return wake_outcome::mute;
    }
    if (*heard > 0) {
      ++(starved ? counts.granted : counts.woken);
      return starved ? wake_outcome::granted : wake_outcome::woken;
    }
    ++counts.unreachable;
  }
  return wake_outcome::nobody;
}

long long plain_lock::ahead_of(abi::string* const owner) {
  return rank_of(call_.context(), call_.queue(), owner);
}

request::busy plain_lock::state(std::int64_t const last_token, long long const ahead,
                                std::int64_t const ticket) {
  auto const held_us = call_.now_us() - last_token;
  counter_.mend();
  if (is_shared()) {
    if (auto const name = readers_name(); !is_one_of_its_keys(name)) {
      stored_key const readers{call_.context(), name.get()};
      if (auto last = readers.is(abi::zset_key) ? readers.last() : std::nullopt)
        reader_.emplace(std::move(*last));
    }
  }
  return {.ttl_ms = lock_.ttl_ms(),
          .ahead = ahead,
          .ticket = ticket,
          .counter = last_token,
          .holder = reader_ ? reader_->member.text() : holder().value_or(std::string_view{}),
          .held_us = last_token == 0 || held_us < 0 || is_shared() || is_read_alone() ? -1 : held_us};
}

}  // namespace holdfast::server
