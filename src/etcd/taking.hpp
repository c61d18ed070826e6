/// An acquire request under way.
#pragma once

#include "etcd/backend.hpp"

namespace holdfast::etcd {

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
