/// How requests are said to a server that has other commands to the same effect, or lacks those of the
/// request. Interfaces only: which commands these are is known above.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "resp/reply.hpp"

namespace holdfast::net {

struct request;

/// Commands that are written together, on behalf of one request.
struct exchange {
  std::string bytes{};        ///< empty: the request as it stands
  std::uint32_t replies = 1;  ///< how many come
  /// Nothing of another request is written behind it until its replies are there.
  bool alone = false;
  std::vector<std::uint32_t> askings{};  ///< the pipeline's: which of the replies are to ASKING

  // The translation's own.
  std::uint8_t way = 0;
  std::uint8_t step = 0;
  std::string note{};
  std::vector<std::int64_t> numbers{};

  /// For another request, with the memory that a usual one takes.
  void clear() noexcept {
    if (bytes.capacity() > usual_size) std::string{}.swap(bytes);
    bytes.clear();
    replies = 1;
    alone = false;
    way = step = 0;
    note.clear();
    if (askings.capacity() != 0) std::vector<std::uint32_t>{}.swap(askings);
    if (numbers.capacity() != 0) std::vector<std::int64_t>{}.swap(numbers);
  }
  static constexpr std::size_t usual_size = 256;
};

/// What the replies to an exchange mean.
struct meaning {
  enum class kind : std::uint8_t {
    answered,  ///< the request has its outcome
    more,      ///< another exchange follows
    unsuited,  ///< the server doesn't do that, and nothing was done: the request has to be said otherwise
  };

  kind type = kind::answered;
  resp::reply reply{};       ///< answered: as the server would reply to the request itself
  exchange next{};           ///< more
  bool carried_out = false;  ///< it has had its effect, or a part of it, whatever comes of the rest

  [[nodiscard]] static meaning answer(resp::reply&& reply, bool effect = false) {
    return {.type = kind::answered, .reply = std::move(reply), .carried_out = effect};
  }
  [[nodiscard]] static meaning go_on(exchange&& next, bool effect = false) {
    return {.type = kind::more, .next = std::move(next), .carried_out = effect};
  }
};

/// Says requests to the server at the other end of one connection. No I/O, no clock. Its functions may throw
/// std::bad_alloc.
class translation {
 public:
  translation() = default;
  translation(translation const&) = delete;
  translation& operator=(translation const&) = delete;
  virtual ~translation() = default;

  /// How the request begins, into `now`, which is empty; it stays so: as it stands. Called once more after
  /// `unsuited`, which changes what it says. `resent`: an earlier copy of the request may have been carried
  /// out, in part or as a whole, on this connection or another.
  virtual void begin(net::request const& request, bool resent, exchange& now) = 0;
  /// `now`: the exchange that the replies are to.
  [[nodiscard]] virtual meaning read(net::request const& request, exchange const& now,
                                     std::span<resp::reply> replies, bool resent) = 0;
  /// A request that was sent as it stands was refused. True: begin() says it otherwise from now on.
  [[nodiscard]] virtual bool reconsiders(net::request const& request, resp::reply const& refusal) = 0;
};

/// Makes the translations of all connections of a client.
class translator {
 public:
  translator() = default;
  translator(translator const&) = delete;
  translator& operator=(translator const&) = delete;
  virtual ~translator() = default;

  /// Sent with the handshake. None of these commands has an effect.
  [[nodiscard]] virtual exchange probe() const = 0;
  /// From the replies to them.
  [[nodiscard]] virtual std::unique_ptr<translation> learn(std::span<resp::reply const> replies) = 0;
};

}  // namespace holdfast::net
