#include "etcd/holding.hpp"

#include <algorithm>
#include <utility>

#include "etcd/keys.hpp"
#include "etcd/own_keys.hpp"

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
  if (watching::watches_own(*holder)) return;
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
  transaction request{.when = own_keys::all(*holder, revision)};
  // Without anything to do a member would answer by itself, also one that is cut off from the others. And
  // somebody may have asked for the lock while nobody watched.
  own_keys::add_reads(request.then, *holder);
  server_.transact(
      std::move(request), send, [this, holder, revision, ttl, answered](response<outcome>&& answer) {
        auto result = server_.no_outcome<ownership>(answer);
        if (answer.ok()) {
          auto const still_held = answer.value.succeeded && holder->holds && holder->revision == revision;
          if (still_held) {
            watching_.note_read(*holder, own_keys::found_in(answer.value.answers), answer.value.revision);
            hold(holder, ttl);
          }
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
  transaction request{.when = own_keys::all(*holder, holder->revision)};
  own_keys::add_reads(request.then, *holder);
  server_.transact(std::move(request), send, [this, answered](response<outcome>&& answer) {
    if (!answer.ok()) {
      (*answered)(server_.no_outcome<bool>(answer));
      return;
    }
    auto const wanted = [](key_value const& each) { return keys::is_wanted_back(each.value); };
    (*answered)({.content = answer.value.succeeded &&
                            std::ranges::any_of(own_keys::found_in(answer.value.answers), wanted),
                 .sent_at = answer.sent_at});
  });
}

}  // namespace holdfast::etcd
