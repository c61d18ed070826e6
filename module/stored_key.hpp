/// One key of the keyspace, opened for reading and writing. Whatever changes it goes to replicas and into the
/// append-only file as a plain command (SET, PEXPIREAT, DEL, ZADD, ZREM, HSET, HDEL), so these need no
/// module; WATCH and keyspace notifications see what they would see of that command.
#pragma once

#include "abi.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace holdfast::server {

/// Milliseconds since the epoch.
using unix_ms = long long;

[[nodiscard]] inline std::string_view text_of(abi::string const* string) {
  std::size_t size = 0;
  auto const* const text = abi::redis.string_text(string, &size);
  return {text, size};
}

/// A string of the server's that we made.
class owned_string {
 public:
  owned_string(abi::context* context, std::string_view text)
      : context_{context}, string_{abi::redis.create_string(context, text.data(), text.size())} {}
  owned_string(abi::context* context, abi::string* adopted) : context_{context}, string_{adopted} {}
  ~owned_string() {
    if (string_ != nullptr) abi::redis.free_string(context_, string_);
  }
  owned_string(owned_string&& other) noexcept
      : context_{other.context_}, string_{std::exchange(other.string_, nullptr)} {}
  owned_string& operator=(owned_string&&) = delete;

  [[nodiscard]] abi::string* get() const { return string_; }
  [[nodiscard]] std::string_view text() const { return text_of(string_); }

 private:
  abi::context* context_;
  abi::string* string_;
};

/// When keys expire. Making its text is a good part of what it costs to replicate a command, so that is made
/// only when it is needed, and used for all keys, also of the next requests while they mean the same time.
class expiry {
 public:
  explicit expiry(unix_ms when) : when_{when} {}

  [[nodiscard]] unix_ms when() const { return when_; }
  [[nodiscard]] owned_string text() const;

 private:
  unix_ms when_;
};

/// The time that a score says, which may be any number: one that a key can end at.
[[nodiscard]] unix_ms time_in(double score);

/// Cheaper than to open it.
[[nodiscard]] bool exists(abi::context*, abi::string* name);

struct queue_entry {
  owned_string member;
  double score;
};

/// The word that a lock's key is while readers have it.
inline constexpr std::string_view held_by_readers{"holdfast_readers"};
[[nodiscard]] abi::string* word_of_readers();

/// What this file keeps while the module is loaded.
void make_shared_words();
void free_shared_words();

/// While an object exists no other may have the same key: each remembers where the value is.
class stored_key {
 public:
  stored_key(abi::context* context, abi::string* name)
      : context_{context}, name_{name}, key_{abi::redis.open_key(context, name, mode)} {}
  ~stored_key() { abi::redis.close_key(key_); }
  stored_key(stored_key const&) = delete;
  stored_key& operator=(stored_key const&) = delete;

  [[nodiscard]] std::string_view name() const { return text_of(name_); }
  [[nodiscard]] abi::key_type type() const { return static_cast<abi::key_type>(abi::redis.type_of(key_)); }
  [[nodiscard]] bool is(abi::key_type wanted) const { return type() == wanted; }
  [[nodiscard]] bool is_absent() const { return is(abi::no_key); }
  [[nodiscard]] bool is_absent_or(abi::key_type wanted) const {
    auto const found = type();
    return found == abi::no_key || found == wanted;
  }
  /// -1: it has none.
  [[nodiscard]] long long ttl_ms() const { return abi::redis.ttl(key_); }
  /// no_expiry: never.
  [[nodiscard]] unix_ms expires_at() const { return abi::redis.expiry(key_); }

  void expire_at(expiry const& when);
  /// As expire_at, but never sooner than it expires now.
  void expire_not_before(expiry const& when);
  void remove();
  /// Both, as one command.
  void remove_with(stored_key& other);

  // A string.
  /// Valid until the key changes. Nothing if it is absent or something else.
  [[nodiscard]] std::optional<std::string_view> text() const;
  /// Whatever it was before. False: this server can't.
  [[nodiscard]] bool set(abi::string* text, expiry const& when);
  [[nodiscard]] bool set_without_expiry(abi::string* text);
  /// It is a string, and expires when it did before.
  [[nodiscard]] bool replace_text(abi::string* text);

  // A sorted set of waiters, of readers, or of permits. It may be absent; it is of no other type.
  [[nodiscard]] std::optional<double> score_of(abi::string* member) const;
  [[nodiscard]] std::optional<queue_entry> first() const;
  [[nodiscard]] std::optional<queue_entry> last() const;
  [[nodiscard]] std::size_t member_count() const { return abi::redis.value_length(key_); }
  /// One whose name ends so has a score above that. Looks at all of them.
  [[nodiscard]] bool has_member(std::string_view ending, double above) const;
  void add(abi::string* member, double score);
  /// Its score is that time.
  void add(abi::string* member, expiry const& until);
  struct scored {
    abi::string* member;
    double score;
    abi::string* text;  ///< the score
  };
  /// Two or three, as one command.
  void add(std::span<scored const> members);
  void remove_member(abi::string* member);

  // A hash.
  [[nodiscard]] std::size_t field_count() const { return abi::redis.value_length(key_); }
  [[nodiscard]] bool has_field(abi::string* field) const;
  /// The field's value is 1. The key is absent or a hash.
  void set_field(abi::string* field);
  void remove_field(abi::string* field);

 private:
  static constexpr int mode = abi::open_to_read | abi::open_to_write;

  /// The member that the iterator was set to, whose end this is.
  [[nodiscard]] std::optional<queue_entry> current() const;
  [[nodiscard]] bool write(std::string_view text);
  [[nodiscard]] bool write(std::string_view text, unix_ms when);
  void changed(int kind, char const* event);

  abi::context* context_;
  abi::string* name_;
  abi::key* key_;
};

}  // namespace holdfast::server
