#include "engine/quorum/errand.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::engine {
namespace {

int weight(resp::reply const& what) noexcept {
  if (what.is_error() || what.is_nil()) return what.is_error() ? 1 : 2;
  return what.is_array() && what.size() == 0 ? 3 : 4;
}

}  // namespace

quorum::errand::errand(quorum& home, net::request what)
    : canvass{home.on_, home.nodes_}, home_{home}, what_{std::move(what)} {}

void quorum::errand::run() {
  for (std::size_t i = 0; i != masters(); ++i) {
    if (!node(i).present()) continue;
    canvass::send({.who = i}, {.bytes = what_.bytes,
                               .done = {},
                               .in_full = what_.in_full,
                               .what = what_.what,
                               .while_down = what_.while_down,
                               .give_up = what_.give_up,
                               .key = what_.key,
                               .over = what_.over});
  }
  asked_ = true;
  conclude();
}

void quorum::errand::answered(question /*what*/, net::answer&& how) {
  if (!how.failure) {
    ++answers_;
    if (answers_ == 1 || weight(how.reply) > weight(best_.reply)) best_ = std::move(how);
  }
  conclude();
}

void quorum::errand::give_up() noexcept {
  if (what_.done) std::exchange(what_.done, {})({.failure = home_.no_memory});
}

void quorum::errand::conclude() {
  if (!asked_ || !what_.done) return;
  for (std::size_t i = 0; i != masters(); ++i) {
    if (pending(i)) return;
  }
  if (answers_ < home_.majority()) best_ = {.failure = home_.too_few()};
  std::exchange(what_.done, {})(std::move(best_));
}

}  // namespace holdfast::engine
