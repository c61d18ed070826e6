/// Parts of the engine for tests, without a client, a server or time that passes.
#pragma once

#include <gmock/gmock.h>

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/deferred_log.hpp"
#include "engine/lease_state.hpp"
#include "engine/lock_backend.hpp"
#include "engine/lock_queues.hpp"
#include "net/deployment_url.hpp"
#include "reactor/moved_clock.hpp"
#include "resp/make_reply.hpp"
#include "wire/plain/exclusive.hpp"

namespace holdfast::engine {

/// The process's clock stands still while this object lives.
class standing_clock {
 public:
  standing_clock() { boot_clock::stand_in.store(std::chrono::nanoseconds{std::chrono::hours{24}}.count()); }
  ~standing_clock() { boot_clock::stand_in.store(0); }
  standing_clock(standing_clock const&) = delete;
  standing_clock& operator=(standing_clock const&) = delete;

  void advance(std::chrono::nanoseconds time) { boot_clock::stand_in.fetch_add(time.count()); }
};

inline verdict granted_from(std::int64_t token) { return granted{.token = token, .count = 65}; }
inline verdict busy_for(milliseconds pttl, std::string holder = {}) {
  return busy{.pttl = pttl, .ahead = 0, .ticket = 7, .counter = 100, .holder = std::move(holder)};
}

/// Records the requests, and answers when the test says so.
class recording_backend : public lock_backend {
 public:
  recording_backend() : lock_backend{std::make_shared<error const>(std::errc::not_enough_memory, "none")} {}

  void acquire(recipe const&, std::string_view, acquire_request const& request, handler<verdict> done,
               scripting::send_options) override {
    add((request.fast ? "fast acquire " : "acquire ") + number_in(request.owner), std::move(done));
  }
  void release(recipe const&, owned lease, release_policy policy, handler<ownership> done,
               scripting::send_options send) override {
    release_tried_until = send.give_up;
    released_with = policy;
    add((policy.fast ? "fast release " : "release ") + std::string{lease.name}, std::move(done));
  }
  void abandon(recipe const&, owned lease, release_policy policy, handler<abandoned> done,
               scripting::send_options) override {
    abandoned_with = policy;
    add("abandon " + number_in(lease.owner), std::move(done));
  }
  void renew(recipe const&, milliseconds, std::span<owned const>, handler<renewals> done,
             scripting::send_options) override {
    add("renew", std::move(done));
  }
  void set_ttl(recipe const&, milliseconds ttl, owned, handler<ownership> done,
               scripting::send_options) override {
    add("set_ttl " + std::to_string(ttl.count()), std::move(done));
  }
  void pass(recipe const&, owned lease, release_policy, acquire_request const& next, handler<passed> done,
            scripting::send_options) override {
    add("pass " + std::string{lease.name} + " to " + number_in(next.owner), std::move(done));
  }
  void convert(call const&, handler<ownership> done, scripting::send_options) override {
    add("convert", std::move(done));
  }
  void send(net::request&& request) override {
    // "*3\r\n$4\r\nWAIT…": its first word.
    auto const begin = request.bytes.find("\r\n", request.bytes.find('$')) + 2;
    add(request.bytes.substr(begin, request.bytes.find("\r\n", begin) - begin), std::move(request.done));
  }
  [[nodiscard]] bool idle() const noexcept override { return unanswered_.empty(); }
  [[nodiscard]] bool up() const noexcept override { return true; }
  [[nodiscard]] std::shared_ptr<error const> down_because() const noexcept override { return nullptr; }
  void shut(std::shared_ptr<error const> const&) override {}
  void listen(std::string const& channel, topology::channel_of,
              net::subscriber::listener& listener) override {
    channels[channel] = &listener;
  }
  void forget(std::string_view channel) override { channels.erase(std::string{channel}); }
  [[nodiscard]] std::uint16_t slot_of(std::string_view) const noexcept override { return 0; }
  [[nodiscard]] bool sharded() const noexcept override { return false; }

  // These answer the oldest request that has no answer yet.

  template <class Outcome>
  void answer(Outcome outcome, std::uint64_t connection_id = 0, time_point sent_at = boot_clock::now()) {
    auto const done = std::get<handler_ptr<Outcome>>(take_oldest());
    if (*done) (*done)({.content = std::move(outcome), .sent_at = sent_at, .connection_id = connection_id});
  }
  /// To its second copy.
  void answer_copy(verdict outcome) {
    auto const done = std::get<handler_ptr<verdict>>(take_oldest());
    (*done)({.content = std::move(outcome), .sent_at = boot_clock::now(), .resent = true});
  }
  /// For an acquire request.
  void fail() {
    (*std::get<handler_ptr<verdict>>(take_oldest()))({.content = failed{.reason = no_memory, .sent = true}});
  }
  /// `resent`: an earlier copy of the request may have been carried out.
  void refuse(std::string const& words, bool resent = false) {
    std::visit([&](auto const& done) { refuse(*done, words, resent); }, take_oldest());
  }
  /// For a plain command.
  void reply(resp::reply reply, std::uint64_t connection_id = 0) {
    (*std::get<response_handler_ptr>(take_oldest()))({.reply = std::move(reply),
                                                      .sent_at = boot_clock::now(),
                                                      .sent = true,
                                                      .connection_id = connection_id});
  }
  /// Puts the second oldest before the oldest.
  void swap_oldest() { std::swap(unanswered_[0], unanswered_[1]); }

  /// What was sent since the last call.
  [[nodiscard]] std::vector<std::string> take_sent() { return std::exchange(sent_, {}); }

  std::map<std::string, net::subscriber::listener*> channels;
  release_policy abandoned_with{};  ///< that of the last abandon
  release_policy released_with{};   ///< that of the last release
  time_point release_tried_until{};
  int out_of_memory = 0;  ///< so many requests can't be sent

 private:
  template <class Outcome>
  using handler_ptr = std::shared_ptr<handler<Outcome>>;
  using response_handler_ptr = std::shared_ptr<response_handler>;
  using any_handler = std::variant<handler_ptr<verdict>, handler_ptr<ownership>, handler_ptr<passed>,
                                   handler_ptr<abandoned>, handler_ptr<renewals>, response_handler_ptr>;

  [[nodiscard]] static std::string number_in(std::string_view owner) {
    return std::string{owner.substr(owner.find(':') + 1)};
  }
  template <class Handler>
  void add(std::string request, Handler done) {
    if (out_of_memory > 0 && out_of_memory-- > 0) throw std::bad_alloc{};
    sent_.push_back(std::move(request));
    unanswered_.emplace_back(std::make_shared<Handler>(std::move(done)));
  }
  [[nodiscard]] any_handler take_oldest() {
    auto oldest = std::move(unanswered_.front());
    unanswered_.pop_front();
    return oldest;
  }
  template <class Outcome>
  static void refuse(handler<Outcome>& done, std::string const& words, bool resent) {
    if (done) done({.content = refused{.text = words, .resent = resent}});
  }
  static void refuse(response_handler& done, std::string const& words, bool resent) {
    if (done) done({.reply = resp::make_error(words), .resent = resent});
  }

  std::vector<std::string> sent_;
  std::deque<any_handler> unanswered_;
};

/// A caller that remembers that it was finished.
struct recorded_waiter final : waiter {
  explicit recorded_waiter(lock_queue_ptr target, lock_options const& options = {})
      : waiter{std::move(target), effective_options_ptr{new effective_options{options}}, {}} {}
  void finished() noexcept override { ++times_finished; }

  int times_finished = 0;
};

/// A client's constants, loop and queues.
class engine_parts : public testing::Test {
 protected:
  explicit engine_parts(std::string const& url = "redis://h:1", client_options options = {})
      : client_{make_client_constants(with_log(std::move(options)), net::parse_deployment_url(url))} {}

  [[nodiscard]] lock_queue_ptr pin(recipe const& lock_recipe = recipes::plain::exclusive,
                                   std::string_view name = "orders") {
    return queues_.pin(lock_recipe, name);
  }
  /// A lease that has just begun.
  [[nodiscard]] static lease_state_ptr make_lease(lock_queue_ptr const& queue, std::uint64_t number,
                                                  lock_options const& options = {}) {
    lease_state_ptr lease{
        new lease_state{queue, effective_options_ptr{new effective_options{options}}, number, 100}};
    lease->set_deadline(deadline_of(boot_clock::now(), options.ttl));
    lease->tokens_left = options.handoff_limit;
    return lease;
  }
  void open_contender(lock_queue& queue, std::uint64_t number) {
    using std::chrono::milliseconds;
    queues_.add(queue, std::make_unique<contender>(number, client_.owner_id(number), std::function<void()>{},
                                                   backoff{milliseconds{1}, milliseconds{1}}));
  }
  /// Lets time pass, with the timers that are due by then.
  void pass(std::chrono::nanoseconds time) {
    clock_.advance(time);
    reactor::lock hold{loop_.mutex()};
    reactor::moved_clock::fire_timers(loop_);
    loop_.leave(hold);
  }

  standing_clock clock_;
  std::vector<std::string> logged_;
  client_constants client_;
  reactor::loop loop_;
  deferred_log log_{loop_, client_.options.log};
  client_stats stats_;
  lock_queues queues_{nullptr, client_, [] {}};
  recording_backend backend_;  ///< its handlers point at queues

 private:
  client_options with_log(client_options options) {
    options.log = [this](log_level, std::string_view message) { logged_.emplace_back(message); };
    return options;
  }
};

}  // namespace holdfast::engine
