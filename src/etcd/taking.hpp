/// An acquire request under way.
#pragma once

#include <optional>

#include "etcd/backend.hpp"

namespace holdfast::etcd {

/// Where a place is in the queue, as ask_position() asks.
struct backend::position {
  /// `from`: of its first answer.
  position(place const& of, outcome&& answer, std::size_t from);

  std::optional<key_value> before{};  ///< the newest key that it waits for; none: it has the lock
  std::int64_t others = 0;            ///< keys of the kinds that it waits for
  found first{};                      ///< the oldest key of the lock
};

struct backend::taking {
  place_ptr of{};
  milliseconds ttl{};
  bool join = false;
  scripting::send_options send{};
  handler<engine::verdict> done{};
  int beginnings = 0;
};

template <class Answer>
void backend::finish_failed(taking_ptr const& wanted, response<Answer> const& answer) {
  finish(wanted, no_outcome<engine::verdict>(answer));
}

}  // namespace holdfast::etcd
