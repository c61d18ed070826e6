#include "topology/sentinel_link.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "resp/command.hpp"

namespace holdfast::topology {
namespace {

constexpr std::string_view switches = "+switch-master";

/// A sentinel that takes longer to answer isn't waited for: there are others.
constexpr std::chrono::milliseconds longest_question{1000};

/// Before what there was no memory for is tried again.
constexpr std::chrono::milliseconds pause_before_retry{10};

net::settings settings_for(net::endpoint at, net::settings like) {
  like.server = std::move(at);
  like.locator = nullptr;
  like.unended = nullptr;     // it is only asked
  like.connect_timeout /= 2;  // the rest is for the master
  like.reply_timeout = std::min(like.reply_timeout, longest_question);
  return like;
}

std::shared_ptr<error const> explain_failure(net::endpoint const& at, error const& why) {
  if (why.code() != errc::unauthorized) return std::make_shared<error const>(why);
  return std::make_shared<error const>(errc::unauthorized, std::string{why.what()} +
                                                               "; the sentinels' own are sentinel_user= and "
                                                               "sentinel_password= in the URL (of " +
                                                               at.display + ")");
}

std::shared_ptr<error const> explain_refusal(net::endpoint const& at, resp::reply const& what) {
  if (what.text.find("unknown command") != std::string::npos) {
    return std::make_shared<error const>(
        errc::bad_url, at.display + " is no sentinel but a server with data: use " + at.display +
                           ", or give the addresses of its sentinels (port 26379, as a rule)");
  }
  auto const rights = what.error_code() == "NOPERM";
  return std::make_shared<error const>(rights ? errc::unauthorized : errc::refused,
                                       at.display + ": " + what.text +
                                           (rights ? "; Holdfast needs +sentinel and, to hear of failovers, "
                                                     "+subscribe and &+switch-master there"
                                                   : ""));
}

}  // namespace

sentinel_link::sentinel_link(reactor::loop& on, net::endpoint at, net::settings const& like,
                             std::string master, client_stats& counts, events tell)
    : how_{settings_for(std::move(at), like)},
      master_{std::move(master)},
      tell_{std::move(tell)},
      questions_{on, how_, counts},
      news_{on, how_, counts},
      out_of_memory_{std::make_shared<error const>(std::errc::not_enough_memory,
                                                   how_.server.display + ": out of memory")},
      on_{on},
      begin_timer_{[this] { begin(); }} {}

template <class Done>
void sentinel_link::send(std::initializer_list<std::string_view> words, Done done) {
  std::string bytes;
  resp::append_command(bytes, words);
  questions_.send({.bytes = std::move(bytes), .done = std::move(done)});
}

void sentinel_link::ask() noexcept {
  if (!std::exchange(asking_, true)) begin();
}

void sentinel_link::begin() noexcept {
  next_ = {};
  next_trouble_.reset();
  names_.clear();
  try {
    put_questions();
  } catch (std::exception const&) {
    [[maybe_unused]] auto const half = questions_.take_all();
    on_.arm(begin_timer_, boot_clock::now() + pause_before_retry);
  }
}

void sentinel_link::put_questions() {
  send({"SENTINEL", "MYID"}, [this](net::response&& how) { read(how, &read_id); });
  // In this order: if a failover ends in between, a new address has an old number, and not the other way
  // round, which would count as newer than the truth.
  send({"SENTINEL", "MASTER", master_}, [this](net::response&& how) { read(how, &read_master); });
  send({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", master_},
       [this](net::response&& how) { read(how, &read_address); });
  send({"SENTINEL", "SENTINELS", master_}, [this](net::response&& how) {
    read(how, &read_others);
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

void sentinel_link::read(net::response const& how, reader into) noexcept {
  if (next_trouble_) return;
  try {
    if (how.failure) {
      next_trouble_ = explain_failure(at(), *how.failure);
    } else if (!into(how.reply, next_)) {
      next_trouble_ = how.reply.is_error() ? explain_refusal(at(), how.reply)
                                           : std::make_shared<error const>(
                                                 errc::protocol, at().display + " gave a strange answer");
    }
  } catch (std::exception const&) {
    next_trouble_ = out_of_memory_;
  }
}

/// Ours isn't among them: so that the error can say which are.
void sentinel_link::ask_for_names() {
  send({"SENTINEL", "MASTERS"}, [this](net::response&& how) {
    try {
      if (!how.failure) names_ = read_names(how.reply);
    } catch (std::exception const&) {
      next_trouble_ = out_of_memory_;
    }
    finish();
  });
}

void sentinel_link::finish() noexcept {
  asking_ = false;
  trouble_ = std::move(next_trouble_);
  view_.reset();
  if (!trouble_) view_ = std::move(next_);
  changed_ = view_ && (!word_ || word_->first != view_->master || word_->second != view_->epoch);
  try {
    if (view_) word_ = {view_->master, view_->epoch};
  } catch (std::exception const&) {
    word_.reset();  // the next time counts as the first
  }
  tell_.answered(*this);
  if (std::exchange(again_, false)) ask();
}

void sentinel_link::listen() { news_.listen(std::string{switches}, *this); }

void sentinel_link::rest() noexcept {
  again_ = false;
  begin_timer_.disarm();
  if (std::exchange(asking_, false)) {
    view_.reset();
    try {
      trouble_ = std::make_shared<error const>(errc::unreachable, at().display + " doesn't answer");
    } catch (std::exception const&) {
      trouble_ = out_of_memory_;
    }
  }
  [[maybe_unused]] auto const unanswered = questions_.take_all();
}

void sentinel_link::shut() noexcept {
  news_.close();
  begin_timer_.disarm();
  [[maybe_unused]] auto const unanswered = questions_.take_all();
}

void sentinel_link::on_subscribed() { tell_.hears(*this); }

void sentinel_link::on_message(std::string_view message) {
  if (is_switch(message, master_)) tell_.switched(*this);
}

void sentinel_link::on_refused(std::string const& words) {
  tell_.warning(at().display + " refuses the channel " + std::string{switches} + " (" + words +
                "), so a failover shows only when the connection to the master breaks; grant &" +
                std::string{switches} + " and +subscribe there");
}

}  // namespace holdfast::topology
