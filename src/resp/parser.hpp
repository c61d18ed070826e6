/// Reading replies, byte by byte if need be, with limits.
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

/// Incremental RESP2 parser without I/O. Ours, because what answers needn't be Redis: a length over the limit
/// is refused when it is declared, before a byte of it is stored, and whatever comes, memory stays bounded by
/// about three times `max_bytes`.
///
///     auto room = parser.prepare(4096);
///     parser.commit(read(fd, room.data(), room.size()));
///     for (reply r; parser.next(r) == parser::outcome::reply;) use(r);
class parser {
 public:
  enum class outcome {
    reply,       ///< `out` is the next one
    incomplete,  ///< feed more
    broken,      ///< not RESP, or over a limit: see why(); stays so until reset()
  };

  explicit parser(limits most = {});

  /// Room for at least so many bytes, to read into. Valid until the next call of anything here.
  [[nodiscard]] std::span<char> prepare(std::size_t at_least);

  /// The first n bytes of the room now hold data.
  void commit(std::size_t n);

  /// `out` means something only with outcome::reply.
  [[nodiscard]] outcome next(reply& out);

  /// What is wrong with the data, quoting how it begins.
  [[nodiscard]] std::string const& why() const noexcept { return why_; }

  /// For a new connection: forgets all data, and what was wrong.
  void reset();

  /// How much memory the buffer has now.
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

 private:
  /// An array that isn't complete: its elements go here until it is.
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
  step fail(std::string why);
  [[nodiscard]] std::string unexpected() const;
  [[nodiscard]] std::size_t live() const noexcept { return end_ - begin_; }

  limits limits_;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;     ///< of what isn't parsed yet
  std::size_t end_ = 0;       ///< of the data
  std::size_t scanned_ = 0;   ///< from begin_, known to hold no line end
  std::size_t charged_ = 0;   ///< what the reply under way occupies
  bool speaks_resp_ = false;  ///< a whole reply has come since the last reset
  std::vector<frame> open_;
  std::string why_;
};

}  // namespace holdfast::resp
