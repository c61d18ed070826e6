#include "inspect/petitions.hpp"

#include <algorithm>
#include <thread>

#include "inspect/view.hpp"
#include "script/names.hpp"
#include "scripts/inspect.hpp"

namespace holdfast::inspection {
namespace {

namespace lua = scripts::inspect;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

/// A hint channel opens half a second after its client took a lease, so the first question may go unheard.
constexpr auto ask_every = 100ms;
constexpr auto look_every = 10ms;

void ask_holders(engine::core& server, lock_state const& seen, std::span<petition> all,
                 std::string_view mode) {
  std::vector<petition*> pending;
  std::vector<call> questions;
  for (auto& petition : all) {
    if (petition.answer < 0 || petition.without_lease()) continue;
    pending.push_back(&petition);
    auto const& owner = petition.holder->process.owner;
    auto const asked = names::asked(seen.name, owner);
    questions.push_back(lua::ask{.lock = {seen.name}, .asked = {asked}, .owner = owner, .mode = mode}());
  }
  auto const asked_at = clock::now();
  auto const replies = ask_all(server, questions, seen.name);
  auto const answered_at = clock::now();
  // In a cluster the message reaches a holder at any node, but only the listeners of one node are counted.
  auto const uncounted = server.constants().deployment.slots && mode == "ask";
  for (std::size_t i = 0; i != pending.size(); ++i) {
    auto& petition = *pending[i];
    auto const& reply = replies[i];
    if (reply.size() < 2) {
      petition.answer = reply.integer;
      petition.gone_at = answered_at;
      continue;
    }
    petition.answer = reply[0].integer;
    auto const left = std::chrono::milliseconds{reply[1].integer};
    petition.may_end_at = left < 0ms ? clock::time_point::max() : asked_at + left;
    petition.heard =
        petition.heard || petition.answer > 0 || (uncounted && petition.expected && petition.answer == 0);
  }
}

}  // namespace

std::vector<petition> ask_holders(engine::core& server, lock_state const& seen,
                                  std::span<hold_info const* const> holders,
                                  std::chrono::milliseconds grace) {
  std::vector<petition> all;
  for (auto const* const holder : holders)
    all.push_back({.holder = holder, .expected = seen.wire == wire::plain || holder->process.pid != 0});
  // Those of Redisson's wire don't name their holders.
  if (seen.kind == lock_kind::permits && seen.wire == wire::redisson) return all;
  auto const end = clock::now() + grace;
  auto next_ask = clock::now();
  for (;;) {
    bool const asks = clock::now() >= next_ask;
    if (asks) next_ask += ask_every;
    ask_holders(server, seen, all, asks ? "ask" : "look");
    auto const remaining = end - clock::now();
    if (remaining <= 0ms || std::ranges::none_of(all, &petition::pending)) return all;
    std::this_thread::sleep_for(std::min<clock::duration>(remaining, look_every));
  }
}

}  // namespace holdfast::inspection
