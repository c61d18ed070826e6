#include "net/handshake.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/whole_number.hpp"
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

client_info read_info(std::string_view line) {
  auto const number =
      line.starts_with("id=") ? leading_number<std::uint64_t>(field_of_client(line, "id=")) : 0;
  return {.number = number, .address = std::string{field_of_client(line, " addr=")}};
}

/// Removes the secret from a server's error text: a server quotes the arguments of an unknown command, and
/// may cut them off.
std::string without(std::string const& secret, std::string text) {
  text.erase(std::min(text.find(", with args beginning with"), text.size()));
  for (auto found = text.find(secret); found != std::string::npos; found = text.find(secret, found))
    text.erase(found, secret.size());
  return text;
}

/// Simultaneous connections to a TCP port have different addresses; those to a unix socket have the same.
bool is_distinctive(std::string_view address) { return !address.empty() && !address.ends_with(":0"); }

}  // namespace

handshake::handshake(endpoint const& to, std::string client_name, role expected, identity own_identity)
    : to_{to}, client_name_{std::move(client_name)} {
  if (!to_.password.empty()) steps_.push_back({request::auth});
  if (to_.db != 0) steps_.push_back({request::select});
  if (!client_name_.empty()) steps_.push_back({request::set_name});
  if (own_identity == identity::asked) steps_.push_back({request::info});
  if (expected == role::master) steps_.push_back({request::role});
  steps_.push_back({request::ping});
}

void handshake::end_first(std::vector<broken_connection> connections, time_point now) {
  to_end_ = std::move(connections);
  now_ = now;
}

void handshake::explore(exchange probe) {
  probe_ = std::move(probe.bytes);
  auto const before_ping = steps_.end() - 1;
  std::vector<question> asked(probe.replies, question{request::explore});
  for (std::size_t i = 0; i != asked.size(); ++i) asked[i].target = i;
  steps_.insert(before_ping, asked.begin(), asked.end());
}

std::string handshake::commands() {
  std::string bytes;
  for (; sent_ != steps_.size(); ++sent_) append(bytes, steps_[sent_]);
  return bytes;
}

void handshake::append(std::string& bytes, question const& asked) const {
  auto const id = [&] { return std::to_string(to_end_[asked.target].id.number); };
  switch (asked.command) {
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
    case request::explore:
      if (asked.target == 0) bytes += probe_;
      break;
    case request::ping:
      resp::append_command(bytes, {"PING"});
      break;
    case request::list:
      resp::append_command(bytes, {"CLIENT", "LIST", "ID", id()});
      break;
    case request::kill:
      // Both must match: after a restart of the server another client's connection may have the number.
      resp::append_command(bytes, {"CLIENT", "KILL", "ID", id(), "ADDR", to_end_[asked.target].id.address});
      break;
  }
}

handshake::step handshake::on_reply(resp::reply const& reply) {
  if (next_ == steps_.size())
    return fail(errc::protocol, to_.display + " sent a reply that nobody asked for");
  auto const asked = steps_[next_++];
  auto const outcome = reply.is_error() ? refused(asked.command, reply) : read(asked, reply);
  return outcome == step::more ? next() : outcome;
}

handshake::step handshake::read(question const& asked, resp::reply const& reply) {
  if (asked.command == request::role) return wrong_role(reply);
  if (asked.command == request::explore) {
    found_.push_back(reply);
    return step::more;
  }
  if (asked.command == request::kill) return step::more;  // the connection is ended now, or was before
  if (!reply.is_text()) {
    return fail(errc::protocol, to_.display + " gave a strange answer when the connection was set up");
  }
  if (asked.command == request::info) own_info_ = read_info(reply.text);
  if (asked.command == request::list && !reply.text.empty()) {
    // A connection with that number that is younger than ours can be is another client's: the server was
    // restarted.
    std::chrono::seconds const age{
        std::min(leading_number<std::uint64_t>(field_of_client(reply.text, " age=")), greatest_age)};
    if (age + rounding_of_ages >= now_ - to_end_[asked.target].greeted_at) {
      steps_.push_back({request::kill, asked.target});
    }
  }
  return step::more;
}

handshake::step handshake::next() {
  if (next_ == steps_.size() && !std::exchange(looked_, true)) look_for_broken_connections();
  if (next_ == steps_.size()) return step::done;
  return next_ == sent_ ? step::send : step::more;
}

/// Numbers only grow while a server runs: a greater number than our own dates from before a restart.
void handshake::look_for_broken_connections() {
  for (std::size_t i = 0; i != to_end_.size(); ++i) {
    auto const& id = to_end_[i].id;
    if (id.number == 0 || own_info_.number == 0) {
      not_ended_ = info_refusal_.empty() ? "CLIENT INFO doesn't say which it is" : info_refusal_;
    } else if (id.number < own_info_.number) {
      steps_.push_back({is_distinctive(id.address) ? request::kill : request::list, i});
    }
  }
}

error handshake::failure() const { return {code_, reason_}; }

/// `more` when the refused command is optional.
handshake::step handshake::refused(request command, resp::reply const& reply) {
  auto const code = reply.error_code();
  auto const& text = reply.text;
  if (reply.says_not_ready()) {
    fail(errc::refused, to_.display + " isn't ready: " + text);
    return step::not_ready;
  }
  // The server sends either in place of the first reply, and hangs up.
  if (text.find("max number of clients") != std::string::npos || code == "DENIED") {
    return fail(errc::refused, to_.display + " takes no connection: " + text);
  }
  if (command == request::auth) return refused_login(text);
  if (code == "NOAUTH") {
    return fail(errc::unauthorized,
                to_.display +
                    " needs a password: give it in a program's URL (redis://user:password@host), or to the "
                    "command with --password-file or HOLDFAST_PASSWORD (" +
                    text + ")");
  }
  if (command == request::explore) found_.push_back(reply);
  if (command == request::info) info_refusal_ = text;
  if (command == request::list || command == request::kill) not_ended_ = text;
  if (command != request::select) return step::more;  // an old proxy, or an ACL without CLIENT, ROLE or PING
  if (code == "NOPERM") {
    // Valkey 9.1 and later also has rights to databases.
    auto const* const right = text.find("access database") == std::string::npos ? "+select" : "alldbs";
    return fail(errc::unauthorized,
                to_.display + " doesn't let this user choose the database (" + right + "): " + text);
  }
  if (text.find("unknown command") != std::string::npos) {
    return fail(errc::refused,
                to_.display + " has no databases: " + text + "; " + std::string{advice_about_sentinels});
  }
  return fail(errc::refused, to_.display + " has no database " + std::to_string(to_.db) + ": " + text);
}

/// `more` for the right role.
handshake::step handshake::wrong_role(resp::reply const& reply) {
  if (!reply.is_array() || reply.size() == 0 || !reply[0].is_text()) {
    return fail(errc::protocol, to_.display + " gave a strange answer to ROLE");
  }
  if (reply[0].text == "master") return step::more;
  fail(errc::unreachable, to_.display + " is a " + (reply[0].text == "slave" ? "replica" : reply[0].text) +
                              " and not, or no more, the master");
  return step::elsewhere;
}

handshake::step handshake::refused_login(std::string const& text) {
  auto const has = [&](char const* part) { return text.find(part) != std::string::npos; };
  std::string const account = to_.user.empty() ? "the password" : "user \"" + to_.user + "\"";
  std::string advice = "check user and password";
  if (has("without any password") || has("no password is set")) {
    advice = "it has no password set; leave it out";
  } else if (has("unknown command")) {
    advice = "it has no AUTH, or another name for it; leave user and password out";
  } else if (has("wrong number of arguments") && !to_.user.empty()) {
    advice = "a server older than Redis 6 knows no users; leave the user out (:password@host)";
  }
  return fail(errc::unauthorized,
              to_.display + " refuses " + account + ": " + without(to_.password, text) + "; " + advice);
}

handshake::step handshake::fail(errc code, std::string const& reason) {
  code_ = code;
  reason_ = reason;
  return step::failed;
}

}  // namespace holdfast::net
