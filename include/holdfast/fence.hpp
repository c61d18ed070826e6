/// Writes to Redis or etcd that are refused when they come too late. Example: a holder was frozen, and
/// somebody else has taken its lock meanwhile.
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/export.hpp>
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
  refused_lost,   ///< the lease isn't valid any more: nothing was sent
};
/// Its word, for messages.
HOLDFAST_EXPORT [[nodiscard]] std::string_view to_string(fence_result) noexcept;

/// The right to write: a lease, or the token of one. With a lease the client looks at the lease first: if it
/// is over, the client asks no server.
class HOLDFAST_EXPORT fence_token {
 public:
  /// From a token, or from a lease: then lost() tells whether it is over.
  fence_token(std::int64_t token) noexcept : value_{token} {}
  fence_token(lease const& of) noexcept : value_{of.token()}, lost_{!of.valid()} {}

  /// The token, and whether it came from a lease that was over.
  [[nodiscard]] std::int64_t value() const noexcept { return value_; }
  [[nodiscard]] bool lost() const noexcept { return lost_; }

 private:
  std::int64_t value_;
  bool lost_ = false;
};

/// A field of a hash, and its new value.
using fence_field = std::pair<std::string_view, std::string_view>;

/// Options of a fence.
struct fence_options {
  /// How long the server remembers the newest token after the last write; 0: for ever. A holder that was
  /// frozen for longer than that could write again. Without an end, each resource that was ever fenced would
  /// leave a key behind. At most a century.
  std::chrono::milliseconds remember = std::chrono::hours{7 * 24};
};

/// Guards the keys of one resource. It remembers the newest fencing token that came with a write, and refuses
/// writes that come with an older one.
///
/// *Guarantees.* Check and write are one step at the server. After a write or a claim() with a token, no
/// write with an older token has any effect. An equal token passes, so one lease may write often. A write is
/// made at most once, even if its request is sent again because the connection broke: an append is not
/// doubled.
///
/// *Not guaranteed.* Writes that go past the fence aren't checked. All who write to the resource must take
/// their tokens from the same lock. What the server forgets (restart without persistence, failover,
/// eviction), the fence forgets with it. See docs/fencing.md.
///
/// *Keys.* The mark, `{resource}:holdfast_fence`, holds the newest token. In a Redis Cluster the keys that
/// are written must be in the mark's slot: for the resource `orders` that is `{orders}:total`. Each write
/// leaves a small key `{resource}:holdfast_fence_done:…` for an hour, or until the next write of this object.
///
/// *On etcd* (docs/etcd.md) there are set, append, increment, erase, claim and newest; the others throw
/// std::errc::not_supported. The mark is `resource:holdfast_fence`, and there are no other keys beside those
/// that are written, which have the prefix of the URL in front. A resource has no slash, and no key may begin
/// with the resource and a slash. Times are in whole seconds, rounded up, and the token is remembered for
/// half an hour longer at least. If several objects write to one resource, each change of the writer costs a
/// second request, and the longest `remember` counts.
///
/// *Cost.* Each operation is one request; on etcd append, increment, and set with a ttl are two. It waits for
/// the answer; the operations that begin with async_ return at once.
///
/// *Threads.* Many threads may use one object.
///
/// *Errors.* All operations throw:
/// - errc::unreachable: the server can't be asked; or it refused a request that was sent again because the
///   connection broke (what() says so). Then it is unknown whether the write was made. set, hash_set and
///   erase may simply be tried again.
/// - errc::wrong_type: a key holds another type. errc::unauthorized, errc::refused: the server said no.
///   Nothing was changed, and the token isn't remembered.
/// - errc::refused, on etcd: increment() of what is no integer of 64 bits.
/// - std::errc::invalid_argument: a token that isn't positive, or an empty key.
///
/// If the server isn't ready (LOADING, BUSY…), the request is sent again, for reply_timeout + connect_timeout
/// (client_options) behind the first refusal; each copy takes connect_timeout at most.
class HOLDFAST_EXPORT fence {
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

  /// APPEND: adds the text to the end of what the key holds.
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

  /// Announces the token without writing. A new holder that reads before it writes should claim first. Then
  /// nothing that an old holder still sends can change what the new holder has read.
  [[nodiscard]] fence_result claim(fence_token token);

  /// The newest token that was seen; 0 when there was none. One request.
  [[nodiscard]] std::int64_t newest();

  // Asynchronous: the same without waiting. `done` is called once, with the result or the error (see
  // *Errors*), on the client's thread or on a thread that is inside a call of the client. If the lease isn't
  // valid any more, `done` is called before the function returns. Arguments are copied. Misuse, and a client
  // that is shut down, are thrown.
  //
  // Writes that one thread sends are carried out in their order, with three exceptions: the server isn't
  // ready for one of them (LOADING, BUSY…); a cluster moves the slot; the server had forgotten the script (a
  // restart) and another client sends it in between. The fence may be destroyed meanwhile. When the client
  // ends, it calls `done` with errc::closed.

  /// Called once: with the outcome, or with the error.
  using write_handler = move_only_function<void(std::optional<fence_result>, std::exception_ptr)>;
  using token_handler = move_only_function<void(std::optional<std::int64_t>, std::exception_ptr)>;

  /// The functions above without waiting.
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

  /// The resource, as it was given.
  [[nodiscard]] std::string const& resource() const noexcept;

 private:
  struct HOLDFAST_LOCAL impl;
  std::shared_ptr<impl> impl_;  ///< shared with asynchronous operations
};

}  // namespace holdfast
