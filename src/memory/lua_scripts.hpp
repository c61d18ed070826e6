/// Runs the real Lua scripts as Redis does, with the same interpreter.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "memory/arguments.hpp"
#include "memory/lua_memory.hpp"
#include "resp/reply.hpp"

struct lua_State;

namespace holdfast::memory {

/// One interpreter. Compiled scripts are kept for its life.
class lua_scripts {
 public:
  /// One that is compiled.
  struct script {
    std::string sha1;
    int registry_index;  ///< of Lua's
  };
  /// The implementation of `redis.call` and `redis.pcall`.
  using redis_call = std::function<resp::reply(command words)>;

  lua_scripts();
  ~lua_scripts();
  lua_scripts(lua_scripts const&) = delete;
  lua_scripts& operator=(lua_scripts const&) = delete;

  /// Throws std::runtime_error if that is no Lua.
  script const& compiled(std::string_view source);
  /// An exception of `call` ends the script, also inside `redis.pcall`, and leaves run().
  resp::reply run(script const& compiled_script, command keys, command args, redis_call const& call);

 private:
  struct closer {
    void operator()(lua_State* state) const noexcept;
  };
  /// To look at all of a script costs more than to find those of its size.
  struct size_of {
    using is_transparent = void;
    std::size_t operator()(std::string_view source) const noexcept { return source.size(); }
  };

  lua_memory memory_;
  std::unique_ptr<lua_State, closer> state_;
  std::unordered_map<std::string, script, size_of, std::equal_to<>> compiled_;  ///< by their texts
  std::vector<std::string_view> words_;  ///< room for those of one command
};

}  // namespace holdfast::memory
