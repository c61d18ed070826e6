/// Runs the real Lua scripts as Redis does, with the same interpreter.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "resp/reply.hpp"

struct lua_State;

namespace holdfast::memory {

/// One interpreter. Compiled scripts are kept for its life.
class lua_scripts {
 public:
  /// The implementation of `redis.call` and `redis.pcall`.
  using redis_call = std::function<resp::reply(std::vector<std::string> const& words)>;

  lua_scripts();
  ~lua_scripts();
  lua_scripts(lua_scripts const&) = delete;
  lua_scripts& operator=(lua_scripts const&) = delete;

  /// An exception of `call` ends the script, also inside `redis.pcall`, and leaves run().
  resp::reply run(std::string const& source, std::vector<std::string> const& keys,
                  std::vector<std::string> const& args, redis_call const& call);

 private:
  struct closer {
    void operator()(lua_State* state) const noexcept;
  };
  std::unique_ptr<lua_State, closer> state_;
};

}  // namespace holdfast::memory
