// What the server calls when it loads the module.

#include "audience.hpp"
#include "callers.hpp"
#include "commands.hpp"
#include "handlers.hpp"
#include "statistics.hpp"
#include "stored_key.hpp"

#include <span>

namespace {

using namespace holdfast::server;
using abi::redis;

constexpr char const* name = "holdfast";

/// Another module, loaded later, may want the names of these commands.
constexpr char const* without_compare = "no-cas";

/// A server that isn't what its version says may have listeners of which the module knows nothing.
constexpr char const* always_replicate = "always-replicate";

}  // namespace

// The server looks for these two names. NOLINTBEGIN(readability-identifier-naming)
extern "C" __attribute__((visibility("default"))) int RedisModule_OnLoad(abi::context* const context,
                                                                         abi::string** const words,
                                                                         int const count) {
  auto const* const missing = abi::load(context);
  if (missing != nullptr) {
    if (redis.log != nullptr)
      redis.log(context, "warning", "holdfast: this server is too old, it has no %s; Redis 6.2.2 has",
                missing);
    return abi::failed;
  }
  if (redis.is_module_name_busy(name) != 0) return abi::failed;
  redis.set_module_attributes(context, name, HOLDFAST_MODULE_NUMBER, abi::interface_version);
  auto compare = true;
  auto watch = true;
  for (auto* const word : std::span{words, static_cast<std::size_t>(count)}) {
    if (text_of(word) == without_compare) {
      compare = false;
    } else if (text_of(word) == always_replicate) {
      watch = false;
    } else {
      redis.log(context, "warning", "holdfast: the arguments of the module are %s and %s", without_compare,
                always_replicate);
      return abi::failed;
    }
  }
  if (auto const* const renamed = renamed_command(context); renamed != nullptr) {
    redis.log(
        context, "warning",
        "holdfast: the server knows no %s (rename-command), so replicas would lack what the module does",
        renamed);
    return abi::failed;
  }
  redis.set_module_options(context, abi::option_no_implicit_signal | abi::option_handles_async_loading);
  if (!add_commands(context)) {
    redis.log(context, "warning", "holdfast: another module has a command whose name begins with holdfast.");
    return abi::failed;
  }
  if (compare) add_compare_commands(context);
  make_shared_words();
  if (redis.register_info(context, add_statistics) != abi::ok) return abi::failed;
  listeners = {};  // the module may have been here before, and not have heard of who came meanwhile
  if (watch) watch_for_listeners(context);
  return abi::ok;
}

extern "C" __attribute__((visibility("default"))) int RedisModule_OnUnload(abi::context* const context) {
  if (!close_connections_of_callers(context)) {
    redis.log(
        context, "warning",
        "holdfast: not unloaded, since the server has no CLIENT LIST by that name, and would use commands "
        "of the module that it has freed");
    return abi::failed;
  }
  count_untold_changes(context);
  free_shared_words();
  permits::forget_texts();
  return abi::ok;
}
// NOLINTEND(readability-identifier-naming)
