// With server_place.cpp all of the command that knows the library's inside.
#include "server_session.hpp"

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

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto connect_time = 2s;
constexpr auto reply_time = 5s;
/// How long a message may take, after the server has confirmed the subscription.
constexpr auto delivery_time = 2s;
/// How long a question is asked again on new connections.
constexpr auto trying_time = 1s;

answer converted(resp::reply&& from) {
  answer to{.refused = from.is_error(), .text = std::move(from.text)};
  if (from.is_integer()) to.text = std::to_string(from.integer);
  to.parts.reserve(from.size());
  for (auto& part : from.elements) to.parts.push_back(converted(std::move(part)));
  return to;
}

net::settings settings_for(net::endpoint const& server) {
  return {.server = server,
          .client_name = "holdfast",
          .connect_timeout = connect_time,
          .reply_timeout = reply_time,
          .limits = {}};
}

/// Rights to names that begin so cover these, too.
std::string root_of(name_scope const& of) {
  if (!of.prefix.empty()) return of.prefix + "holdfast_doctor:";
  return (of.lock.empty() ? std::string{} : of.lock + ":") + "holdfast_doctor:";
}

name_rules rules_of(name_scope const& of, wire const spoken) {
  name_rules all{.keys = "~*",
                 .channels = "&*",
                 .records = std::string{acl::keys_of_clients},
                 .hints = std::string{acl::channels_of_clients},
                 .in_cluster = std::string{acl::to_be_told_in_slots} + ' ' + std::string{acl::in_a_cluster}};
  auto const prefix = inspection::escaped(of.prefix.empty() ? of.lock : of.prefix);
  if (prefix.empty()) return all;
  all.keys = acl::keys(prefix);
  all.channels = acl::channels(prefix);
  all.whole = all.keys + ' ' + all.records + " resetchannels " + all.channels + ' ' + all.hints + ' ' +
              std::string{acl::to_connect} + ' ' + std::string{acl::to_lock} + ' ' +
              std::string{acl::to_be_told};
  if (spoken == wire::redisson) {
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

/// What a channel says, in order, and a thread that waits for the next. Lives as long as the loop does, which
/// may have something to tell it until it is stopped.
class listener final : net::subscriber::listener {
 public:
  enum class news { none, subscribed, message, refused };
  struct event {
    news what = news::none;
    std::string text{};
  };

  using kind = net::subscriber::kind;

  listener(reactor::loop& on, net::settings const& how, client_stats& counts, std::string channel, kind of)
      : on_{on}, channel_{std::move(channel)}, kind_{of}, line_{on, how, counts} {}
  /// Under the lock, when the loop has stopped.
  void close() { line_.close(); }

  [[nodiscard]] event next(std::chrono::nanoseconds const within) {
    reactor::lock hold{on_.mutex()};
    line_.listen(channel_, *this, kind_);
    if (events_.empty()) {
      reactor::blocked_thread caller;
      waiting_ = &caller;
      reactor::timer bell{[this] { wake(); }};
      on_.arm(bell, boot_clock::now() + within);
      on_.wait(hold, caller);
      hold.lock();
      bell.disarm();
    }
    if (events_.empty()) return {};
    auto first = std::move(events_.front());
    events_.pop_front();
    return first;
  }

 private:
  void on_subscribed() override { say(news::subscribed, {}); }
  void on_message(std::string_view const text) override { say(news::message, text); }
  void on_refused(std::string const& words) override { say(news::refused, words); }
  void on_gone() override { say(news::refused, "another node serves the slot of the channel now"); }
  void say(news const what, std::string_view const text) {
    events_.push_back({what, std::string{text}});
    wake();
  }
  void wake() {
    if (auto* const caller = std::exchange(waiting_, nullptr); caller != nullptr) on_.wake(*caller);
  }

  reactor::loop& on_;
  std::deque<event> events_{};
  reactor::blocked_thread* waiting_ = nullptr;
  std::string const channel_;
  kind const kind_;
  net::subscriber line_;
};

}  // namespace

struct server_session::impl {
  impl(net::endpoint const& server, name_scope const& of)
      : how{settings_for(server)}, scope{of}, root{root_of(of)}, rules{rules_of(of, server.wire)} {
    probe.record = names::client_record(id);
    probe.hints = names::inbox(id);
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

  /// `send` is given what to do with the answer.
  template <class Send>
  resp::reply wait_for_answer(Send const send) {
    reactor::lock hold{loop.mutex()};
    reactor::blocked_thread caller;
    net::response got;
    send([&](net::response&& came) {
      got = std::move(came);
      loop.wake(caller);
    });
    loop.wait(hold, caller);
    if (got.failure) throw error{*got.failure};
    return std::move(got.reply);
  }

  net::settings const how;
  std::string const id = make_uuid();
  name_scope const scope;
  std::string const root;  ///< what its locks begin with
  name_rules const rules;
  probe_names probe;
  reactor::loop loop;
  client_stats counts;
  net::connection connection{loop, how, counts};
  std::optional<listener> inbox;
  std::optional<listener> shard;
};

server_session::server_session(net::endpoint const& server, name_scope const& of)
    : impl_{std::make_unique<impl>(server, of)} {}
server_session::~server_session() = default;

std::string const& server_session::url() const noexcept { return impl_->how.server.display; }

std::string server_session::user() const {
  return impl_->how.server.user.empty() ? "default" : impl_->how.server.user;
}

line_kind server_session::line() const noexcept {
  switch (impl_->how.server.how) {
    case net::endpoint::scheme::tcp:
      return line_kind::plain;
    case net::endpoint::scheme::tls:
      return line_kind::tls;
    case net::endpoint::scheme::unix_socket:
      break;
  }
  return line_kind::local;
}

probe_names const& server_session::names() const noexcept { return impl_->probe; }
name_scope const& server_session::scope() const noexcept { return impl_->scope; }
name_rules const& server_session::rules() const noexcept { return impl_->rules; }
std::string server_session::beside(std::string_view const lock) const { return names::token_counter(lock); }

void server_session::use_slots(std::vector<slot_range> const& own) {
  if (own.empty()) return;
  // What begins with a tag is in the slot of that.
  auto const root = impl_->root.substr(0, impl_->root.find_first_of("{}"));
  // Each number has its own slot, as good as at random: even a single slot is hit soon.
  for (std::uint64_t number = 0;; ++number) {
    auto lock = root + impl_->id + ":" + std::to_string(number);
    auto const slot = hash_slot(lock);
    auto const among = [slot](slot_range const& some) { return some.first <= slot && slot <= some.last; };
    if (!std::ranges::any_of(own, among)) continue;
    impl_->name_lock(std::move(lock));
    return;
  }
}

answer server_session::ask(std::initializer_list<std::string_view> const words) {
  return converted(impl_->wait_for_answer(
      [&](auto done) { impl_->connection.send({.bytes = bytes_of(words), .done = std::move(done)}); }));
}

answer server_session::try_to_ask(std::initializer_list<std::string_view> const words) {
  try {
    return converted(impl_->wait_for_answer([&](auto done) {
      impl_->connection.send({.bytes = bytes_of(words),
                              .done = std::move(done),
                              .while_down = net::retry_policy::endless,
                              .give_up = boot_clock::now() + trying_time});
    }));
  } catch (error const& failure) {
    if (failure.code() != errc::unreachable) throw;
    static_cast<void>(ask({"PING"}));  // throws when it was not the question
    return {.refused = true,
            .hung_up = true,
            .text = "the connection ended when asked for " + std::string{*words.begin()}};
  }
}

answer server_session::run_script() {
  using scripts::exclusive::renew;
  auto const script = renew{.locks = {key{impl_->probe.lock}}, .ttl_ms = 10, .owners = {"nobody"}}();
  auto first = converted(impl_->wait_for_answer(
      [&](auto done) { impl_->connection.send(scripting::to_run(script, std::move(done))); }));
  if (first.refused) return first;
  return ask({"EVALSHA", renew::source.sha1, "1", impl_->probe.lock, "10", "nobody"});
}

delivery server_session::message_to_itself(message_reach const reach) {
  using outcome = delivery::outcome;
  using news = listener::news;
  auto const sharded = reach == message_reach::slot;
  auto const& channel = impl_->probe.inbox;
  auto& ear = sharded ? impl_->shard : impl_->inbox;
  if (!ear) {
    ear.emplace(impl_->loop, impl_->how, impl_->counts, channel,
                sharded ? listener::kind::sharded : listener::kind::plain);
  }
  auto const first = ear->next(connect_time + delivery_time);
  if (first.what == news::refused) return {outcome::not_subscribed, first.text};
  if (first.what != news::subscribed) return {};
  auto published = ask({sharded ? "SPUBLISH" : "PUBLISH", channel, "doctor"});
  if (published.refused) return {outcome::not_published, std::move(published.text)};
  return {.how = ear->next(delivery_time).what == news::message ? outcome::received : outcome::silent};
}

}  // namespace holdfast::cli
