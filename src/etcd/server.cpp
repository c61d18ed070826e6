#include "etcd/server.hpp"

#include <algorithm>
#include <utility>

#include "base/backoff.hpp"

namespace holdfast::etcd {
namespace {

using namespace std::chrono_literals;

constexpr milliseconds shortest_pause{20};
constexpr milliseconds longest_pause{500};
/// One member may be frozen: another one is asked soon. All requests may be carried out twice.
constexpr milliseconds longest_try{2'000};
constexpr milliseconds shortest_try{50};

}  // namespace

struct server::question {
  explicit question(scripting::send_options const& options) : send{options} {}

  std::function<void(milliseconds timeout, question_ptr const&)> ask{};
  std::function<void(question const&, status const&, std::shared_ptr<error const> const&)> done{};
  scripting::send_options send;
  time_point begun{};
  time_point sent_at{};
  milliseconds timeout{};
  milliseconds pause = shortest_pause;
  bool sent = false;
  bool resent = false;
  reactor::timer again{{}};
};

server::server(reactor::loop& loop, engine::client_constants const& client, client_stats& counts,
               std::string prefix, std::shared_ptr<mailbox> mail, channel& to)
    : loop_{loop},
      client_{client},
      counts_{counts},
      prefix_{std::move(prefix)},
      mail_{std::move(mail)},
      channel_{to} {}

server::~server() = default;

template <class Answer>
void server::begin(scripting::send_options const& send,
                   std::function<void(milliseconds, channel::handler<Answer>)> ask, handler<Answer> done) {
  auto const asked = std::make_shared<question>(send);
  auto const value = std::make_shared<Answer>();
  asked->begun = boot_clock::now();
  asked->ask = [this, value, ask = std::move(ask)](milliseconds timeout, question_ptr const& self) {
    ask(timeout, [this, mail = mail_, value, self](status ended, Answer answer) {
      mail->put([this, value, self, ended = std::move(ended), answer = std::move(answer)]() mutable {
        if (ended.ok()) *value = std::move(answer);
        on_answer(self, ended);
      });
    });
  };
  asked->done = [value, done = std::move(done)](question const& self, status const& ended,
                                                std::shared_ptr<error const> const& failure) {
    done({.ended = ended,
          .value = std::move(*value),
          .sent_at = self.sent_at,
          .sent = self.sent,
          .resent = self.resent,
          .failure = failure});
  };
  open_.insert(asked);
  loop_.add_interest(1);
  if (over_) end(asked, {.type = status::kind::unreachable}, shut_because_);
  if (shut_because_) return;
  attempt(asked);
}

void server::transact(transaction request, scripting::send_options const& send, handler<outcome> done) {
  begin<outcome>(
      send,
      [this, request = std::move(request)](milliseconds timeout, channel::handler<outcome> answered) {
        channel_.transact(request, timeout, std::move(answered));
      },
      std::move(done));
}

void server::grant(std::chrono::seconds ttl, scripting::send_options const& send, handler<lease_grant> done) {
  begin<lease_grant>(
      send,
      [this, ttl](milliseconds timeout, channel::handler<lease_grant> answered) {
        channel_.grant(ttl, timeout, std::move(answered));
      },
      std::move(done));
}

void server::time_to_live(std::int64_t lease, scripting::send_options const& send, handler<lease_time> done) {
  begin<lease_time>(
      send,
      [this, lease](milliseconds timeout, channel::handler<lease_time> answered) {
        channel_.time_to_live(lease, timeout, std::move(answered));
      },
      std::move(done));
}

void server::examine(milliseconds timeout, std::function<void(cluster_view)> done) {
  begin<cluster_view>(
      {.give_up = boot_clock::now() + timeout},
      [this, timeout](milliseconds /*longest*/, channel::handler<cluster_view> answered) {
        channel_.examine(timeout, [answered = std::move(answered)](cluster_view found) {
          answered({.sent = true}, std::move(found));
        });
      },
      [done = std::move(done)](response<cluster_view>&& answer) { done(std::move(answer.value)); });
}

time_point server::last_attempt_at(scripting::send_options const& send, time_point begun,
                                   bool sent) const noexcept {
  if (send.while_down == net::retry_policy::endless) return send.give_up;
  auto const limit = begun + client_.options.connect_timeout;
  // The member that got it may stand still.
  return sent ? limit + client_.options.reply_timeout : limit;
}

void server::attempt(question_ptr const& asked) {
  auto const now = boot_clock::now();
  auto const limit = last_attempt_at(asked->send, asked->begun, asked->sent);
  auto timeout = std::min(longest_try, client_.options.reply_timeout);
  if (limit != time_point::max() && limit - now < timeout)
    timeout = std::max(shortest_try, std::chrono::ceil<milliseconds>(limit - now));
  asked->sent_at = now;
  asked->timeout = timeout;
  ++counts_.commands;
  to_send_.push_back(asked);
  loop_.writers().mark(*this);
}

/// A request that can't be sent for want of memory stays, for the next turn.
bool server::flush(bool /*driving*/) {
  try {
    for (; !to_send_.empty(); to_send_.pop_front()) {
      auto const& next = to_send_.front();
      if (open_.contains(next)) next->ask(next->timeout, next);
    }
  } catch (...) {
    loop_.writers().mark(*this);
    throw;
  }
  return true;
}

void server::on_answer(question_ptr const& asked, status const& ended) {
  if (!open_.contains(asked)) return;
  if (ended.type != status::kind::unreachable) {
    up_ = true;
    down_because_.reset();
    asked->sent = asked->sent || ended.sent;
    end(asked, ended, nullptr);
    return;
  }
  auto const now = boot_clock::now();
  auto const reason = explain(ended);
  up_ = false;
  down_because_ = reason;
  asked->sent = asked->sent || ended.sent;
  asked->resent = asked->resent || ended.sent;
  if (now + asked->pause >= last_attempt_at(asked->send, asked->begun, asked->sent)) {
    end(asked, ended, reason);
    return;
  }
  asked->again.set([this, self = std::weak_ptr{asked}] {
    auto const still = self.lock();
    if (still && !shut_because_) {
      ++counts_.resent;
      attempt(still);
    }
  });
  loop_.arm(asked->again, now + asked->pause);
  asked->pause = std::min(2 * asked->pause, longest_pause);
}

void server::end(question_ptr const& asked, status const& ended,
                 std::shared_ptr<error const> const& failure) {
  if (open_.erase(asked) == 0) return;
  loop_.add_interest(-1);
  asked->again.disarm();
  auto const done = std::exchange(asked->done, {});
  done(*asked, ended, failure);
}

void server::fail_all() {
  while (!open_.empty()) {
    auto const next = *open_.begin();
    end(next, {.type = status::kind::unreachable}, shut_because_);
  }
  over_ = true;
}

std::string server::words_of(status const& refusal) {
  if (refusal.type != status::kind::full) return refusal.text;
  return refusal.text +
         "; compact and defragment it, and disarm the alarm (etcdctl compact, defrag, alarm disarm)";
}

std::shared_ptr<error const> server::explain(status const& ended) const {
  auto const say = [&](errc code, std::string const& text) {
    return std::make_shared<error const>(code, client_.url + ": " + text);
  };
  switch (ended.type) {
    case status::kind::unauthorized:
      return say(
          errc::unauthorized,
          ended.text +
              "; the URL has to name a user and its password, etcd://user:password@host, and the user "
              "needs the keys of the locks: etcdctl role grant-permission ROLE readwrite --prefix=true \"" +
              prefix_ + "\"");
    case status::kind::not_etcd:
      return say(errc::protocol, ended.text + "; what answers there isn't an etcd that has the API v3");
    case status::kind::two_clusters:
      return say(errc::bad_url, ended.text);
    case status::kind::unreachable:
      return say(errc::unreachable, "etcd can't be asked: " + ended.text);
    case status::kind::full:
    case status::kind::no_such_lease:
    case status::kind::refused:
    case status::kind::ok:
      break;
  }
  return say(errc::refused, words_of(ended));
}

}  // namespace holdfast::etcd
