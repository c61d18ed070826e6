/// How contenders hear of their turn, and how a release notifies those of other clients.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/client_constants.hpp"
#include "engine/deferred_log.hpp"
#include "engine/lock_queue.hpp"
#include "engine/wake/contender_channels.hpp"
#include "engine/wake/hint_channel.hpp"
#include "engine/wake/messages.hpp"

namespace holdfast::engine {

/// The channels of one client, and what its server allows of them. A contender hears of its turn in the inbox
/// that its client has for the lock, or on channels that the recipe names; where the server refuses those, or
/// the options say so, it polls. All under the client's lock; `now` is the time of the event.
class notifications {
 public:
  struct events {
    /// A message in the inbox of a lock.
    std::function<void(std::string const& channel, turn_message const&, time_point now)> message;
    std::function<void(std::uint64_t contender, time_point now)> woken;
    /// All its channels are subscribed; look again.
    std::function<void(std::uint64_t contender, time_point now)> open;
    std::function<void()> polling;  ///< contenders aren't woken any more
    /// Another client releases the lease with that number by force, or claims so.
    std::function<void(std::uint64_t number)> asked;
  };

  notifications(reactor::loop& loop, lock_backend& backend, client_constants const& client, deferred_log& log,
                events handlers);

  /// Opens the channel on which other clients ask for locks that this one holds.
  void open_hint_channel();

  /// How callers with these options are woken.
  [[nodiscard]] wake wake_of(lock_options const& options) const noexcept { return client_.wake_of(options); }
  /// Messages wake the contender of this queue, as its first caller wants it, and as far as the server
  /// allows.
  [[nodiscard]] bool by_message(lock_queue const& queue) const noexcept;
  /// Why the server refuses the channels of this lock; null: it doesn't.
  [[nodiscard]] std::shared_ptr<error const> const& refusal(lock_queue const& queue) const noexcept;
  /// The first caller of the queue insists on messages, which the server refuses.
  [[nodiscard]] bool can_only_fail(lock_queue const& queue) const noexcept;

  /// The channels of a contender with that owner id.
  [[nodiscard]] std::vector<std::string> channels_of(lock_queue const& queue, std::string_view owner) const;
  [[nodiscard]] bool is_inbox(std::string_view channel, std::string_view lock) const;

  /// Whether the contender of that number listens, and would hear of its turn now.
  [[nodiscard]] bool hears(lock_queue const& queue, std::uint64_t number) const noexcept {
    return subscriptions_of(queue).hears(number);
  }

  /// Subscribes a contender to its channels. True: all are open already. When it throws, the contender
  /// listens to none.
  [[nodiscard]] bool listen(lock_queue const& queue, std::uint64_t number, std::string_view owner,
                            time_point now);
  /// The same, but only if messages wake the contender, and all its channels are open already.
  [[nodiscard]] bool listen_if_open(lock_queue const& queue, std::uint64_t number, std::string_view owner,
                                    time_point now);
  /// The contender is over.
  void leave(lock_queue const& queue, std::uint64_t number, time_point now) noexcept;
  /// For callers that wait for a lease of this process.
  void listen_ahead(lock_queue const& queue, std::uint64_t holder, time_point now);
  /// That lease is over.
  void end_listening_ahead(lock_queue const& queue, std::uint64_t holder, time_point now) noexcept;

  /// Whom a release of a lease with these options notifies, and how.
  [[nodiscard]] release_policy policy_of(lock_options const& options) const noexcept;
  [[nodiscard]] publishing publish_method() const noexcept;

 private:
  [[nodiscard]] contender_channels const& subscriptions_of(lock_queue const& queue) const noexcept {
    return queue.lock_recipe().channels != nullptr ? recipe_channels_ : inboxes_;
  }
  [[nodiscard]] contender_channels& subscriptions_of(lock_queue const& queue) noexcept {
    return queue.lock_recipe().channels != nullptr ? recipe_channels_ : inboxes_;
  }
  [[nodiscard]] wake wake_of(lock_queue const& queue) const noexcept {
    return wake_of(queue.waiters.front().options->options);
  }
  void on_message(std::string const& channel, std::string_view message, time_point now);
  void on_hints_refused(std::string const& text);
  void on_inbox_refused(std::string const& channel, std::string const& text);
  void on_recipe_channel_refused(std::string const& channel, std::string const& text);
  void fall_back_to_polling(std::shared_ptr<error const>& reason, std::string const& channel,
                            std::string const& pattern, std::string const& text);

  lock_backend& backend_;
  client_constants const& client_;
  deferred_log& log_;
  events events_;
  hint_channel hints_;
  contender_channels recipe_channels_;            ///< channels that the recipes name
  contender_channels inboxes_;                    ///< of the locks that are waited for
  std::shared_ptr<error const> inboxes_refused_;  ///< refused: callers that insist on messages can't wait
  std::shared_ptr<error const> recipe_channels_refused_;  ///< the same
};

}  // namespace holdfast::engine
