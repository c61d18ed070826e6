#include "engine/wake/notifications.hpp"

#include <utility>

#include "script/names.hpp"

namespace holdfast::engine {

notifications::notifications(reactor::loop& loop, lock_backend& backend, client_constants const& client,
                             deferred_log& log, events handlers)
    : backend_{backend},
      client_{client},
      log_{log},
      events_{std::move(handlers)},
      hints_{
          backend,
          client.uuid,
          {.asked = events_.asked, .refused = [this](std::string const& text) { on_hints_refused(text); }}},
      recipe_channels_{
          loop,
          backend,
          topology::channel_of::object,
          {.woken = events_.woken,
           .on_message = {},
           .open = events_.open,
           .refused = [this](std::string const& channel,
                             std::string const& text) { on_recipe_channel_refused(channel, text); }}},
      inboxes_{loop,
               backend,
               topology::channel_of::lock,
               {.woken = {},
                .on_message = [this](std::string const& channel, std::string_view message,
                                     time_point now) { on_message(channel, message, now); },
                .open = events_.open,
                .refused = [this](std::string const& channel,
                                  std::string const& text) { on_inbox_refused(channel, text); }}} {}

void notifications::open_hint_channel() {
  if (client_.options.wake != wake::poll) hints_.open();
}

bool notifications::by_message(lock_queue const& queue) const noexcept {
  return wake_of(queue) != wake::poll && !subscriptions_of(queue).refused();
}

std::shared_ptr<error const> const& notifications::refusal(lock_queue const& queue) const noexcept {
  return queue.lock_recipe().channels == nullptr ? inboxes_refused_ : recipe_channels_refused_;
}

bool notifications::can_only_fail(lock_queue const& queue) const noexcept {
  return refusal(queue) && wake_of(queue) == wake::inbox;
}

std::vector<std::string> notifications::channels_of(lock_queue const& queue, std::string_view owner) const {
  auto const& lock_recipe = queue.lock_recipe();
  if (lock_recipe.channels != nullptr) return lock_recipe.channels(queue.name(), owner);
  if (lock_recipe.several == nullptr) return {names::inbox(client_.uuid, queue.name())};
  std::vector<std::string> all;
  for (auto const name : lock_recipe.several->all(queue.name()))
    all.push_back(names::inbox(client_.uuid, name));
  return all;
}

bool notifications::is_inbox(std::string_view channel, std::string_view lock) const {
  return channel == names::inbox(client_.uuid, lock);
}

bool notifications::listen(lock_queue const& queue, std::uint64_t number, std::string_view owner,
                           time_point now) {
  return subscriptions_of(queue).listen(number, channels_of(queue, owner), now);
}

bool notifications::listen_if_open(lock_queue const& queue, std::uint64_t number, std::string_view owner,
                                   time_point now) {
  auto& subscriptions = subscriptions_of(queue);
  return !subscriptions.idle() && by_message(queue) &&
         subscriptions.listen_if_open(number, channels_of(queue, owner), now);
}

void notifications::leave(lock_queue const& queue, std::uint64_t number, time_point now) noexcept {
  auto const own = queue.lock_recipe().channel_for_each_place();
  subscriptions_of(queue).leave(
      number, own ? contender_channels::afterwards::forget : contender_channels::afterwards::linger, now);
}

/// Where the order is strict, the release of that lease puts the next caller into the server's queue behind
/// callers elsewhere, and messages should reach it from the start.
void notifications::listen_ahead(lock_queue const& queue, std::uint64_t holder, time_point now) {
  auto const& lock_recipe = queue.lock_recipe();
  if (lock_recipe.order != order::strict || lock_recipe.channels != nullptr || !by_message(queue)) return;
  (void)inboxes_.listen(holder, channels_of(queue, {}), now);
}

void notifications::end_listening_ahead(lock_queue const& queue, std::uint64_t holder,
                                        time_point now) noexcept {
  if (queue.lock_recipe().order == order::strict)
    inboxes_.leave(holder, contender_channels::afterwards::linger, now);
}

release_policy notifications::policy_of(lock_options const& options) const noexcept {
  return {.starvation = options.starvation_limit,
          .credit = client_.credit(),
          .quiet = wake_of(options) == wake::poll,
          .publish = publish_method()};
}

/// Until a cluster's nodes are known, messages go out in every way that may be heard.
publishing notifications::publish_method() const noexcept {
  if (!client_.deployment.slots) return publishing::counted;
  return backend_.sharded() ? publishing::sharded : publishing::uncounted;
}

void notifications::on_message(std::string const& channel, std::string_view message, time_point now) {
  if (auto const read = read_turn_message(message)) events_.message(channel, *read, now);
}

void notifications::on_hints_refused(std::string const& text) {
  log_(log_level::info, [&] {
    return client_.url + ": the server refuses the channel " + names::hints(client_.uuid) + " (" + text +
           "), so a release by force takes locks without asking; grant &holdfast_inbox:* to be asked first";
  });
}

void notifications::on_inbox_refused(std::string const& channel, std::string const& text) {
  auto const of_all = channel.substr(0, channel.size() - client_.uuid.size()) + "*";
  fall_back_to_polling(inboxes_refused_, "the inbox channel " + of_all, "&" + of_all, text);
}

void notifications::on_recipe_channel_refused(std::string const& channel, std::string const& text) {
  fall_back_to_polling(recipe_channels_refused_, "the channel " + channel,
                       channel.starts_with("redisson_") ? "&redisson_*" : "&" + channel, text);
}

/// Contenders of callers that don't insist on messages ask again and again from now on.
void notifications::fall_back_to_polling(std::shared_ptr<error const>& reason, std::string const& channel,
                                         std::string const& pattern, std::string const& text) {
  auto const rights = pattern + (backend_.sharded() ? " and +ssubscribe +subscribe" : " and +subscribe");
  reason = std::make_shared<error const>(errc::unauthorized, client_.url + ": the server refuses " + channel +
                                                                 ": " + text + "; grant " + rights +
                                                                 ", or use wake::automatic");
  if (client_.options.wake != wake::inbox) {
    log_(log_level::warning, [&] {
      return client_.url + ": the server refuses " + channel + " (" + text +
             "), so waiting is by polling; grant " + rights + " to be woken instead";
    });
  }
  events_.polling();
}

}  // namespace holdfast::engine
