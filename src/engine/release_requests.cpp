// A release by force asks the holder first: by a hint in the inbox of its client, and by a key beside the
// lock, which only those can write who have a right to the lock.

#include <algorithm>
#include <utility>

#include "engine/core.hpp"
#include "resp/command.hpp"
#include "script/names.hpp"

namespace holdfast::engine {
namespace {

/// At a time. Whoever means it asks again and again.
constexpr std::size_t most_hints = 64;

/// Whoever knows this client may send any number of hints: going through all that is held takes one part in
/// so many of the time, at the most.
constexpr int parts = 50;
constexpr std::chrono::milliseconds between_looks{10};

/// Longer, and who asked has taken the lock.
constexpr std::chrono::seconds question_lasts{2};

}  // namespace

void core::on_hint(std::uint64_t number) {
  auto& known = hints_.numbers;
  auto const here = std::ranges::find(known, number) != known.end();
  if (here || known.size() >= most_hints) return;
  known.push_back(number);
  if (!hints_.bell.armed()) loop_.arm(hints_.bell, std::max(hints_.not_before, boot_clock::now()));
}

void core::look_at_hints() {
  auto const begun = boot_clock::now();
  auto const hinted = std::exchange(hints_.numbers, {});
  std::vector<std::pair<lock_queue_ptr, std::uint64_t>> held_here;
  for (auto const& at : lines_) {
    if (at.holder == nullptr || std::ranges::find(hinted, at.holder->number()) == hinted.end()) continue;
    held_here.emplace_back(const_cast<lock_queue*>(&at), at.holder->number());
  }
  for (auto const& [at, those] : shared_holders_) {
    for (auto const number : hinted) {
      if (those.contains(number)) held_here.emplace_back(const_cast<lock_queue*>(at), number);
    }
  }
  for (auto const& [at, number] : held_here) look_whether_asked(*at, number);
  auto const ended = boot_clock::now();
  hints_.not_before = ended + std::max<boot_clock::duration>(between_looks, parts * (ended - begun));
}

void core::look_whether_asked(lock_queue& at, std::uint64_t number) {
  auto const owner = owner_id(number);
  auto const several = at.protocol().several;
  std::vector<std::string> words{"EXISTS"};
  if (several == nullptr) {
    words.push_back(names::asked(at.name(), owner));
  } else {
    for (auto const name : several->all(at.name())) words.push_back(names::asked(name, owner));
  }
  net::request what{.done =
                        [this, pin = lock_queue_ptr{&at}, number](net::response&& how) {
                          if (how.reply.is_integer() && how.reply.integer > 0) let_go(*pin, number);
                        },
                    .while_down = net::retry_policy::endless,
                    .give_up = boot_clock::now() + question_lasts,
                    .slot = servers_->slot_of(words.back())};
  std::vector<std::string_view> const command{words.begin(), words.end()};
  resp::append_command(what.bytes, command);
  servers_->send(std::move(what));
}

/// From here on it isn't valid; it goes back when whoever has it lets go.
void core::let_go(lock_queue& at, std::uint64_t number) {
  if (at.holder != nullptr && at.holder->number() == number) {
    lose(*at.holder, loss_cause::forced);
    return;
  }
  auto const known = shared_holders_.find(&at);
  if (known == shared_holders_.end()) return;
  lease_state* any = nullptr;
  known->second.for_each_of(number, [&any](lease_state& one) { any = &one; });
  if (any != nullptr) lose(*any, loss_cause::forced);  // and with it those that share its acquisition
}

}  // namespace holdfast::engine
