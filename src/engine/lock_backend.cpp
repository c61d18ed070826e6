#include "engine/lock_backend.hpp"

#include "engine/replies.hpp"

namespace holdfast::engine {

void lock_backend::pass(recipe const& lock_recipe, owned lease, release_policy policy,
                        acquire_request const& next, handler<passed> done, scripting::send_options send) {
  run(lock_recipe.pass(lease, policy, next), reading<replies::read_pass>(std::move(done)), send);
}

void lock_backend::release_unwanted(recipe const& lock_recipe, std::span<owned const> leases,
                                    handler<still_wanted> done, scripting::send_options send) {
  run(lock_recipe.release_unwanted(leases), trying_to_read<replies::read_release_unwanted>(std::move(done)),
      send);
}

void lock_backend::convert(call const& script, handler<ownership> done, scripting::send_options send) {
  run(script, reading<replies::read_conversion>(std::move(done)), send);
}

}  // namespace holdfast::engine
