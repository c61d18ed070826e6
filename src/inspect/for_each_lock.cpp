#include <holdfast/inspect.hpp>

#include <array>
#include <utility>

#include "engine/access.hpp"
#include "inspect/glob.hpp"
#include "inspect/view.hpp"
#include "script/names.hpp"

namespace holdfast {
namespace {

using namespace inspection;
using visitor = std::function<bool(lock_state const&)>;

constexpr std::string_view prefix{"holdfast_token:"};

/// Keys that one SCAN looks at. Measured with a million keys on Redis 7.0: 0.15 ms, 0.6 ms at the worst; the
/// whole search takes a second.
constexpr std::string_view keys_a_step{"256"};

/// The lock whose token counter this is; empty: it isn't one.
std::string_view lock_of(std::string_view counter) {
  if (!counter.starts_with(prefix) || counter.size() < prefix.size() + 2) return {};
  auto name = counter.substr(prefix.size());
  if (name.front() == '{') {
    name = name.substr(1, name.size() - 2);
  } else {
    name.remove_prefix(1);
  }
  return names::token_counter(name) == counter ? name : std::string_view{};
}

struct page {
  std::string cursor;
  std::vector<std::string> names;
};

page read_page(engine::core& server, std::string const& cursor, std::string_view filter,
               std::string_view pattern) {
  std::array<std::string_view, 6> const command{"SCAN", cursor, "MATCH", filter, "COUNT", keys_a_step};
  auto const reply = server.ask_server(command);
  if (reply.is_error()) throw refused(reply, pattern, server.url());
  if (reply.size() != 2) throw error{errc::protocol, server.url() + ": that is no answer to SCAN"};
  page found{.cursor = reply[0].text, .names = {}};
  for (auto const& key : reply[1].elements) {
    auto const name = lock_of(key.text);
    if (!name.empty() && matches(pattern, name)) found.names.emplace_back(name);
  }
  return found;
}

/// False: f has seen enough.
bool visit(engine::core& server, directory& clients, std::span<std::string const> names, visitor const& f) {
  std::vector<call> questions;
  for (auto const& name : names) questions.push_back(look_at(name));
  auto const replies = ask_all(server, questions, names.front());
  std::vector<lock_state> locks;
  for (std::size_t i = 0; i != names.size(); ++i) {
    auto state = read_state(names[i], replies[i]);
    bool const of_holdfast = state.token != 0 || state.kind == lock_kind::exclusive;
    if (state.waiting > 0 || (state.kind != lock_kind::free && of_holdfast))
      locks.push_back(std::move(state));
  }
  clients.complete(locks, names.front());
  for (auto const& state : locks) {
    if (!f(state)) return false;
  }
  return true;
}

}  // namespace

void for_each_lock(client& redis, std::string_view pattern, visitor const& f) {
  auto const server = engine::access::core_of(redis);
  directory clients{*server};
  auto const start = start_of(pattern);
  if (start.complete) {
    if (!start.text.empty()) visit(*server, clients, {&start.text, 1}, f);
    return;
  }
  // The server sorts out by the beginning, and this end by the rest: a name stands in braces or behind a
  // colon, and no pattern of Redis's says "the brace again, if there was one".
  auto const filter = escaped(prefix) + "[{:]" + escaped(start.text) + "*";
  std::string cursor{"0"};
  do {
    auto const found = read_page(*server, cursor, filter, pattern);
    std::span<std::string const> rest{found.names};
    while (!rest.empty()) {
      auto const now = rest.first(std::min(rest.size(), pipeline_length));
      if (!visit(*server, clients, now, f)) return;
      rest = rest.subspan(now.size());
    }
    cursor = found.cursor;
  } while (cursor != "0");
}

}  // namespace holdfast
