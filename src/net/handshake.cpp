#include "net/handshake.hpp"

#include <utility>

#include "net/place.hpp"
#include "resp/command.hpp"

namespace holdfast::net {

handshake::handshake(endpoint const& to, std::string client_name, role expected)
    : to_{to}, client_name_{std::move(client_name)} {
  if (!to_.password.empty()) steps_.push_back(request::auth);
  if (to_.db != 0) steps_.push_back(request::select);
  if (!client_name_.empty()) steps_.push_back(request::set_name);
  if (expected == role::master) steps_.push_back(request::role);
  steps_.push_back(request::ping);
}

std::string handshake::commands() const {
  std::string bytes;
  for (auto const what : steps_) {
    switch (what) {
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
      case request::role:
        resp::append_command(bytes, {"ROLE"});
        break;
      case request::ping:
        resp::append_command(bytes, {"PING"});
        break;
    }
  }
  return bytes;
}

handshake::step handshake::on_reply(resp::reply const& answer) {
  if (next_ == steps_.size())
    return fail(errc::protocol, to_.display + " sent a reply that nobody asked for");
  request const what = steps_[next_++];
  if (answer.is_error()) {
    if (step const outcome = refused(what, answer); outcome != step::more) return outcome;
  } else if (what == request::role) {
    if (step const outcome = wrong_role(answer); outcome != step::more) return outcome;
  } else if (!answer.is_text()) {
    return fail(errc::protocol, to_.display + " gave a strange answer when the connection was set up");
  }
  return next_ == steps_.size() ? step::done : step::more;
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
  if (what != request::select) return step::more;  // an old proxy, or an ACL without CLIENT, ROLE or PING
  if (code == "NOPERM") {
    return fail(errc::unauthorized,
                to_.display + " doesn't let this user choose a database (+select): " + words);
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
  } else if (has("wrong number of arguments") && !to_.user.empty()) {
    advice = "a server older than Redis 6 knows no users; leave the user out of the URL (:password@host)";
  }
  return fail(errc::unauthorized, to_.display + " refuses " + who + ": " + words + "; " + advice);
}

handshake::step handshake::fail(errc code, std::string const& why) {
  code_ = code;
  why_ = why;
  return step::failed;
}

}  // namespace holdfast::net
