#include "memory/lua_scripts.hpp"

#include <openssl/sha.h>

#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>

extern "C" {
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
}

#include "memory/numbers.hpp"
#include "resp/make_reply.hpp"

namespace holdfast::memory {
namespace {

/// The heap at which a collection begins, in percent of what the last one left; usual is 200. Garbage that is
/// reused soon is still in the processor's cache.
constexpr int garbage_percent = 120;

/// What the commands of a script that runs need.
struct execution {
  lua_scripts::redis_call const& call;
  std::vector<std::string_view>& words;  ///< room for those of one
  std::exception_ptr thrown{};
};
/// The interpreter runs one script at a time, on one thread.
constinit thread_local execution* current = nullptr;

void push(lua_State* lua, std::string_view text) { lua_pushlstring(lua, text.data(), text.size()); }

void push_field(lua_State* lua, char const* name, std::string_view text) {
  lua_newtable(lua);
  push(lua, text);
  lua_setfield(lua, -2, name);
}

/// A status ("OK", the name of a type) becomes a table with `ok`. The server in memory replies with plain
/// text, so the command decides.
void push(lua_State* lua, resp::reply const& reply, bool status) {
  switch (reply.type) {
    case resp::kind::nil:
      lua_pushboolean(lua, 0);
      break;
    case resp::kind::integer:
      lua_pushnumber(lua, static_cast<lua_Number>(reply.integer));
      break;
    case resp::kind::text:
      if (status) {
        push_field(lua, "ok", reply.text);
      } else {
        push(lua, reply.text);
      }
      break;
    case resp::kind::error:
      push_field(lua, "err", reply.text);
      break;
    case resp::kind::array:
      lua_createtable(lua, static_cast<int>(reply.size()), 0);
      for (std::size_t i = 0; i != reply.size(); ++i) {
        push(lua, reply[i], false);
        lua_rawseti(lua, -2, static_cast<int>(i) + 1);
      }
      break;
  }
}

std::string_view text_at(lua_State* lua, int index) {
  std::size_t size = 0;
  auto const* const text = lua_tolstring(lua, index, &size);
  return text == nullptr ? std::string_view{} : std::string_view{text, size};
}

/// An argument as Redis passes it on, until it leaves the stack.
std::string_view argument(lua_State* lua, int index) {
  if (lua_type(lua, index) == LUA_TNUMBER) {
    push(lua, number_text{lua_tonumber(lua, index), 9.2e18}.view());
    lua_replace(lua, index);
  }
  return text_at(lua, index);
}

int call_redis(lua_State* lua, bool raises) {
  auto& words = current->words;
  auto failed = false;
  words.clear();
  for (auto i = 1; i <= lua_gettop(lua); ++i) words.push_back(argument(lua, i));
  try {
    auto const reply = current->call(words);
    push(lua, reply, words.front() == "SET" || words.front() == "TYPE");
    failed = reply.is_error() && raises;
  } catch (...) {  // may not cross the interpreter, which is C: run() throws it again
    current->thrown = std::current_exception();
    push(lua, "exception");
    failed = true;
  }
  return failed ? lua_error(lua) : 1;  // jumps: nothing may be left to destroy
}
int raising_call(lua_State* lua) { return call_redis(lua, true); }
int protected_call(lua_State* lua) { return call_redis(lua, false); }

int error_reply(lua_State* lua) {
  push_field(lua, "err", text_at(lua, 1));
  return 1;
}

/// Nothing: the table has no such field with a text.
std::optional<std::string> text_field(lua_State* lua, int index, char const* name) {
  std::optional<std::string> text;
  lua_getfield(lua, index, name);
  if (lua_type(lua, -1) == LUA_TSTRING) text = text_at(lua, -1);
  lua_pop(lua, 1);
  return text;
}

resp::reply to_reply(lua_State* lua, int index) {
  switch (lua_type(lua, index)) {
    case LUA_TNUMBER:
      return resp::make_integer(static_cast<std::int64_t>(lua_tonumber(lua, index)));
    case LUA_TSTRING:
      return resp::make_text(std::string{text_at(lua, index)});
    case LUA_TBOOLEAN:
      return lua_toboolean(lua, index) != 0 ? resp::make_integer(1) : resp::reply{};
    case LUA_TTABLE:
      break;
    default:
      return {};
  }
  if (auto text = text_field(lua, index, "err")) return resp::make_error(std::move(*text));
  if (auto text = text_field(lua, index, "ok")) return resp::make_text(std::move(*text));
  std::vector<resp::reply> elements;
  for (auto i = 1;; ++i) {
    lua_rawgeti(lua, index, i);
    if (lua_isnil(lua, -1)) break;
    elements.push_back(to_reply(lua, lua_gettop(lua)));
    lua_pop(lua, 1);
  }
  lua_pop(lua, 1);
  return resp::make_array(std::move(elements));
}

void set_global(lua_State* lua, char const* name, command words) {
  lua_createtable(lua, static_cast<int>(words.size()), 0);
  for (std::size_t i = 0; i != words.size(); ++i) {
    push(lua, words[i]);
    lua_rawseti(lua, -2, static_cast<int>(i) + 1);
  }
  lua_setglobal(lua, name);
}

/// Not by SHA1(), which needs what OpenSSL has given up when clients give back in exit() what they hold.
std::string sha1_of(std::string_view source) {
  unsigned char digest[SHA_DIGEST_LENGTH];
  SHA_CTX hash{};
  ::SHA1_Init(&hash);
  ::SHA1_Update(&hash, source.data(), source.size());
  ::SHA1_Final(digest, &hash);
  constexpr std::string_view digits = "0123456789abcdef";
  std::string result;
  for (auto const byte : digest) {
    result += digits[byte >> 4];
    result += digits[byte & 15];
  }
  return result;
}

}  // namespace

void lua_scripts::closer::operator()(lua_State* state) const noexcept { lua_close(state); }

lua_scripts::lua_scripts() : state_{lua_newstate(lua_memory::allocate, &memory_)} {
  if (!state_) throw std::runtime_error{"no Lua interpreter"};
  auto* const lua = state_.get();
  luaL_openlibs(lua);
  lua_gc(lua, LUA_GCSETPAUSE, garbage_percent);
  lua_newtable(lua);
  lua_pushcfunction(lua, raising_call);
  lua_setfield(lua, -2, "call");
  lua_pushcfunction(lua, protected_call);
  lua_setfield(lua, -2, "pcall");
  lua_pushcfunction(lua, error_reply);
  lua_setfield(lua, -2, "error_reply");
  lua_setglobal(lua, "redis");
}

lua_scripts::~lua_scripts() = default;

lua_scripts::script const& lua_scripts::compiled(std::string_view source) {
  if (auto const known = compiled_.find(source); known != compiled_.end()) return known->second;
  auto* const lua = state_.get();
  if (luaL_loadbuffer(lua, source.data(), source.size(), "=script") != 0)
    throw std::runtime_error{"a script doesn't compile: " + std::string{text_at(lua, -1)}};
  return compiled_
      .emplace(source, script{.sha1 = sha1_of(source), .registry_index = luaL_ref(lua, LUA_REGISTRYINDEX)})
      .first->second;
}

resp::reply lua_scripts::run(script const& compiled_script, command keys, command args,
                             redis_call const& call) {
  auto* const lua = state_.get();
  lua_rawgeti(lua, LUA_REGISTRYINDEX, compiled_script.registry_index);
  set_global(lua, "KEYS", keys);
  set_global(lua, "ARGV", args);
  execution running{.call = call, .words = words_};
  current = &running;
  auto const failed = lua_pcall(lua, 0, 1, 0) != 0;
  current = nullptr;
  if (running.thrown) {
    lua_settop(lua, 0);
    std::rethrow_exception(running.thrown);
  }
  auto result = failed && lua_type(lua, -1) == LUA_TSTRING
                    ? resp::make_error("ERR " + std::string{text_at(lua, -1)})
                    : to_reply(lua, lua_gettop(lua));
  lua_settop(lua, 0);
  return result;
}

}  // namespace holdfast::memory
