#include "memory/served_connection.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/whole_number.hpp"
#include "memory/arguments.hpp"
#include "resp/command.hpp"
#include "resp/make_reply.hpp"

namespace holdfast::memory {
namespace {

using resp::make_array;
using resp::make_error;
using resp::make_integer;
using resp::make_text;

void append_integer(std::string& out, std::int64_t number) {
  std::array<char, 24> text;
  text.front() = ':';
  auto* const end = std::to_chars(text.data() + 1, text.data() + text.size(), number).ptr;
  out.append(text.data(), end).append("\r\n");
}

void append_reply(std::string& out, resp::reply const& reply) {
  switch (reply.type) {
    case resp::kind::nil:
      out += "$-1\r\n";
      break;
    case resp::kind::integer:
      append_integer(out, reply.integer);
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

std::vector<resp::reply> texts(std::vector<std::string> const& all, std::string const& pattern) {
  std::vector<resp::reply> found;
  found.reserve(all.size());
  for (auto const& each : all) {
    if (::fnmatch(pattern.c_str(), each.c_str(), 0) == 0) found.push_back(make_text(each));
  }
  return found;
}

/// That word; throws std::logic_error if there is none.
std::string_view word(command words, std::size_t position) {
  if (position < words.size()) return words[position];
  throw std::logic_error{"it lacks a word"};
}

/// The word behind that one; `otherwise`: it isn't there.
std::string_view behind(command words, std::string_view option, std::string_view otherwise) {
  auto const found = std::ranges::find(words, option);
  return found == words.end() || found + 1 == words.end() ? otherwise : *(found + 1);
}

}  // namespace

served_connection::served_connection(node& home, std::function<void()> on_output)
    : home_{home}, on_output_{std::move(on_output)}, number_{home.join(*this)} {}

served_connection::~served_connection() {
  for (auto const& channel : channels_) home_.server().unsubscribe(channel, this);
  home_.leave(*this);
}

void served_connection::receive(std::string_view bytes) {
  if (in_.empty()) return serve(bytes);
  in_ += bytes;
  go_on();
}

void served_connection::serve(std::string_view bytes) {
  now_ = boot_clock::now();
  while (!ended_ && !home_.is(trouble::paused)) {
    auto const from = bytes;
    if (!resp::take_whole_command(bytes, words_) || words_.empty()) break;
    answer(words_, from.substr(0, from.size() - bytes.size()));
  }
  in_ = bytes;
  if (readable()) on_output_();
}

std::size_t served_connection::read(char* into, std::size_t size) {
  auto const n = std::min(size, out_.size());
  std::copy_n(out_.begin(), n, into);
  out_.erase(0, n);
  return n;
}

void served_connection::end() {
  if (std::exchange(ended_, true)) return;
  for (auto const& channel : channels_) home_.server().unsubscribe(channel, this);
  channels_.clear();
  out_.clear();
  on_output_();
}

void served_connection::go_on() { serve(std::exchange(in_, {})); }

void served_connection::answer(command words, std::string_view bytes) {
  auto const verb = words.front();
  if (home_.is(trouble::refusing)) return append_reply(out_, refusal_of(verb));
  if (verb == "EXEC") return carry_out_transaction();
  if (transaction_.open) {
    transaction_.commands += bytes;
    ++transaction_.count;
    return append_reply(out_, make_text("QUEUED"));
  }
  if (verb == "MULTI") {
    transaction_.open = true;
    return append_reply(out_, make_text("OK"));
  }
  if (verb == "SUBSCRIBE") return subscribe(words);
  if (verb == "UNSUBSCRIBE") return unsubscribe(words);
  append_reply(out_, reply_to(words));
}

void served_connection::carry_out_transaction() {
  auto const all = std::exchange(transaction_, {});
  if (!all.open) return append_reply(out_, make_error("ERR EXEC without MULTI"));
  if (all.spoilt) return append_reply(out_, discarded());
  resp::append_array_header(out_, all.count);
  std::string_view left{all.commands};
  while (resp::take_whole_command(left, words_)) append_reply(out_, reply_to(words_));
}

/// As a server that is loading its data: it begins transactions, and refuses what is in them.
resp::reply served_connection::refusal_of(std::string_view verb) {
  if (verb == "MULTI") {
    transaction_ = {.open = true};
    return make_text("OK");
  }
  if (verb == "EXEC" && std::exchange(transaction_, {}).open) return discarded();
  transaction_.spoilt = transaction_.open;
  return make_error(home_.refusal());
}

resp::reply served_connection::reply_to(command words) {
  try {
    return carry_out(words);
  } catch (std::logic_error const& lacking) {
    return make_error("ERR unknown command '" + std::string{words.front()} + "': " + lacking.what());
  }
}

/// Throws std::logic_error for a command that isn't there, or lacks a word.
resp::reply served_connection::carry_out(command words) {
  auto const verb = words.front();
  if (verb == "CLIENT") return about_client(words);
  if (verb == "SCAN") return scan(words);
  if (verb == "KEYS") return make_array(texts(home_.server().data(now_).keys(), std::string{word(words, 1)}));
  if (verb == "FLUSHALL") {
    home_.server().data(now_).clear();
    return make_text("OK");
  }
  if (verb == "SCRIPT" && word(words, 1) == "FLUSH") {
    home_.server().flush_scripts();
    return make_text("OK");
  }
  if (verb == "WAIT" || verb == "WAITAOF") return acknowledged(words);
  // None of the commands that our client asks for: the module's, and compare-and-delete.
  if (verb == "COMMAND") return make_array(std::vector<resp::reply>(words.size() - 2));
  if (verb == "PUBSUB") return about_channels(words);
  if (verb == "PING" && !channels_.empty()) return make_array({make_text("pong"), make_text("")});
  return home_.server().execute(words, now_);
}

resp::reply served_connection::about_client(command words) {
  auto const subcommand = word(words, 1);
  if (subcommand == "SETNAME") {
    name_ = word(words, 2);
    return make_text("OK");
  }
  if (subcommand == "INFO") return make_text(info());
  auto* const named =
      home_.find_connection(static_cast<std::uint64_t>(leading_number(behind(words, "ID", "0"))));
  if (subcommand == "LIST" && word(words, 2) == "TYPE")
    return make_text(home_.list_of(word(words, 3) == "pubsub"));
  if (subcommand == "LIST") return make_text(named == nullptr ? std::string{} : named->info());
  if (subcommand != "KILL") return make_error("ERR unknown subcommand '" + std::string{subcommand} + "'");
  if (named != nullptr) named->end();
  return make_integer(named == nullptr ? 0 : 1);
}

std::string served_connection::info() const {
  auto const number = std::to_string(number_);
  return "id=" + number + " addr=memory:" + number + " name=" + name_ + " age=0\n";
}

resp::reply served_connection::about_channels(command words) const {
  auto const subcommand = word(words, 1);
  if (subcommand == "NUMSUB") return home_.server().count_listeners(word(words, 2));
  if (subcommand != "CHANNELS") return make_error("ERR unknown subcommand '" + std::string{subcommand} + "'");
  return make_array(texts(home_.server().channels(), std::string{words.size() > 2 ? words[2] : "*"}));
}

/// All keys at once.
resp::reply served_connection::scan(command words) {
  auto keys = home_.server().data(now_).keys();
  if (auto const type = behind(words, "TYPE", {}); !type.empty()) {
    std::erase_if(keys, [&](std::string const& key) {
      return home_.server().execute({"TYPE", key}, now_).text != type;
    });
  }
  return make_array({make_text("0"), make_array(texts(keys, std::string{behind(words, "MATCH", "*")}))});
}

/// The replicas have each write as soon as the server has it, and so does the disk.
resp::reply served_connection::acknowledged(command words) const {
  auto const replicas = make_integer(home_.replicas());
  return words.front() == "WAIT" ? replicas : make_array({make_integer(1), replicas});
}

void served_connection::subscribe(command words) {
  for (auto const name : words.subspan(1)) {
    auto const& channel = *channels_.emplace(name).first;
    home_.server().subscribe(channel, this, [this, &channel](std::string_view message) {
      append_reply(out_,
                   make_array({make_text("message"), make_text(channel), make_text(std::string{message})}));
      if (readable()) on_output_();
    });
    append_reply(out_, make_array({make_text("subscribe"), make_text(channel),
                                   make_integer(static_cast<std::int64_t>(channels_.size()))}));
  }
}

void served_connection::unsubscribe(command words) {
  for (auto const name : words.subspan(1)) {
    std::string const channel{name};
    home_.server().unsubscribe(channel, this);
    channels_.erase(channel);
    append_reply(out_, make_array({make_text("unsubscribe"), make_text(channel),
                                   make_integer(static_cast<std::int64_t>(channels_.size()))}));
  }
}

}  // namespace holdfast::memory
