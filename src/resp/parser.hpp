/// Parses replies, from pieces of any size, within limits.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "resp/reply.hpp"

namespace holdfast::resp {

struct limits {
  std::size_t max_bytes = 16u << 20;  ///< one reply, with all its elements, as it occupies memory here
  int max_depth = 8;                  ///< arrays in arrays
};

/// Incremental RESP2 parser without I/O. Not from a library, because the peer needn't be Redis: a length over
/// the limit is refused when it is declared, before a byte of it is stored. For any input memory stays
/// bounded by about three times `max_bytes`.
///
///     auto room = parser.prepare(4096);
///     parser.commit(read(fd, room.data(), room.size()));
///     for (reply r; parser.next(r) == parser::outcome::reply;) use(r);
class parser {
 public:
  enum class outcome {
    reply,       ///< `out` is the next reply
    incomplete,  ///< feed more
    broken,      ///< not RESP, or over a limit: see why(); stays so until reset()
  };

  explicit parser(limits most = {});

  /// Room to read at least `at_least` bytes into. Valid until the next call of a member function.
  [[nodiscard]] std::span<char> prepare(std::size_t at_least);

  /// The first n bytes of the room now hold data.
  void commit(std::size_t n);

  /// `out` is valid only with outcome::reply.
  [[nodiscard]] outcome next(reply& out);

  /// The reason for outcome::broken, with a quote of the first bytes.
  [[nodiscard]] std::string const& why() const noexcept { return reason_; }

  /// For a new connection: discards all data, and the reason.
  void reset();

  /// The size of the buffer.
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

 private:
  /// An incomplete array with its elements so far.
  struct frame {
    reply array;
    std::size_t missing;
  };
  enum class step { value, opened, incomplete, broken };

  step read(reply& out);
  step read_line(std::string_view& out);
  step read_bulk(std::string_view header, reply& out);
  step read_array(std::string_view header, reply& out);
  bool charge(std::size_t bytes);
  void resize(std::size_t capacity);
  step fail(std::string reason);
  [[nodiscard]] std::string unexpected() const;
  [[nodiscard]] std::size_t live() const noexcept { return end_ - begin_; }

  limits limits_;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;     ///< of the data that isn't parsed yet
  std::size_t end_ = 0;       ///< of the data
  std::size_t scanned_ = 0;   ///< from begin_, known to hold no line end
  std::size_t charged_ = 0;   ///< memory of the reply being parsed
  bool speaks_resp_ = false;  ///< a whole reply was parsed since the last reset
  std::vector<frame> open_;
  std::string reason_;
};

}  // namespace holdfast::resp
