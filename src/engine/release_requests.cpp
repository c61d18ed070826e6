// A release by force asks the holder first: by a hint in the inbox of its client, and by a key beside the
// lock. Only clients with a right to the lock can write that key.

#include <algorithm>
#include <utility>

#include "engine/core.hpp"
#include "resp/command.hpp"
#include "script/names.hpp"

namespace holdfast::engine {
namespace {

/// Hints kept at a time. A serious requester repeats its hint.
constexpr std::size_t most_hints = 64;

/// Any client that knows this one may send any number of hints. Scanning all held locks takes one part in so
/// many of the time, at the most.
constexpr int parts = 50;
constexpr std::chrono::milliseconds between_looks{10};

/// How long the check is of use: later the requester has taken the lock.
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
  queues_.for_each([&](lock_queue& queue) {
    if (queue.holder != nullptr && std::ranges::find(hinted, queue.holder->number()) != hinted.end())
      held_here.emplace_back(&queue, queue.holder->number());
  });
  for (auto const number : hinted) {
    holders_.for_each_sharing(number, [&](lock_queue& queue) { held_here.emplace_back(&queue, number); });
  }
  for (auto const& [queue, number] : held_here) look_whether_asked(*queue, number);
  auto const ended = boot_clock::now();
  hints_.not_before = ended + std::max<boot_clock::duration>(between_looks, parts * (ended - begun));
}

void core::look_whether_asked(lock_queue& queue, std::uint64_t number) {
  auto const owner = client_.owner_id(number);
  auto const several = queue.protocol().several;
  std::vector<std::string> arguments{"EXISTS"};
  if (several == nullptr) {
    arguments.push_back(names::asked(queue.name(), owner));
  } else {
    for (auto const name : several->all(queue.name())) arguments.push_back(names::asked(name, owner));
  }
  net::request request{.done =
                           [this, pin = lock_queue_ptr{&queue}, number](net::response&& response) {
                             if (response.reply.is_integer() && response.reply.integer > 0)
                               let_go(*pin, number);
                           },
                       .while_down = net::retry_policy::endless,
                       .give_up = boot_clock::now() + question_lasts,
                       .slot = backend_->slot_of(arguments.back())};
  std::vector<std::string_view> const command{arguments.begin(), arguments.end()};
  resp::append_command(request.bytes, command);
  backend_->send(std::move(request));
}

/// From here on the lease isn't valid. The lock goes back when the holder lets go.
void core::let_go(lock_queue& queue, std::uint64_t number) {
  // And with it the leases that share its acquisition.
  if (auto* const lease = holders_.find(queue, number)) lose(*lease, loss_cause::forced);
}

}  // namespace holdfast::engine
