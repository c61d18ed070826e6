#include "net/handshake.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "net/deployment_url.hpp"
#include "resp/command.hpp"

namespace holdfast::net {
namespace {

/// A server counts the age of a connection in whole seconds.
constexpr std::chrono::seconds rounding_of_ages{2};
constexpr std::uint64_t greatest_age{1'000'000'000};

/// The value of ` name=` in a line of CLIENT LIST. No value has a space in it.
std::string_view field_of_client(std::string_view line, std::string_view name) {
  auto const begin = line.find(name);
  if (begin == std::string_view::npos) return {};
  auto const rest = line.substr(begin + name.size());
  return rest.substr(0, rest.find_first_of(" \r\n"));
}

std::uint64_t whole(std::string_view digits) {
  std::uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

connection_id read_info(std::string_view line) {
  auto const number = line.starts_with("id=") ? whole(field_of_client(line, "id=")) : 0;
  return {.number = number, .address = std::string{field_of_client(line, " addr=")}};
}

/// The server's words without what it was sent: it quotes the arguments of a command that it doesn't know,
/// and may cut them off.
std::string without(std::string const& secret, std::string words) {
  words.erase(std::min(words.find(", with args beginning with"), words.size()));
  for (auto at = words.find(secret); at != std::string::npos; at = words.find(secret, at))
    words.erase(at, secret.size());
  return words;
}

/// No two connections to a port of a machine have the same address at a time; those to a unix socket all do.
bool tells_one_from_another(std::string_view address) { return !address.empty() && !address.ends_with(":0"); }

}  // namespace

handshake::handshake(endpoint const& to, std::string client_name, role expected, identity of_ours)
    : to_{to}, client_name_{std::move(client_name)} {
  if (!to_.password.empty()) steps_.push_back({request::auth});
  if (to_.db != 0) steps_.push_back({request::select});
  if (!client_name_.empty()) steps_.push_back({request::set_name});
  if (of_ours == identity::asked) steps_.push_back({request::info});
  if (expected == role::master) steps_.push_back({request::role});
  steps_.push_back({request::ping});
}

void handshake::end_first(std::vector<loose_end> those, time_point now) {
  to_end_ = std::move(those);
  now_ = now;
}

std::string handshake::commands() {
  std::string bytes;
  for (; sent_ != steps_.size(); ++sent_) append(bytes, steps_[sent_]);
  return bytes;
}

void handshake::append(std::string& bytes, question const& asked) const {
  auto const id = [&] { return std::to_string(to_end_[asked.about].id.number); };
  switch (asked.what) {
    case request::auth:
      if (to_.user.empty()) {
        resp::append_command(bytes, {"AUTH", to_.password});
      } else {
        resp::append_command(bytes, {"AUTH", to_.user, to_.password});
      }
      break;
    case request::select:
      resp::append_command(bytes, {"SELECT", std::to_string(to_.db)});
      break;
    case request::set_name:
      resp::append_command(bytes, {"CLIENT", "SETNAME", client_name_});
      break;
    case request::info:
      resp::append_command(bytes, {"CLIENT", "INFO"});
      break;
    case request::role:
      resp::append_command(bytes, {"ROLE"});
      break;
    case request::ping:
      resp::append_command(bytes, {"PING"});
      break;
    case request::list:
      resp::append_command(bytes, {"CLIENT", "LIST", "ID", id()});
      break;
    case request::kill:
      // Both have to fit: after a restart of the server somebody else may have the number.
      resp::append_command(bytes, {"CLIENT", "KILL", "ID", id(), "ADDR", to_end_[asked.about].id.address});
      break;
  }
}

handshake::step handshake::on_reply(resp::reply const& answer) {
  if (next_ == steps_.size())
    return fail(errc::protocol, to_.display + " sent a reply that nobody asked for");
  auto const asked = steps_[next_++];
  auto const outcome = answer.is_error() ? refused(asked.what, answer) : read(asked, answer);
  return outcome == step::more ? next() : outcome;
}

handshake::step handshake::read(question const& asked, resp::reply const& answer) {
  if (asked.what == request::role) return wrong_role(answer);
  if (asked.what == request::kill) return step::more;  // it is gone now, or was before
  if (!answer.is_text()) {
    return fail(errc::protocol, to_.display + " gave a strange answer when the connection was set up");
  }
  if (asked.what == request::info) ours_ = read_info(answer.text);
  if (asked.what == request::list && !answer.text.empty()) {
    // One that is younger than ours was belongs to somebody else, who came when the server had been started
    // again.
    std::chrono::seconds const age{std::min(whole(field_of_client(answer.text, " age=")), greatest_age)};
    if (age + rounding_of_ages >= now_ - to_end_[asked.about].since) {
      steps_.push_back({request::kill, asked.about});
    }
  }
  return step::more;
}

handshake::step handshake::next() {
  if (next_ == steps_.size() && !std::exchange(looked_, true)) look_at_loose_ends();
  if (next_ == steps_.size()) return step::done;
  return next_ == sent_ ? step::send : step::more;
}

/// Numbers grow: whoever has a greater one than we was there before the server was started again.
void handshake::look_at_loose_ends() {
  for (std::size_t i = 0; i != to_end_.size(); ++i) {
    auto const& id = to_end_[i].id;
    if (id.number == 0 || ours_.number == 0) {
      not_ended_ = not_told_.empty() ? "CLIENT INFO doesn't say which it is" : not_told_;
    } else if (id.number < ours_.number) {
      steps_.push_back({tells_one_from_another(id.address) ? request::kill : request::list, i});
    }
  }
}

error handshake::failure() const { return {code_, why_}; }

/// `more` when we can do without what was refused.
handshake::step handshake::refused(request what, resp::reply const& answer) {
  auto const code = answer.error_code();
  auto const& words = answer.text;
  if (code == "LOADING" || code == "BUSY" || code == "MASTERDOWN") {
    fail(errc::refused, to_.display + " isn't ready: " + words);
    return step::not_ready;
  }
  // Both come unasked, in place of the first reply, and the server hangs up.
  if (words.find("max number of clients") != std::string::npos || code == "DENIED") {
    return fail(errc::refused, to_.display + " takes no connection: " + words);
  }
  if (what == request::auth) return refused_login(words);
  if (code == "NOAUTH") {
    return fail(errc::unauthorized,
                to_.display + " needs a password: put it in the URL, as in redis://user:password@host (" +
                    words + ")");
  }
  if (what == request::info) not_told_ = words;
  if (what == request::list || what == request::kill) not_ended_ = words;
  if (what != request::select) return step::more;  // an old proxy, or an ACL without CLIENT, ROLE or PING
  if (code == "NOPERM") {
    // Of Valkey 9.1 or later there are rights to databases, too.
    auto const* const right = words.find("access database") == std::string::npos ? "+select" : "alldbs";
    return fail(errc::unauthorized,
                to_.display + " doesn't let this user choose the database (" + right + "): " + words);
  }
  if (words.find("unknown command") != std::string::npos) {
    return fail(errc::refused,
                to_.display + " has no databases: " + words + "; " + std::string{advice_about_sentinels});
  }
  return fail(errc::refused, to_.display + " has no database " + std::to_string(to_.db) + ": " + words);
}

/// `more` when it is the right one.
handshake::step handshake::wrong_role(resp::reply const& answer) {
  if (!answer.is_array() || answer.size() == 0 || !answer[0].is_text()) {
    return fail(errc::protocol, to_.display + " gave a strange answer to ROLE");
  }
  if (answer[0].text == "master") return step::more;
  fail(errc::unreachable, to_.display + " is a " + (answer[0].text == "slave" ? "replica" : answer[0].text) +
                              " and not, or no more, the master");
  return step::elsewhere;
}

handshake::step handshake::refused_login(std::string const& words) {
  auto const has = [&](char const* part) { return words.find(part) != std::string::npos; };
  std::string const who = to_.user.empty() ? "the password" : "user \"" + to_.user + "\"";
  std::string advice = "check user and password in the URL";
  if (has("without any password") || has("no password is set")) {
    advice = "it has no password set; leave it out of the URL";
  } else if (has("unknown command")) {
    advice = "it has no AUTH, or another name for it; leave user and password out of the URL";
  } else if (has("wrong number of arguments") && !to_.user.empty()) {
    advice = "a server older than Redis 6 knows no users; leave the user out of the URL (:password@host)";
  }
  return fail(errc::unauthorized,
              to_.display + " refuses " + who + ": " + without(to_.password, words) + "; " + advice);
}

handshake::step handshake::fail(errc code, std::string const& why) {
  code_ = code;
  why_ = why;
  return step::failed;
}

}  // namespace holdfast::net
