/// One call of a command: its keys, its arguments in their order, and its reply. Everything about the
/// arguments is checked before anything is changed.
#pragma once

#include "stored_key.hpp"
#include "tokens.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace holdfast::server {

/// How those who wait are told: see scripts/include/wake_next.lua and tell.lua.
enum class publishing { counted, sharded, uncounted };

class request {
 public:
  request(abi::context* context, std::span<abi::string* const> keys, std::span<abi::string* const> arguments)
      : context_{context}, keys_{keys}, arguments_{arguments} {}

  [[nodiscard]] abi::context* context() const { return context_; }
  [[nodiscard]] std::span<abi::string* const> keys() const { return keys_; }
  /// The keys beside a lock: those that were given, or those of its name.
  [[nodiscard]] abi::string* counter() { return side_key(0, "holdfast_token"); }
  [[nodiscard]] abi::string* queue() { return side_key(1, "holdfast_queue"); }
  [[nodiscard]] abi::string* readers() { return side_key(2, "holdfast_readers"); }
  [[nodiscard]] abi::string* permit_queue() { return side_key(1, "holdfast_permit_queue"); }
  [[nodiscard]] abi::string* number_of_permits() { return side_key(2, "holdfast_permits"); }
  /// The server's clock when the command began, in microseconds since the epoch; it stands still meanwhile.
  [[nodiscard]] std::int64_t now_us();
  [[nodiscard]] unix_ms now_ms() { return now_us() / 1000; }
  /// Would the server refuse a command that takes memory?
  [[nodiscard]] bool is_out_of_memory() const;

  // The next argument. One that is wrong is replied as an error, once, and then `refused()`.
  [[nodiscard]] abi::string* string();
  [[nodiscard]] std::string_view text() { return text_of(string()); }
  [[nodiscard]] std::int64_t number(char const* name, std::int64_t least, std::int64_t most = largest_number);
  /// A time to live.
  [[nodiscard]] std::int64_t milliseconds(char const* name) { return number(name, 1); }
  /// When a time to live is over that begins now.
  [[nodiscard]] expiry after(std::int64_t milliseconds) { return expiry{now_ms() + milliseconds}; }
  /// Is it the first of two words? It must be one of them.
  [[nodiscard]] bool is_first_of(char const* name, std::string_view first, std::string_view second);
  [[nodiscard]] publishing how_to_publish();
  /// False: those that are left out have their usual values.
  [[nodiscard]] bool has_more() const { return next_ < arguments_.size(); }
  /// All that are left.
  [[nodiscard]] std::span<abi::string* const> rest();

  void refuse(char const* error);
  /// For what only the script does: whoever calls sends it as that. Nothing has been changed.
  void leave_to_the_script() { refuse("BYSCRIPT this needs the script"); }
  /// `beginning`, and what type the key is of.
  void refuse_type(std::string_view beginning, abi::string* key, std::string_view end = {});
  [[nodiscard]] bool refused() const { return refused_; }

  void reply(long long number) const { abi::redis.reply_integer(context_, number); }
  void reply_list(std::span<long long const> numbers) const;
  /// As a busy reply of the scripts: see busy_reply.lua.
  struct busy {
    long long ttl_ms;
    long long ahead = -1;
    long long ticket = 0;
    long long counter = 0;
    std::string_view holder{};
    long long held_us = -1;
  };
  void reply_busy(busy const& state) const;
  /// With a 2 before it, as the reply of a pass.
  void reply_passed_on(busy const& state) const;

 private:
  [[nodiscard]] abi::string* side_key(std::size_t index, std::string_view suffix);
  void reply_elements(busy const& state) const;

  abi::context* context_;
  std::span<abi::string* const> keys_;
  std::span<abi::string* const> arguments_;
  std::array<std::optional<owned_string>, 3> side_keys_{};  ///< that were made of the name
  std::size_t next_ = 0;
  std::int64_t now_us_ = 0;
  bool refused_ = false;
};

}  // namespace holdfast::server
