/// Runs Lua scripts as Redis does: the real scripts, with the interpreter that Redis has in it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "resp/reply.hpp"

struct lua_State;

namespace holdfast::simulation {

/// One interpreter. Compiled scripts are kept for its life.
class lua_scripts {
 public:
  /// What `redis.call` and `redis.pcall` do.
  using redis_call = std::function<resp::reply(std::vector<std::string> const& words)>;

  lua_scripts();
  ~lua_scripts();
  lua_scripts(lua_scripts const&) = delete;
  lua_scripts& operator=(lua_scripts const&) = delete;

  resp::reply run(std::string const& source, std::vector<std::string> const& keys,
                  std::vector<std::string> const& args, redis_call const& call);

 private:
  struct closer {
    void operator()(lua_State* state) const noexcept;
  };
  std::unique_ptr<lua_State, closer> state_;
};

}  // namespace holdfast::simulation
