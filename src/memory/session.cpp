#include "memory/session.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "memory/arguments.hpp"
#include "resp/command.hpp"
#include "resp/make_reply.hpp"

namespace holdfast::memory {
namespace {

using resp::make_array;
using resp::make_error;
using resp::make_integer;
using resp::make_text;

void append_reply(std::string& out, resp::reply const& reply) {
  switch (reply.type) {
    case resp::kind::nil:
      out += "$-1\r\n";
      break;
    case resp::kind::integer:
      out += ':' + std::to_string(reply.integer) + "\r\n";
      break;
    case resp::kind::text:
      resp::append_bulk(out, reply.text);
      break;
    case resp::kind::error:
      out += '-' + reply.text + "\r\n";
      break;
    case resp::kind::array:
      resp::append_array_header(out, reply.size());
      for (auto const& element : reply.elements) append_reply(out, element);
      break;
  }
}

resp::reply discarded() { return make_error("EXECABORT Transaction discarded because of previous errors."); }

bool matches(std::string const& pattern, std::string const& text) {
  return ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

std::vector<resp::reply> texts(std::vector<std::string> const& all, std::string const& pattern) {
  std::vector<resp::reply> found;
  found.reserve(all.size());
  for (auto const& each : all) {
    if (matches(pattern, each)) found.push_back(make_text(each));
  }
  return found;
}

/// The word behind that one; `otherwise`: it isn't there.
std::string behind(command const& words, std::string_view option, std::string otherwise) {
  auto const found = std::ranges::find(words, option);
  return found == words.end() || found + 1 == words.end() ? std::move(otherwise) : *(found + 1);
}

}  // namespace

session::session(node& home, std::function<void()> on_output)
    : home_{home}, on_output_{std::move(on_output)}, number_{home.join(*this)} {}

session::~session() {
  for (auto const& channel : channels_) home_.server().unsubscribe(channel, this);
  home_.leave(*this);
}

void session::receive(std::string_view bytes) {
  auto const room = parser_.prepare(bytes.size());
  std::ranges::copy(bytes, room.begin());
  parser_.commit(bytes.size());
  serve();
}

void session::serve() {
  resp::reply parsed;
  while (!ended_ && !home_.is(trouble::paused) && parser_.next(parsed) == resp::parser::outcome::reply) {
    command words;
    words.reserve(parsed.size());
    for (auto& word : parsed.elements) words.push_back(std::move(word.text));
    if (!words.empty()) answer(std::move(words));
  }
  if (readable()) on_output_();
}

std::size_t session::read(char* into, std::size_t size) {
  auto const n = std::min(size, out_.size());
  std::copy_n(out_.begin(), n, into);
  out_.erase(0, n);
  return n;
}

void session::end() {
  if (std::exchange(ended_, true)) return;
  for (auto const& channel : channels_) home_.server().unsubscribe(channel, this);
  channels_.clear();
  out_.clear();
  on_output_();
}

void session::go_on() { serve(); }

void session::answer(command&& words) {
  if (home_.is(trouble::refusing)) return append_reply(out_, refusal_of(words.front()));
  auto const ends = words.front() == "EXEC";
  if (!transaction_.empty() && !ends) {
    transaction_.push_back(std::move(words));
    return append_reply(out_, make_text("QUEUED"));
  }
  if (words.front() == "MULTI") {
    transaction_.push_back(std::move(words));
    spoilt_ = false;
    return append_reply(out_, make_text("OK"));
  }
  if (words.front() == "SUBSCRIBE") return subscribe(words);
  if (words.front() == "UNSUBSCRIBE") return unsubscribe(words);
  if (!ends) return append_reply(out_, reply_to(words));
  auto const all = std::exchange(transaction_, {});
  if (all.empty()) return append_reply(out_, make_error("ERR EXEC without MULTI"));
  if (spoilt_) return append_reply(out_, discarded());
  std::vector<resp::reply> results;
  results.reserve(all.size() - 1);
  for (auto next = all.begin() + 1; next != all.end(); ++next) results.push_back(reply_to(*next));
  append_reply(out_, make_array(std::move(results)));
}

/// As a server that is loading its data: it begins transactions, and refuses what is in them.
resp::reply session::refusal_of(std::string const& verb) {
  if (verb == "MULTI") {
    transaction_.assign(1, {verb});
    spoilt_ = false;
    return make_text("OK");
  }
  if (verb == "EXEC" && !std::exchange(transaction_, {}).empty()) return discarded();
  spoilt_ = !transaction_.empty();
  return make_error(home_.refusal());
}

resp::reply session::reply_to(command const& words) {
  try {
    return carry_out(words);
  } catch (std::logic_error const& lacking) {
    return make_error("ERR unknown command '" + words.front() + "': " + lacking.what());
  }
}

/// Throws std::logic_error for a command that isn't there, or lacks a word.
resp::reply session::carry_out(command const& words) {
  auto const& verb = words.front();
  if (verb == "CLIENT") return about_client(words);
  if (verb == "SCAN") return scan(words);
  if (verb == "KEYS") return make_array(texts(home_.server().data(boot_clock::now()).keys(), words.at(1)));
  if (verb == "FLUSHALL") {
    home_.server().data(boot_clock::now()).clear();
    return make_text("OK");
  }
  if (verb == "SCRIPT" && words.at(1) == "FLUSH") {
    home_.server().flush_scripts();
    return make_text("OK");
  }
  if (verb == "WAIT" || verb == "WAITAOF") return acknowledged(words);
  // None of the commands that our client asks for: the module's, and compare-and-delete.
  if (verb == "COMMAND") return make_array(std::vector<resp::reply>(words.size() - 2));
  if (verb == "PUBSUB") return about_channels(words);
  if (verb == "PING" && !channels_.empty()) return make_array({make_text("pong"), make_text("")});
  return home_.server().execute(words, boot_clock::now());
}

resp::reply session::about_client(command const& words) {
  auto const& subcommand = words.at(1);
  if (subcommand == "SETNAME") {
    name_ = words.at(2);
    return make_text("OK");
  }
  if (subcommand == "INFO") return make_text(info());
  auto const number = behind(words, "ID", "0");
  auto* const named = home_.connection(static_cast<std::uint64_t>(number_of(number)));
  if (subcommand == "LIST" && words.at(2) == "TYPE") return make_text(home_.list_of(words.at(3) == "pubsub"));
  if (subcommand == "LIST") return make_text(named == nullptr ? std::string{} : named->info());
  if (subcommand != "KILL") return make_error("ERR unknown subcommand '" + subcommand + "'");
  if (named != nullptr) named->end();
  return make_integer(named == nullptr ? 0 : 1);
}

std::string session::info() const {
  auto const number = std::to_string(number_);
  return "id=" + number + " addr=memory:" + number + " name=" + name_ + " age=0\n";
}

resp::reply session::about_channels(command const& words) const {
  if (words.at(1) == "NUMSUB") return home_.server().count_listeners(words.at(2));
  if (words.at(1) != "CHANNELS") return make_error("ERR unknown subcommand '" + words[1] + "'");
  return make_array(texts(home_.server().channels(), words.size() > 2 ? words[2] : "*"));
}

/// All keys at once.
resp::reply session::scan(command const& words) {
  auto keys = home_.server().data(boot_clock::now()).keys();
  if (auto const type = behind(words, "TYPE", {}); !type.empty()) {
    std::erase_if(keys, [&](std::string const& key) {
      return home_.server().execute({"TYPE", key}, boot_clock::now()).text != type;
    });
  }
  return make_array({make_text("0"), make_array(texts(keys, behind(words, "MATCH", "*")))});
}

/// The replicas have each write as soon as the server has it, and so does the disk.
resp::reply session::acknowledged(command const& words) const {
  auto const replicas = make_integer(home_.replicas());
  return words.front() == "WAIT" ? replicas : make_array({make_integer(1), replicas});
}

void session::subscribe(command const& words) {
  for (auto channel = words.begin() + 1; channel != words.end(); ++channel) {
    channels_.insert(*channel);
    home_.server().subscribe(*channel, this, [this, channel = *channel](std::string const& message) {
      append_reply(out_, make_array({make_text("message"), make_text(channel), make_text(message)}));
      if (readable()) on_output_();
    });
    append_reply(out_, make_array({make_text("subscribe"), make_text(*channel),
                                   make_integer(static_cast<std::int64_t>(channels_.size()))}));
  }
}

void session::unsubscribe(command const& words) {
  for (auto channel = words.begin() + 1; channel != words.end(); ++channel) {
    channels_.erase(*channel);
    home_.server().unsubscribe(*channel, this);
    append_reply(out_, make_array({make_text("unsubscribe"), make_text(*channel),
                                   make_integer(static_cast<std::int64_t>(channels_.size()))}));
  }
}

}  // namespace holdfast::memory
