#include "topology/sentinel_link.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "resp/command.hpp"

namespace holdfast::topology {
namespace {

constexpr std::string_view switches = "+switch-master";
constexpr std::string_view promoted = "+promoted-slave";

/// The reply timeout of a sentinel: there are others to ask.
constexpr std::chrono::milliseconds longest_question{1000};

/// The pause after a query for which there was no memory.
constexpr std::chrono::milliseconds pause_before_retry{10};

net::settings settings_for(net::endpoint endpoint, net::settings config) {
  config.server = std::move(endpoint);
  config.locator = nullptr;
  config.known_broken = nullptr;  // queries change nothing
  config.translator = nullptr;
  config.lost = nullptr;
  config.restored = nullptr;
  config.unheard = nullptr;
  config.connect_timeout /= 2;  // the rest is for the master
  config.reply_timeout = std::min(config.reply_timeout, longest_question);
  return config;
}

std::shared_ptr<error const> explain_failure(net::endpoint const& endpoint, error const& reason) {
  if (reason.code() != errc::unauthorized) return std::make_shared<error const>(reason);
  return std::make_shared<error const>(errc::unauthorized, std::string{reason.what()} +
                                                               "; the sentinels' own are sentinel_user= and "
                                                               "sentinel_password= in the URL (of " +
                                                               endpoint.display + ")");
}

std::shared_ptr<error const> explain_refusal(net::endpoint const& endpoint, resp::reply const& refusal) {
  if (refusal.text.find("unknown command") != std::string::npos) {
    return std::make_shared<error const>(
        errc::bad_url, endpoint.display + " is not a sentinel but a server with data: use " +
                           endpoint.display +
                           ", or give the addresses of its sentinels (port 26379, as a rule)");
  }
  auto const rights = refusal.error_code() == "NOPERM";
  return std::make_shared<error const>(rights ? errc::unauthorized : errc::refused,
                                       endpoint.display + ": " + refusal.text +
                                           (rights ? "; Holdfast needs +sentinel and, to hear of failovers, "
                                                     "+subscribe, &+switch-master and &+promoted-slave there"
                                                   : ""));
}

}  // namespace

sentinel_link::sentinel_link(reactor::loop& loop, net::endpoint endpoint, net::settings const& config,
                             std::string master, client_stats& counts, events handlers)
    : config_{settings_for(std::move(endpoint), config)},
      master_{std::move(master)},
      events_{std::move(handlers)},
      requests_{loop, config_, counts},
      messages_{loop, config_, counts},
      out_of_memory_{std::make_shared<error const>(std::errc::not_enough_memory,
                                                   config_.server.display + ": out of memory")},
      loop_{loop},
      begin_timer_{[this] { begin(); }} {}

template <class Done>
void sentinel_link::send(std::initializer_list<std::string_view> words, Done done) {
  std::string bytes;
  resp::append_command(bytes, words);
  requests_.send({.bytes = std::move(bytes), .done = std::move(done)});
}

void sentinel_link::ask() noexcept {
  if (!std::exchange(asking_, true)) begin();
}

void sentinel_link::begin() noexcept {
  begun_at_ = boot_clock::now();
  next_ = {};
  next_trouble_.reset();
  names_.clear();
  try {
    send_queries();
  } catch (std::exception const&) {
    [[maybe_unused]] auto const unanswered = requests_.take_all();
    loop_.arm(begin_timer_, boot_clock::now() + pause_before_retry);
  }
}

void sentinel_link::send_queries() {
  send({"SENTINEL", "MYID"}, [this](net::response&& response) { read(response, &read_id); });
  // The epoch is read before the address: if a failover ends in between, a new address has an old epoch. An
  // old address with a new epoch would count as newer than the truth.
  send({"SENTINEL", "MASTER", master_}, [this](net::response&& response) { read(response, &read_master); });
  send({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", master_},
       [this](net::response&& response) { read(response, &read_address); });
  send({"SENTINEL", "SENTINELS", master_}, [this](net::response&& response) {
    read(response, &read_others);
    try {
      if (!next_trouble_ && !next_.master) return ask_for_names();
    } catch (std::exception const&) {
      next_trouble_ = out_of_memory_;
    }
    finish();
  });
}

void sentinel_link::ask_anew() noexcept {
  again_ = asking_;
  ask();
}

void sentinel_link::read(net::response const& response, reader parse) noexcept {
  if (next_trouble_) return;
  try {
    if (response.failure) {
      next_trouble_ = explain_failure(endpoint(), *response.failure);
    } else if (!parse(response.reply, next_)) {
      next_trouble_ =
          response.reply.is_error()
              ? explain_refusal(endpoint(), response.reply)
              : std::make_shared<error const>(errc::protocol, endpoint().display + " gave a strange answer");
    }
  } catch (std::exception const&) {
    next_trouble_ = out_of_memory_;
  }
}

/// For the error message: our master isn't among the names.
void sentinel_link::ask_for_names() {
  send({"SENTINEL", "MASTERS"}, [this](net::response&& response) {
    try {
      if (!response.failure) names_ = read_names(response.reply);
    } catch (std::exception const&) {
      next_trouble_ = out_of_memory_;
    }
    finish();
  });
}

void sentinel_link::finish() noexcept {
  asking_ = false;
  asked_at_ = begun_at_;
  switched_ = switched_ && again_;
  trouble_ = std::move(next_trouble_);
  view_.reset();
  if (!trouble_) {
    view_ = std::move(next_);
    messages_.reopen();  // what it had refused for good, as a sentinel without its password, may be mended
  }
  changed_ = view_ && (!previous_ || previous_->first != view_->master || previous_->second != view_->epoch);
  try {
    if (view_) previous_ = {view_->master, view_->epoch};
  } catch (std::exception const&) {
    previous_.reset();  // the next view counts as the first
  }
  events_.answered(*this);
  if (std::exchange(again_, false)) ask();
}

void sentinel_link::listen() {
  messages_.listen(std::string{switches}, *this);
  messages_.listen(std::string{promoted}, promotions_);
}

void sentinel_link::go_idle() noexcept {
  again_ = false;
  begin_timer_.disarm();
  if (std::exchange(asking_, false)) {
    view_.reset();
    try {
      trouble_ = std::make_shared<error const>(errc::unreachable, endpoint().display + " doesn't answer");
    } catch (std::exception const&) {
      trouble_ = out_of_memory_;
    }
  }
  [[maybe_unused]] auto const unanswered = requests_.take_all();
}

void sentinel_link::shut() noexcept {
  messages_.shut();
  begin_timer_.disarm();
  [[maybe_unused]] auto const unanswered = requests_.take_all();
}

void sentinel_link::on_subscribed() { events_.subscribed(*this); }

void sentinel_link::on_message(std::string_view message) {
  if (is_switch(message, master_)) on_another_master();
}

void sentinel_link::promotions::on_message(std::string_view message) {
  if (is_promotion(message, link.master_)) link.on_another_master();
}

void sentinel_link::on_another_master() {
  switched_ = true;
  events_.switched(*this);
}

void sentinel_link::on_refused(std::string const& text) {
  hears_promotions_alone_ = true;
  on_subscribed();  // to the other one, a moment ago
  events_.warning(
      endpoint().display + " refuses the channel " + std::string{switches} + " (" + text +
      "), so a failover shows only when a promotion is announced, or the connection to the master "
      "breaks; grant &" +
      std::string{switches} + ", &" + std::string{promoted} + " and +subscribe there");
}

}  // namespace holdfast::topology
