/// Writes to Redis that are refused when they come too late: from a holder that was frozen, say, and whose
/// lock somebody else has taken meanwhile.
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/move_only_function.hpp>

#include <array>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast {

/// What became of a checked write.
enum class fence_result : std::uint8_t {
  written,        ///< it was made, once
  refused_stale,  ///< a newer token has been seen: nothing was changed
  refused_lost,   ///< the lease that was given isn't valid any more: nothing was sent
};
[[nodiscard]] std::string_view to_string(fence_result) noexcept;

/// By what right one writes: a lease, or the token of one. A lease is looked at too, so that a holder who
/// knows that its lease is over asks no server.
class fence_token {
 public:
  fence_token(std::int64_t token) noexcept : value_{token} {}
  fence_token(lease const& of) noexcept : value_{of.token()}, lost_{!of.valid()} {}

  [[nodiscard]] std::int64_t value() const noexcept { return value_; }
  [[nodiscard]] bool lost() const noexcept { return lost_; }

 private:
  std::int64_t value_;
  bool lost_ = false;
};

/// A field of a hash, and its new value.
using fence_field = std::pair<std::string_view, std::string_view>;

struct fence_options {
  /// How long the newest token is remembered after the last write; 0: for ever. A holder that was frozen for
  /// longer than that could write again. Without an end each resource ever fenced would leave a key behind.
  /// At most a century.
  std::chrono::milliseconds remember = std::chrono::hours{7 * 24};
};

/// Guards the keys of one resource: remembers the newest fencing token that came with a write, and refuses
/// those that come with an older one.
///
/// *Guarantees.* Check and write are one step at the server. After a write or a claim() with a token none
/// with an older one has any effect. An equal token passes: one lease writes as often as it likes. A write is
/// made at most once, also when its request is sent again because the connection broke: an append is not
/// doubled.
///
/// *Not guaranteed.* Writes that go past the fence aren't checked. The tokens must come from one lock, the
/// same one for all who write to the resource. What the server forgets (restart without persistence,
/// failover, eviction) the fence forgets with it. See docs/fencing.md.
///
/// *Keys.* The mark, `{resource}:holdfast_fence`, holds the newest token. In a Redis Cluster the keys that
/// are written must be in the mark's slot: for the resource `orders` that is `{orders}:total`. Each write
/// leaves a small key `{resource}:holdfast_fence_done:…` for an hour, or until the next write of this object.
///
/// *Cost.* Each operation is one request, and waits for the answer; those that begin with async_ return at
/// once.
///
/// *Threads.* One object may be used by many threads.
///
/// *Errors.* All operations throw errc::unreachable when the server can't be asked, or says no to a request
/// that is sent again because the connection broke (what() says so), which leaves open whether the write was
/// made (set, hash_set and erase may simply be tried again); errc::wrong_type when a key holds another type,
/// errc::unauthorized or errc::refused when the server says no: nothing was changed, and the token isn't
/// remembered. What the server isn't ready for (LOADING, BUSY…) is sent again, for at most reply_timeout +
/// connect_timeout (client_options). std::errc::invalid_argument for a token that isn't positive or an empty
/// key.
class fence {
 public:
  /// Asks no server. Throws std::errc::invalid_argument for a resource that is empty or longer than 64 KiB,
  /// or a time out of range.
  fence(client& redis, std::string resource, fence_options options = {});
  ~fence();
  fence(fence&&) noexcept;
  fence& operator=(fence&&) noexcept;

  /// SET: the key holds the value, without a ttl or with one.
  [[nodiscard]] fence_result set(std::string_view key, std::string_view value, fence_token token);
  [[nodiscard]] fence_result set(std::string_view key, std::string_view value, fence_token token,
                                 std::chrono::milliseconds ttl);

  /// HSET: one field, or several in one step.
  [[nodiscard]] fence_result hash_set(std::string_view key, std::string_view field, std::string_view value,
                                      fence_token token);
  [[nodiscard]] fence_result hash_set(std::string_view key, std::span<fence_field const> fields,
                                      fence_token token);
  [[nodiscard]] fence_result hash_set(std::string_view key, std::initializer_list<fence_field> fields,
                                      fence_token token) {
    return hash_set(key, std::span{fields.begin(), fields.size()}, token);
  }

  /// APPEND: puts the text behind what the key holds.
  [[nodiscard]] fence_result append(std::string_view key, std::string_view text, fence_token token);

  /// INCRBY: adds to the number that the key holds.
  [[nodiscard]] fence_result increment(std::string_view key, std::int64_t by, fence_token token);

  /// DEL. `written` also when there was no such key.
  [[nodiscard]] fence_result erase(std::string_view key, fence_token token);

  /// Any other command that Redis allows in scripts and whose one key is its first argument:
  /// `write(token, "LPUSH", "{orders}:log", line)`. At most 4000 arguments.
  template <std::convertible_to<std::string_view>... Arguments>
  [[nodiscard]] fence_result write(fence_token token, std::string_view command, std::string_view key,
                                   Arguments const&... arguments) {
    std::array<std::string_view, sizeof...(arguments)> const all{std::string_view{arguments}...};
    return write(token, command, key, std::span<std::string_view const>{all});
  }
  [[nodiscard]] fence_result write(fence_token token, std::string_view command, std::string_view key,
                                   std::span<std::string_view const> arguments);

  /// Announces the token without writing. A new holder that reads before it writes claims first: then nothing
  /// that an old holder still sends can change what was read.
  [[nodiscard]] fence_result claim(fence_token token);

  /// The newest token that was seen; 0 when there was none. One request.
  [[nodiscard]] std::int64_t newest();

  // Asynchronous: the same without waiting. `done` is called once, from the client's thread or one that is
  // inside a call of the client, with the result, or with what went wrong: see *Errors*. A lease that isn't
  // valid any more is told before the call returns. What the call is given is copied. Misuse, and a client
  // that is shut down, are thrown.
  //
  // Writes that one thread sends are carried out in their order, unless the server isn't ready for one of
  // them (LOADING, BUSY…), a cluster moves its slot, or the server had forgotten the script (a restart) and
  // hears it from another client in between. The fence may be destroyed meanwhile. The client's end
  // calls `done` with errc::closed.

  using write_handler = move_only_function<void(std::optional<fence_result>, std::exception_ptr)>;
  using token_handler = move_only_function<void(std::optional<std::int64_t>, std::exception_ptr)>;

  void async_set(std::string_view key, std::string_view value, fence_token token, write_handler done);
  void async_set(std::string_view key, std::string_view value, fence_token token,
                 std::chrono::milliseconds ttl, write_handler done);
  void async_hash_set(std::string_view key, std::string_view field, std::string_view value, fence_token token,
                      write_handler done);
  void async_hash_set(std::string_view key, std::span<fence_field const> fields, fence_token token,
                      write_handler done);
  void async_hash_set(std::string_view key, std::initializer_list<fence_field> fields, fence_token token,
                      write_handler done) {
    async_hash_set(key, std::span{fields.begin(), fields.size()}, token, std::move(done));
  }
  void async_append(std::string_view key, std::string_view text, fence_token token, write_handler done);
  void async_increment(std::string_view key, std::int64_t by, fence_token token, write_handler done);
  void async_erase(std::string_view key, fence_token token, write_handler done);
  void async_write(fence_token token, std::string_view command, std::string_view key,
                   std::span<std::string_view const> arguments, write_handler done);
  void async_claim(fence_token token, write_handler done);
  void async_newest(token_handler done);

  [[nodiscard]] std::string const& resource() const noexcept;

 private:
  struct impl;
  std::shared_ptr<impl> impl_;  ///< shared with asynchronous operations
};

}  // namespace holdfast
