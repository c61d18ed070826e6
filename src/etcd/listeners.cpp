#include "etcd/listeners.hpp"

#include <utility>

#include "script/names.hpp"

namespace holdfast::etcd {

void listeners::add(std::string const& channel, net::subscriber::listener& listener) {
  auto const [known, added] = all_.insert_or_assign(channel, &listener);
  if (added) listener.on_subscribed();
  if (channel != names::hints(uuid_)) return;
  for (auto const& each : std::exchange(unheard_, {})) listener.on_message(each);
}

void listeners::remove(std::string_view channel) {
  if (auto const known = all_.find(channel); known != all_.end()) all_.erase(known);
}

void listeners::notify(std::string const& channel, std::string const& message) {
  if (auto const known = all_.find(channel); known != all_.end()) known->second->on_message(message);
}

void listeners::wake(place const& waiter) {
  auto const colon = waiter.owner.rfind(':');
  notify(names::inbox(std::string_view{waiter.owner}.substr(0, colon), waiter.called),
         "woken " + waiter.owner.substr(colon + 1) + ' ' + waiter.called);
}

void listeners::notify_of_petition(place const& holder) {
  auto const channel = names::hints(uuid_);
  auto message = "asked " + holder.owner.substr(holder.owner.rfind(':') + 1);
  if (listen_to(channel)) {
    notify(channel, message);
  } else {
    unheard_.insert(std::move(message));
  }
}

}  // namespace holdfast::etcd
