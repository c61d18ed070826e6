#include "fuzz/module_server.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdarg>
#include <memory>
#include <optional>
#include <ranges>
#include <set>
#include <string_view>

#include "commands.hpp"
#include "fuzz/fuzz.hpp"
#include "stored_key.hpp"

namespace holdfast::server::abi {

struct string {
  std::string text;
  int references = 1;
};
struct context {};
struct key {
  std::string name;
  std::optional<std::string> member{};  ///< to which the iterator was set
};
struct command {};
struct call_reply {
  reply_type type{};
  long long integer = 0;
  std::string text{};
  std::vector<call_reply> elements{};
};

}  // namespace holdfast::server::abi

namespace holdfast::fuzzing::module_server {
namespace {

using namespace server;

struct running_server {
  keyspace keys{};
  std::map<std::string, abi::command_function> commands{};
  std::set<std::string> open{};
  long long now = 0;
  long missing = 0;  ///< elements of the reply
  bool refused = false;
};
running_server server_state;

value* find(std::string const& name) {
  auto const found = server_state.keys.find(name);
  return found == server_state.keys.end() ? nullptr : &found->second;
}
/// Null: absent, or of another type.
template <class Data>
Data* data_of(std::string const& name) {
  auto* const found = find(name);
  return found == nullptr ? nullptr : std::get_if<Data>(&found->data);
}
/// The same, and one that is absent is made.
template <class Data>
Data* made(std::string const& name) {
  if (find(name) == nullptr) server_state.keys[name].data = Data{};
  return data_of<Data>(name);
}
template <class Data>
void drop_if_empty(std::string const& name, Data const& data) {
  if (data.empty()) server_state.keys.erase(name);
}

int reply_element(long more = 0) {
  require(server_state.missing > 0, "a command replies once");
  server_state.missing += more - 1;
  return abi::ok;
}
int reply_error(abi::context* /*context*/, char const* text) {
  require(*text != '\0' && std::string_view{text}.find_first_of("\r\n") == std::string_view::npos,
          "an error is one line");
  server_state.refused = true;
  return reply_element();
}

int type_of(abi::key* key) {
  auto const* const found = find(key->name);
  if (found == nullptr) return abi::no_key;
  constexpr std::array types{abi::string_key, abi::zset_key, abi::hash_key, abi::list_key};
  return types.at(found->data.index());
}

abi::key* open_key(abi::context* /*context*/, abi::string* name, int /*mode*/) {
  require(server_state.open.insert(name->text).second, "a key is opened once at a time");
  return new abi::key{.name = name->text};
}

std::size_t value_length(abi::key* key) {
  auto const* const found = find(key->name);
  return found == nullptr ? 0 : std::visit([](auto const& data) { return data.size(); }, found->data);
}

int set_expiry(abi::key* key, long long when) {
  auto* const found = find(key->name);
  if (found == nullptr) return abi::failed;
  require(when == abi::no_expiry || when >= 0, "a time is none before the epoch");
  found->expires = when;
  return abi::ok;
}

bool is_before(sorted_set::value_type const& one, sorted_set::value_type const& other) {
  return one.second != other.second ? one.second < other.second : one.first < other.first;
}

/// Sets the iterator to the first of those that `follows`, or to none.
template <class Predicate>
bool to_first_of(abi::key* key, Predicate follows) {
  auto const* const set = data_of<sorted_set>(key->name);
  require(set != nullptr, "a sorted set is one");
  auto those = *set | std::views::filter(follows);
  auto const first = std::ranges::min_element(those, is_before);
  key->member.reset();
  if (first != those.end()) key->member = first->first;
  return key->member.has_value();
}
int to_first(abi::key* key, double least, double /*most*/, int open, int /*open*/) {
  to_first_of(key, [&](auto const& each) { return open != 0 ? each.second > least : each.second >= least; });
  return abi::ok;
}
int to_next(abi::key* key) {
  if (!key->member) return 0;
  auto const from = *data_of<sorted_set>(key->name)->find(*key->member);
  return to_first_of(key, [&](auto const& each) { return is_before(from, each); }) ? 1 : 0;
}
int to_last(abi::key* key, double /*least*/, double /*most*/, int /*open*/, int /*open*/) {
  auto const* const set = data_of<sorted_set>(key->name);
  require(set != nullptr, "a sorted set is one");
  key->member = std::ranges::max_element(*set, is_before)->first;
  return abi::ok;
}
abi::string* current(abi::key* key, double* score) {
  if (!key->member) return nullptr;
  if (score != nullptr) *score = data_of<sorted_set>(key->name)->at(*key->member);
  return new abi::string{.text = *key->member};
}

int zset_add(abi::key* key, double score, abi::string* member, int* /*flags*/) {
  auto* const set = made<sorted_set>(key->name);
  if (set == nullptr || std::isnan(score)) return abi::failed;
  (*set)[member->text] = score;
  return abi::ok;
}
int zset_score(abi::key* key, abi::string* member, double* score) {
  auto const* const set = data_of<sorted_set>(key->name);
  if (set == nullptr || !set->contains(member->text)) return abi::failed;
  *score = set->at(member->text);
  return abi::ok;
}
int zset_remove(abi::key* key, abi::string* member, int* deleted) {
  *deleted = 0;
  auto* const set = data_of<sorted_set>(key->name);
  if (set == nullptr) return abi::ok;
  *deleted = static_cast<int>(set->erase(member->text));
  drop_if_empty(key->name, *set);
  return abi::ok;
}

int hash_set(abi::key* key, int flags, ...) {
  std::va_list rest;
  va_start(rest, flags);
  auto const* const field = va_arg(rest, abi::string*);
  auto* const text = va_arg(rest, abi::string*);
  va_end(rest);
  auto* const found = made<hash>(key->name);
  require(found != nullptr, "a hash is one");
  if (text == abi::hash_delete) {
    found->erase(field->text);
  } else {
    (*found)[field->text] = text->text;
  }
  drop_if_empty(key->name, *found);
  return 1;
}
int hash_get(abi::key* key, int flags, ...) {
  std::va_list rest;
  va_start(rest, flags);
  auto const* const field = va_arg(rest, abi::string*);
  auto* const exists = va_arg(rest, int*);
  va_end(rest);
  auto const* const found = data_of<hash>(key->name);
  *exists = found != nullptr && found->contains(field->text) ? 1 : 0;
  return abi::ok;
}

/// Strings of the format are s, b and c.
std::vector<std::string> words_of(char const* command, char const* format, std::va_list rest) {
  std::vector<std::string> words{command};
  for (char const letter : std::string_view{format}) {
    if (letter == 's') {
      words.push_back(va_arg(rest, abi::string*)->text);
    } else if (letter == 'c') {
      words.emplace_back(va_arg(rest, char const*));
    } else if (letter == 'b') {
      auto const* const text = va_arg(rest, char const*);
      auto const size = va_arg(rest, std::size_t);
      words.emplace_back(text, size);
    }
  }
  return words;
}

int replicate(abi::context* /*context*/, char const* command, char const* format, ...) {
  std::va_list rest;
  va_start(rest, format);
  auto const words = words_of(command, format, rest);
  va_end(rest);
  if (words.front() == "ZADD") {
    for (std::size_t score = 2; score < words.size(); score += 2)
      require(words[score] != "nan", "a replica can carry it out");
  }
  return abi::ok;
}

abi::call_reply integer(long long number) { return {.type = abi::integer_reply, .integer = number}; }
abi::call_reply text(std::string const& word) { return {.type = abi::text_reply, .text = word}; }

/// Who listens depends on how the channel ends; with a 0 it may not be published to.
abi::call_reply publish(std::string const& channel) {
  if (channel.ends_with('0')) return {.type = abi::error_reply};
  return integer(channel.ends_with('1') ? 0 : 1);
}

abi::call_reply answer_to(std::vector<std::string> const& words) {
  constexpr std::array types{"string", "zset", "hash", "list"};
  auto const& command = words.front();
  if (command == "PUBLISH" || command == "SPUBLISH") return publish(words[1]);
  if (command == "PUBSUB")
    return {.type = abi::array_reply, .elements = {text(words[2]), integer(words[2].ends_with('2') ? 0 : 1)}};
  auto const* const found = find(words[1]);
  if (command == "TYPE") return text(found == nullptr ? "none" : types.at(found->data.index()));
  if (command == "ZRANK") {
    auto const* const set = data_of<sorted_set>(words[1]);
    auto const own = set == nullptr ? sorted_set::const_iterator{} : set->find(words[2]);
    if (set == nullptr || own == set->end()) return {.type = abi::nil_reply};
    return integer(std::ranges::count_if(*set, [&](auto const& each) { return is_before(each, *own); }));
  }
  require(command == "HKEYS", "the command is known");
  abi::call_reply all{.type = abi::array_reply};
  if (auto const* const fields = data_of<hash>(words[1]))
    for (auto const& [field, of] : *fields) all.elements.push_back(text(field));
  return all;
}

abi::call_reply* call_command(abi::context* /*context*/, char const* command, char const* format, ...) {
  std::va_list rest;
  va_start(rest, format);
  auto const words = words_of(command, format, rest);
  va_end(rest);
  return new abi::call_reply{answer_to(words)};
}

int create_command(abi::context* /*context*/, char const* name, abi::command_function run,
                   char const* /*flags*/, int /*first*/, int /*last*/, int /*step*/) {
  server_state.commands.emplace(name, run);
  return abi::ok;
}

void fill_requests() {
  auto& to = abi::redis;
  to.create_command = create_command;
  // Null before Redis 7, when commands that publish aren't added.
  to.set_command_info = [](abi::command*, abi::command_info const*) { return abi::ok; };
  to.get_command = [](abi::context*, char const*) -> abi::command* { return nullptr; };
  to.is_keys_position_request = [](abi::context*) { return 0; };
  to.context_flags = [](abi::context*) { return 0; };
  to.wrong_arity = [](abi::context* context) {
    return reply_error(context, "ERR wrong number of arguments");
  };
  to.reply_error = reply_error;
  to.reply_integer = [](abi::context*, long long) { return reply_element(); };
  to.reply_array = [](abi::context*, long size) { return reply_element(size); };
  to.reply_text = [](abi::context*, char const*, std::size_t) { return reply_element(); };
  to.create_string = [](abi::context*, char const* text, std::size_t size) {
    return new abi::string{.text = {text, size}};
  };
  to.free_string = [](abi::context*, abi::string* text) {
    if (--text->references == 0) delete text;
  };
  to.retain_string = [](abi::context*, abi::string* text) { ++text->references; };
  to.string_text = [](abi::string const* text, std::size_t* size) {
    *size = text->text.size();
    return text->text.data();
  };
  to.replicate = replicate;
  to.call = call_command;
  to.free_reply = [](abi::call_reply* reply) { delete reply; };
  to.type_of_reply = [](abi::call_reply* reply) -> int { return reply->type; };
  to.integer_of = [](abi::call_reply* reply) { return reply->integer; };
  to.text_of = [](abi::call_reply* reply, std::size_t* size) -> char const* {
    *size = reply->text.size();
    return reply->text.data();
  };
  to.element_of = [](abi::call_reply* reply, std::size_t index) {
    return index < reply->elements.size() ? &reply->elements[index] : nullptr;  // the whole is its owner
  };
}

void fill_keys() {
  auto& to = abi::redis;
  to.open_key = open_key;
  to.key_exists = [](abi::context*, abi::string* name) { return find(name->text) == nullptr ? 0 : 1; };
  to.close_key = [](abi::key* key) {
    server_state.open.erase(key->name);
    delete key;
  };
  to.type_of = type_of;
  to.value_length = value_length;
  to.delete_key = [](abi::key* key) {
    server_state.keys.erase(key->name);
    return abi::ok;
  };
  to.expiry = [](abi::key* key) {
    auto const* const found = find(key->name);
    return found == nullptr ? abi::no_expiry : found->expires;
  };
  to.set_expiry = set_expiry;
  to.ttl = [](abi::key* key) {
    auto const* const found = find(key->name);
    if (found == nullptr || found->expires == abi::no_expiry) return abi::no_expiry;
    return std::max(found->expires - server_state.now, 0LL);
  };
  to.signal_modified = [](abi::context*, abi::string*) { return abi::ok; };
  to.notify = [](abi::context*, int, char const*, abi::string*) { return abi::ok; };
  to.string_in_place = [](abi::key* key, std::size_t* size, int) -> char* {
    auto* const found = data_of<std::string>(key->name);
    require(found != nullptr, "a string is one");
    *size = found->size();
    return found->data();
  };
  to.string_truncate = [](abi::key* key, std::size_t size) {
    auto* const found = made<std::string>(key->name);
    if (found != nullptr) found->resize(size);
    return found == nullptr ? abi::failed : abi::ok;
  };
  to.string_set = [](abi::key* key, abi::string* text) {
    server_state.keys[key->name] = {.data = text->text};
    return abi::ok;
  };
  to.zset_add = zset_add;
  to.zset_score = zset_score;
  to.zset_remove = zset_remove;
  to.zset_first = to_first;
  to.zset_last = to_last;
  to.zset_current = current;
  to.zset_next = to_next;
  to.zset_stop = [](abi::key* key) { key->member.reset(); };
  to.hash_set = hash_set;
  to.hash_get = hash_get;
}

}  // namespace

keyspace& keys() { return server_state.keys; }

void load() {
  fill_requests();
  fill_keys();
  abi::context context;
  require(add_commands(&context), "the commands are added");
  add_compare_commands(&context);
  make_shared_words();
}

void advance_clock() {
  using std::chrono::milliseconds;
  server_state.now =
      std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  std::erase_if(server_state.keys, [](auto const& each) {
    auto const expires = each.second.expires;
    return expires != abi::no_expiry && expires <= server_state.now;
  });
}

outcome call(std::vector<std::string> const& words) {
  auto const found = server_state.commands.find(words.front());
  if (found == server_state.commands.end()) return outcome::unknown;
  server_state.missing = 1;
  server_state.refused = false;
  std::vector<std::unique_ptr<abi::string>> strings;
  std::vector<abi::string*> pointers;
  for (auto const& word : words) {
    strings.push_back(std::make_unique<abi::string>(abi::string{.text = word}));
    pointers.push_back(strings.back().get());
  }
  abi::context context;
  found->second(&context, pointers.data(), static_cast<int>(pointers.size()));
  require(server_state.missing == 0, "a command replies, and all of it");
  require(server_state.open.empty(), "all keys are closed");
  return server_state.refused ? outcome::refused : outcome::replied;
}

}  // namespace holdfast::fuzzing::module_server
