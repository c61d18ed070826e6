#include "etcd/holding.hpp"

#include <algorithm>
#include <utility>

#include "etcd/keys.hpp"

namespace holdfast::etcd {
namespace {

using namespace std::chrono_literals;

/// Whoever holds a lock for longer than that hears at once that its key was deleted, or is wanted back.
constexpr auto short_work = 500ms;

}  // namespace

using engine::ownership;

void holding::hold(place_ptr const& holder, milliseconds ttl) {
  holder->holds = true;
  holder->end.set([this, weak = std::weak_ptr{holder}] {
    auto const still = weak.lock();
    if (still && still->holds) releasing_.give_back(still, {.while_down = net::retry_policy::endless}, {});
  });
  auto const now = boot_clock::now();
  loop_.arm(holder->end, now + ttl);
  if (holder->watch != 0 && holder->watched == holder->key) return;
  holder->watching.set([this, weak = std::weak_ptr{holder}] {
    auto const still = weak.lock();
    if (still && still->holds && still->revision != 0) watching_.watch_own(still);
  });
  loop_.arm(holder->watching, now + short_work);
}

time_point holding::alive_since(place const& holder, milliseconds ttl) noexcept {
  auto const more = std::max<std::chrono::nanoseconds>(ttl - holder.lease->ttl, 0ns);
  return holder.lease->alive_from - more;
}

void holding::set_ttl(milliseconds ttl, engine::owned lease, handler<ownership> done,
                      scripting::send_options const& send) {
  auto const holder = places_.find(lease.owner);
  auto const answered = std::make_shared<handler<ownership>>(std::move(done));
  if (!holder || !holder->holds || holder->revision == 0) {
    mail_.put_or_call([answered] {
      if (*answered) (*answered)({.content = ownership::gone});
    });
    return;
  }
  auto const revision = holder->revision;
  server_.transact(
      {.when = {{.key = holder->key, .equals = revision}}}, send,
      [this, holder, revision, ttl, answered](response<outcome>&& answer) {
        auto result = server_.no_outcome<ownership>(answer);
        if (answer.ok()) {
          auto const still_held = answer.value.succeeded && holder->holds && holder->revision == revision;
          if (still_held) hold(holder, ttl);
          result = {.content = still_held ? ownership::held : ownership::gone, .sent_at = answer.sent_at};
        }
        if (*answered) (*answered)(std::move(result));
      });
}

void holding::find_petition(engine::owned lease, handler<bool> done, scripting::send_options const& send) {
  auto const holder = places_.find(lease.owner);
  auto const answered = std::make_shared<handler<bool>>(std::move(done));
  if (!holder || !holder->holds || holder->revision == 0) {
    mail_.put_or_call([answered] { (*answered)({.content = false}); });
    return;
  }
  server_.transact(
      {.when = {{.key = holder->key, .equals = holder->revision}}, .then = {range{.key = holder->key}}}, send,
      [this, answered](response<outcome>&& answer) {
        if (!answer.ok()) {
          (*answered)(server_.no_outcome<bool>(answer));
          return;
        }
        (*answered)({.content = answer.value.succeeded &&
                                keys::is_wanted_back(answer.value.answers.at(0).keys.at(0).value),
                     .sent_at = answer.sent_at});
      });
}

}  // namespace holdfast::etcd
