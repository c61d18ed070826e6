#include "probe/server_session.hpp"

#include "base/hash_slot.hpp"
#include "base/ids.hpp"
#include "inspect/glob.hpp"
#include "net/connection.hpp"
#include "net/subscriber.hpp"
#include "net/url.hpp"
#include "reactor/reactor.hpp"
#include "script/acl.hpp"
#include "script/names.hpp"
#include "script/runner.hpp"
#include "scripts/exclusive.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <span>
#include <utility>

namespace holdfast::probe {
namespace {

using namespace std::chrono_literals;

constexpr auto connect_time = 2s;
constexpr auto reply_time = 5s;
/// The time limit for a message, after the server has confirmed the subscription.
constexpr auto delivery_time = 2s;
/// How long a command is retried on new connections.
constexpr auto trying_time = 1s;

reply converted(resp::reply&& from) {
  reply result{.refused = from.is_error(), .text = std::move(from.text)};
  if (from.is_integer()) result.text = std::to_string(from.integer);
  result.parts.reserve(from.size());
  for (auto& part : from.elements) result.parts.push_back(converted(std::move(part)));
  return result;
}

net::settings settings_for(net::endpoint const& server) {
  return {.server = server,
          .client_name = "holdfast",
          .connect_timeout = connect_time,
          .reply_timeout = reply_time,
          .limits = {}};
}

/// The prefix of the doctor's names: rights to names of the scope cover these, too.
std::string root_of(name_scope const& scope) {
  if (!scope.prefix.empty()) return scope.prefix + "holdfast_doctor:";
  return (scope.lock.empty() ? std::string{} : scope.lock + ":") + "holdfast_doctor:";
}

name_rules rules_of(name_scope const& scope, wire const wire_format) {
  name_rules all{.keys = "~*",
                 .channels = "&*",
                 .records = std::string{acl::keys_of_clients},
                 .hints = std::string{acl::channels_of_clients},
                 .in_cluster = std::string{acl::to_be_told_in_slots} + ' ' + std::string{acl::in_a_cluster}};
  auto const prefix = inspection::escaped(scope.prefix.empty() ? scope.lock : scope.prefix);
  if (prefix.empty()) return all;
  all.keys = acl::keys(prefix);
  all.channels = acl::channels(prefix);
  all.whole = all.keys + ' ' + all.records + " resetchannels " + all.channels + ' ' + all.hints + ' ' +
              std::string{acl::to_connect} + ' ' + std::string{acl::to_lock} + ' ' +
              std::string{acl::to_be_told};
  if (wire_format == wire::redisson) {
    all.whole += ' ' + acl::redisson::keys(prefix) + ' ' + acl::redisson::channels(prefix) + ' ' +
                 std::string{acl::redisson::to_lock};
  }
  return all;
}

std::string bytes_of(std::initializer_list<std::string_view> const words) {
  std::string bytes;
  resp::append_command(bytes, words);
  return bytes;
}

/// The events of a channel in order, with a blocking read. Must live until the loop has stopped, which may
/// call it until then.
class listener final : net::subscriber::listener {
 public:
  enum class news { none, subscribed, message, refused };
  struct event {
    news type = news::none;
    std::string text{};
  };

  using kind = net::subscriber::kind;

  listener(reactor::loop& loop, net::settings const& config, client_stats& counts, std::string channel,
           kind channel_kind)
      : loop_{loop}, channel_{std::move(channel)}, kind_{channel_kind}, subscriber_{loop, config, counts} {}
  /// Call with the mutex held, after the loop has stopped.
  void close() { subscriber_.close(); }

  [[nodiscard]] event next(std::chrono::nanoseconds const within) {
    reactor::lock hold{loop_.mutex()};
    subscriber_.listen(channel_, *this, kind_);
    if (events_.empty()) {
      reactor::blocked_thread thread;
      waiting_ = &thread;
      reactor::timer timer{[this] { wake(); }};
      loop_.arm(timer, boot_clock::now() + within);
      loop_.wait(hold, thread);
      hold.lock();
      timer.disarm();
    }
    if (events_.empty()) return {};
    auto first = std::move(events_.front());
    events_.pop_front();
    return first;
  }

 private:
  void on_subscribed() override { add(news::subscribed, {}); }
  void on_message(std::string_view const text) override { add(news::message, text); }
  void on_refused(std::string const& text) override { add(news::refused, text); }
  void on_gone() override { add(news::refused, "another node serves the slot of the channel now"); }
  void add(news const type, std::string_view const text) {
    events_.push_back({type, std::string{text}});
    wake();
  }
  void wake() {
    if (auto* const thread = std::exchange(waiting_, nullptr); thread != nullptr) loop_.wake(*thread);
  }

  reactor::loop& loop_;
  std::deque<event> events_{};
  reactor::blocked_thread* waiting_ = nullptr;
  std::string const channel_;
  kind const kind_;
  net::subscriber subscriber_;
};

}  // namespace

struct server_session::impl {
  impl(net::endpoint const& server, name_scope const& wanted)
      : config{settings_for(server)},
        scope{wanted},
        root{root_of(wanted)},
        rules{rules_of(wanted, server.wire)} {
    probe.record = names::client_record(id);
    probe.hints = names::hints(id);
    probe.stranger = id;
    name_lock(root + id);
  }
  impl(impl const&) = delete;
  impl& operator=(impl const&) = delete;
  ~impl() {
    reactor::lock hold{loop.mutex()};
    loop.stop(hold);
    if (inbox) inbox->close();
    if (shard) shard->close();
    connection.shut(std::make_shared<error const>(errc::closed, "the session is over"));
    loop.leave(hold);
  }

  void name_lock(std::string lock) {
    probe.lock = std::move(lock);
    probe.counter = names::token_counter(probe.lock);
    probe.queue = names::queue(probe.lock);
    probe.inbox = names::inbox(id, probe.lock);
  }

  /// Calls `send` with the callback for the response, and waits for it.
  template <class Send>
  resp::reply wait_for_answer(Send const send) {
    reactor::lock hold{loop.mutex()};
    reactor::blocked_thread thread;
    net::response result;
    send([&](net::response&& response) {
      result = std::move(response);
      loop.wake(thread);
    });
    loop.wait(hold, thread);
    if (result.failure) throw error{*result.failure};
    return std::move(result.reply);
  }

  net::settings const config;
  std::string const id = make_uuid();
  name_scope const scope;
  std::string const root;  ///< the prefix of its locks
  name_rules const rules;
  probe_names probe;
  reactor::loop loop;
  client_stats counts;
  net::connection connection{loop, config, counts};
  std::optional<listener> inbox;
  std::optional<listener> shard;
};

server_session::server_session(net::endpoint const& server, name_scope const& scope)
    : impl_{std::make_unique<impl>(server, scope)} {}
server_session::~server_session() = default;

std::string const& server_session::url() const noexcept { return impl_->config.server.display; }

std::string server_session::user() const {
  return impl_->config.server.user.empty() ? "default" : impl_->config.server.user;
}

transport_kind server_session::transport() const noexcept {
  switch (impl_->config.server.transport) {
    case net::endpoint::scheme::tcp:
      return transport_kind::plain;
    case net::endpoint::scheme::tls:
      return transport_kind::tls;
    case net::endpoint::scheme::unix_socket:
    case net::endpoint::scheme::memory:
      break;
  }
  return transport_kind::local;
}

probe_names const& server_session::names() const noexcept { return impl_->probe; }
name_scope const& server_session::scope() const noexcept { return impl_->scope; }
name_rules const& server_session::rules() const noexcept { return impl_->rules; }
std::string server_session::beside(std::string_view const lock) const { return names::token_counter(lock); }

void server_session::use_slots(std::vector<slot_range> const& own) {
  if (own.empty()) return;
  // A name that begins with a hash tag is in the slot of the tag.
  auto const root = impl_->root.substr(0, impl_->root.find_first_of("{}"));
  // Each number maps to a practically random slot: even a single slot is hit soon.
  for (std::uint64_t number = 0;; ++number) {
    auto lock = root + impl_->id + ":" + std::to_string(number);
    auto const slot = hash_slot(lock);
    auto const among = [slot](slot_range const& range) { return range.first <= slot && slot <= range.last; };
    if (!std::ranges::any_of(own, among)) continue;
    impl_->name_lock(std::move(lock));
    return;
  }
}

reply server_session::ask(std::initializer_list<std::string_view> const words) {
  return converted(impl_->wait_for_answer(
      [&](auto done) { impl_->connection.send({.bytes = bytes_of(words), .done = std::move(done)}); }));
}

reply server_session::try_to_ask(std::initializer_list<std::string_view> const words) {
  try {
    return converted(impl_->wait_for_answer([&](auto done) {
      impl_->connection.send({.bytes = bytes_of(words),
                              .done = std::move(done),
                              .while_down = net::retry_policy::endless,
                              .give_up = boot_clock::now() + trying_time});
    }));
  } catch (error const& failure) {
    if (failure.code() != errc::unreachable) throw;
    static_cast<void>(ask({"PING"}));  // throws if the server itself is unreachable
    return {.refused = true,
            .hung_up = true,
            .text = "the connection ended when asked for " + std::string{*words.begin()}};
  }
}

resp::reply server_session::ask(call const& script) {
  return impl_->wait_for_answer(
      [&](auto done) { impl_->connection.send(scripting::to_run(script, std::move(done))); });
}

reply server_session::run_script() {
  using scripts::exclusive::renew;
  auto const script = renew{.locks = {key{impl_->probe.lock}}, .ttl_ms = 10, .owners = {"nobody"}}();
  auto first = converted(ask(script));
  if (first.refused) return first;
  return ask({"EVALSHA", renew::source.sha1, "1", impl_->probe.lock, "10", "nobody"});
}

delivery server_session::message_to_itself(message_reach const reach) {
  using outcome = delivery::outcome;
  using news = listener::news;
  auto const sharded = reach == message_reach::slot;
  auto const& channel = impl_->probe.inbox;
  auto& subscription = sharded ? impl_->shard : impl_->inbox;
  if (!subscription) {
    subscription.emplace(impl_->loop, impl_->config, impl_->counts, channel,
                         sharded ? listener::kind::sharded : listener::kind::plain);
  }
  auto const first = subscription->next(connect_time + delivery_time);
  if (first.type == news::refused) return {outcome::not_subscribed, first.text};
  if (first.type != news::subscribed) return {};
  auto published = ask({sharded ? "SPUBLISH" : "PUBLISH", channel, "doctor"});
  if (published.refused) return {outcome::not_published, std::move(published.text)};
  return {.result =
              subscription->next(delivery_time).type == news::message ? outcome::received : outcome::silent};
}

}  // namespace holdfast::probe
