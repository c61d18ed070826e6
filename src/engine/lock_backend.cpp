#include "engine/lock_backend.hpp"

#include "engine/replies.hpp"
#include "resp/command.hpp"
#include "script/names.hpp"

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

void lock_backend::find_petition(recipe const& lock_recipe, owned lease, handler<bool> done,
                                 scripting::send_options send) {
  std::vector<std::string> arguments{"EXISTS"};
  if (lock_recipe.several == nullptr) {
    arguments.push_back(names::asked(lease.name, lease.owner));
  } else {
    for (auto const name : lock_recipe.several->all(lease.name))
      arguments.push_back(names::asked(name, lease.owner));
  }
  net::request request{.done = reading<replies::read_petition>(std::move(done)),
                       .while_down = send.while_down,
                       .give_up = send.give_up,
                       .slot = slot_of(arguments.back())};
  std::vector<std::string_view> const command{arguments.begin(), arguments.end()};
  resp::append_command(request.bytes, command);
  this->send(std::move(request));
}

}  // namespace holdfast::engine
