#include "stored_key.hpp"

#include "audience.hpp"
#include "kept_texts.hpp"
#include "tokens.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>

namespace holdfast::server {

using abi::redis;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A score as ZADD takes it, exactly.
std::string written(double score) {
  char text[512];  // more than the longest double without an exponent
  constexpr double longest = 1e18;
  auto const whole = std::isfinite(score) && std::floor(score) == score;
  if (whole && std::abs(score) < longest) {
    auto const* const end = std::to_chars(text, text + sizeof text, static_cast<std::int64_t>(score)).ptr;
    return std::string{static_cast<char const*>(text), end};
  }
  auto const size = std::snprintf(text, sizeof text, whole ? "%.0f" : "%.17g", score);
  return {text, static_cast<std::size_t>(size)};
}

/// The words of replicated commands that are made once.
constinit abi::string* word_pxat = nullptr;
constinit abi::string* word_keepttl = nullptr;
constinit abi::string* readers_word = nullptr;

/// Of times: an acquisition needs one for the lock and one for its counter.
constinit kept_texts<2> last_times;

}  // namespace

void make_shared_words() {
  word_pxat = redis.create_string(nullptr, "PXAT", 4);
  word_keepttl = redis.create_string(nullptr, "KEEPTTL", 7);
  readers_word = redis.create_string(nullptr, held_by_readers.data(), held_by_readers.size());
}

void free_shared_words() {
  redis.free_string(nullptr, std::exchange(word_pxat, nullptr));
  redis.free_string(nullptr, std::exchange(word_keepttl, nullptr));
  redis.free_string(nullptr, std::exchange(readers_word, nullptr));
  last_times.forget();
}

abi::string* word_of_readers() { return readers_word; }

unix_ms time_in(double const score) {
  constexpr auto most = static_cast<double>(largest_number);
  return static_cast<unix_ms>(std::clamp(score, 0.0, most));
}

bool exists(abi::context* const context, abi::string* const name) {
  if (redis.key_exists != nullptr) return redis.key_exists(context, name) != 0;
  return !stored_key{context, name}.is_absent();
}

owned_string expiry::text() const { return {nullptr, last_times.of(when_)}; }

void stored_key::changed(int const kind, char const* const event) {
  redis.signal_modified(context_, name_);
  redis.notify(context_, kind, event, name_);
}

void stored_key::expire_at(expiry const& when) {
  redis.set_expiry(key_, when.when());
  tell([&] { redis.replicate(context_, "PEXPIREAT", "ss", name_, when.text().get()); });
  changed(abi::notify_generic, "expire");
}

void stored_key::expire_not_before(expiry const& when) {
  auto const now = expires_at();
  if (now > when.when()) {
    expire_at(expiry{now});
  } else {
    expire_at(when);
  }
}

void stored_key::remove() {
  if (is_absent()) return;
  redis.delete_key(key_);
  tell([&] { redis.replicate(context_, "DEL", "s", name_); });
  changed(abi::notify_generic, "del");
}

void stored_key::remove_with(stored_key& other) {
  redis.delete_key(key_);
  redis.delete_key(other.key_);
  tell([&] { redis.replicate(context_, "DEL", "ss", name_, other.name_); });
  changed(abi::notify_generic, "del");
  other.changed(abi::notify_generic, "del");
}

std::optional<std::string_view> stored_key::text() const {
  if (!is(abi::string_key)) return std::nullopt;
  std::size_t size = 0;
  auto const* const text = redis.string_in_place(key_, &size, abi::open_to_read);
  return std::string_view{text, size};
}

/// In place: a value that was written so can be read without a copy, while the server turns others into that
/// form first, at the cost of two allocations.
bool stored_key::write(std::string_view const text) {
  if (text.empty()) {
    owned_string const nothing{context_, text};
    return redis.string_set(key_, nothing.get()) == abi::ok;
  }
  auto const fits = is(abi::string_key) && redis.value_length(key_) == text.size();
  if (!fits && redis.string_truncate(key_, text.size()) != abi::ok) return false;
  std::size_t size = 0;
  std::memcpy(redis.string_in_place(key_, &size, abi::open_to_write), text.data(), text.size());
  return true;
}

bool stored_key::write(std::string_view const text, unix_ms const when) {
  if (!is_absent_or(abi::string_key)) redis.delete_key(key_);
  if (!write(text)) return false;
  redis.set_expiry(key_, when);
  changed(abi::notify_string, "set");
  if (when != abi::no_expiry) redis.notify(context_, abi::notify_generic, "expire", name_);
  return true;
}

bool stored_key::set(abi::string* const text, expiry const& when) {
  if (!write(text_of(text), when.when())) return false;
  tell([&] { redis.replicate(context_, "SET", "ssss", name_, text, word_pxat, when.text().get()); });
  return true;
}

bool stored_key::set_without_expiry(abi::string* const text) {
  if (!write(text_of(text), abi::no_expiry)) return false;
  tell([&] { redis.replicate(context_, "SET", "ss", name_, text); });
  return true;
}

bool stored_key::replace_text(abi::string* const text) {
  if (!write(text_of(text))) return false;
  tell([&] { redis.replicate(context_, "SET", "sss", name_, text, word_keepttl); });
  changed(abi::notify_string, "set");
  return true;
}

std::optional<double> stored_key::score_of(abi::string* const member) const {
  double score = 0;
  if (is_absent() || redis.zset_score(key_, member, &score) != abi::ok) return std::nullopt;
  return score;
}

std::optional<queue_entry> stored_key::current() const {
  double score = 0;
  owned_string member{context_, redis.zset_current(key_, &score)};
  redis.zset_stop(key_);
  if (member.get() == nullptr) return std::nullopt;
  return queue_entry{.member = std::move(member), .score = score};
}

std::optional<queue_entry> stored_key::first() const {
  if (is_absent()) return std::nullopt;
  redis.zset_first(key_, -infinity, infinity, 0, 0);
  return current();
}

std::optional<queue_entry> stored_key::last() const {
  if (is_absent()) return std::nullopt;
  redis.zset_last(key_, -infinity, infinity, 0, 0);
  return current();
}

bool stored_key::has_member(std::string_view const ending, double const above) const {
  if (is_absent()) return false;
  auto found = false;
  for (auto more = redis.zset_first(key_, above, infinity, 1, 0) == abi::ok; more && !found;
       more = redis.zset_next(key_) != 0) {
    if (auto* const member = redis.zset_current(key_, nullptr); member != nullptr)
      found = owned_string{context_, member}.text().ends_with(ending);
  }
  redis.zset_stop(key_);
  return found;
}

void stored_key::add(abi::string* const member, double const score) {
  if (redis.zset_add(key_, score, member, nullptr) != abi::ok) return;
  tell([&] { redis.replicate(context_, "ZADD", "scs", name_, written(score).c_str(), member); });
  changed(abi::notify_zset, "zadd");
}

void stored_key::add(abi::string* const member, expiry const& until) {
  redis.zset_add(key_, static_cast<double>(until.when()), member, nullptr);
  tell([&] { redis.replicate(context_, "ZADD", "sss", name_, until.text().get(), member); });
  changed(abi::notify_zset, "zadd");
}

void stored_key::add(std::span<scored const> const members) {
  for (auto const& each : members) redis.zset_add(key_, each.score, each.member, nullptr);
  auto const& first = members[0];
  auto const& second = members[1];
  if (members.size() == 2) {
    tell([&] {
      redis.replicate(context_, "ZADD", "sssss", name_, first.text, first.member, second.text, second.member);
    });
  } else {
    tell([&] {
      redis.replicate(context_, "ZADD", "sssssss", name_, first.text, first.member, second.text,
                      second.member, members[2].text, members[2].member);
    });
  }
  changed(abi::notify_zset, "zadd");
}

void stored_key::remove_member(abi::string* const member) {
  int deleted = 0;
  redis.zset_remove(key_, member, &deleted);
  if (deleted == 0) return;
  tell([&] { redis.replicate(context_, "ZREM", "ss", name_, member); });
  changed(abi::notify_zset, "zrem");
  if (is_absent()) redis.notify(context_, abi::notify_generic, "del", name_);
}

bool stored_key::has_field(abi::string* const field) const {
  int exists = 0;
  if (!is(abi::hash_key)) return false;
  redis.hash_get(key_, abi::hash_exists, field, &exists, nullptr);
  return exists != 0;
}

void stored_key::set_field(abi::string* const field) {
  owned_string const mark{context_, "1"};
  redis.hash_set(key_, abi::hash_plain, field, mark.get(), nullptr);
  tell([&] { redis.replicate(context_, "HSET", "ssc", name_, field, "1"); });
  changed(abi::notify_hash, "hset");
}

void stored_key::remove_field(abi::string* const field) {
  redis.hash_set(key_, abi::hash_plain, field, abi::hash_delete, nullptr);
  tell([&] { redis.replicate(context_, "HDEL", "ss", name_, field); });
  changed(abi::notify_hash, "hdel");
  if (is_absent()) redis.notify(context_, abi::notify_generic, "del", name_);
}

}  // namespace holdfast::server
