#include "topology/sentinel_line.hpp"

#include <algorithm>
#include <utility>

#include "resp/command.hpp"

namespace holdfast::topology {
namespace {

constexpr std::string_view switches = "+switch-master";

/// A sentinel that takes longer to answer isn't waited for: there are others.
constexpr std::chrono::milliseconds longest_question{1000};

net::settings settings_for(net::endpoint at, net::settings like) {
  like.server = std::move(at);
  like.where = nullptr;
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

sentinel_line::sentinel_line(reactor::loop& on, net::endpoint at, net::settings const& like,
                             std::string master, client_stats& counts, events tell)
    : how_{settings_for(std::move(at), like)},
      master_{std::move(master)},
      tell_{std::move(tell)},
      questions_{on, how_, counts},
      news_{on, how_, counts} {}

template <class Done>
void sentinel_line::send(std::initializer_list<std::string_view> words, Done done) {
  std::string bytes;
  resp::append_command(bytes, words);
  questions_.send({.bytes = std::move(bytes), .done = std::move(done)});
}

void sentinel_line::ask() {
  if (std::exchange(asking_, true)) return;
  next_ = {};
  next_trouble_.reset();
  names_.clear();
  send({"SENTINEL", "MYID"}, [this](net::answer&& how) { read(how, &read_id); });
  // In this order: if a failover ends in between, a new address has an old number, and not the other way
  // round, which would count as newer than the truth.
  send({"SENTINEL", "MASTER", master_}, [this](net::answer&& how) { read(how, &read_master); });
  send({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", master_},
       [this](net::answer&& how) { read(how, &read_address); });
  send({"SENTINEL", "SENTINELS", master_}, [this](net::answer&& how) {
    read(how, &read_others);
    if (!next_trouble_ && !next_.master) {
      ask_for_names();
    } else {
      finish();
    }
  });
}

void sentinel_line::ask_anew() {
  again_ = asking_;
  ask();
}

void sentinel_line::read(net::answer const& how, reader into) {
  if (next_trouble_) return;
  if (how.failure) {
    next_trouble_ = explain_failure(at(), *how.failure);
  } else if (!into(how.reply, next_)) {
    next_trouble_ = how.reply.is_error() ? explain_refusal(at(), how.reply)
                                         : std::make_shared<error const>(
                                               errc::protocol, at().display + " gave a strange answer");
  }
}

/// Ours isn't among them: so that the error can say which are.
void sentinel_line::ask_for_names() {
  send({"SENTINEL", "MASTERS"}, [this](net::answer&& how) {
    if (!how.failure) names_ = read_names(how.reply);
    finish();
  });
}

void sentinel_line::finish() {
  asking_ = false;
  trouble_ = std::move(next_trouble_);
  view_.reset();
  if (!trouble_) view_ = std::move(next_);
  changed_ = view_ && word_ != std::pair{view_->master, view_->epoch};
  if (view_) word_ = {view_->master, view_->epoch};
  tell_.answered(*this);
  if (std::exchange(again_, false)) ask();
}

void sentinel_line::listen() { news_.listen(std::string{switches}, *this); }

void sentinel_line::rest() {
  again_ = false;
  if (std::exchange(asking_, false)) {
    trouble_ = std::make_shared<error const>(errc::unreachable, at().display + " doesn't answer");
    view_.reset();
  }
  (void)questions_.take_all();
}

void sentinel_line::shut() {
  news_.close();
  (void)questions_.take_all();
}

void sentinel_line::on_subscribed() { tell_.hears(*this); }

void sentinel_line::on_message(std::string_view message) {
  if (is_switch(message, master_)) tell_.switched(*this);
}

void sentinel_line::on_refused(std::string const& words) {
  tell_.warning(at().display + " refuses the channel " + std::string{switches} + " (" + words +
                "), so a failover shows only when the connection to the master breaks; grant &" +
                std::string{switches} + " and +subscribe there");
}

}  // namespace holdfast::topology
