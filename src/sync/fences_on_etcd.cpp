#include "sync/fences_on_etcd.hpp"

#include <cstdint>
#include <holdfast/error.hpp>
#include <optional>
#include <utility>

#include "base/quoted.hpp"
#include "base/whole_number.hpp"
#include "etcd/viewer.hpp"
#include "sync/idempotency_marks.hpp"
#include "sync/options_check.hpp"

namespace holdfast::sync::on_etcd {
namespace {

/// nullopt: it isn't there.
std::optional<etcd::fence_deed> read_command(std::string_view command,
                                             std::span<std::string_view const> arguments) {
  using deed = etcd::fence_deed;
  auto const count = arguments.size();
  if (command == "DEL" && count == 0) return deed{.type = deed::kind::erase};
  if (command == "SET" && count == 1) return deed{.type = deed::kind::set, .text = std::string{arguments[0]}};
  if (command == "APPEND" && count == 1)
    return deed{.type = deed::kind::append, .text = std::string{arguments[0]}};
  if (count == 0) return std::nullopt;
  auto const number = whole_number(arguments.back());
  if (command == "SET" && count == 3 && arguments[1] == "PX" && number) {
    return deed{.type = deed::kind::set,
                .text = std::string{arguments[0]},
                .ttl = std::chrono::milliseconds{*number}};
  }
  if (command == "INCRBY" && count == 1 && number)
    return deed{.type = deed::kind::increment, .number = *number};
  return std::nullopt;
}

}  // namespace

fence_writer make_fence_writer(engine::core const& core, std::string const& resource,
                               std::chrono::milliseconds remember) {
  check(resource.find('/') == std::string::npos,
        core.constants().url + ": the name " + quoted(resource) +
            " of a fenced resource has a slash: on etcd its mark would be in the way of a lock of the name "
            "before that; use another character, or put what is before the last slash into the URL: "
            "etcd://host/prefix");
  return std::make_shared<etcd::fence_writer>(
      etcd::fence_writer{.resource = resource,
                         .remember = remember,
                         .name = core.constants().uuid + ':' + std::to_string(next_request_number())});
}

etcd::fence_deed deed_of(engine::core const& core, etcd::fence_writer const& by, std::string_view command,
                         std::string_view key, std::span<std::string_view const> arguments) {
  auto wanted = read_command(command, arguments);
  if (!wanted) {
    throw error{std::errc::not_supported,
                core.constants().url + ": " + std::string{command} + " of the key " + quoted(key) +
                    ", fenced by " + quoted(by.resource) +
                    ": on etcd there are set, append, increment and erase; it has no hashes and no commands "
                    "of Redis: give each field a key of its own"};
  }
  check(!key.starts_with(by.resource + '/'),
        core.constants().url + ": the key " + quoted(key) + " is below " + quoted(by.resource + '/') +
            ", where the places of the lock " + quoted(by.resource) +
            " are, and would be in their way; take one without that beginning");
  wanted->key = key;
  return *std::move(wanted);
}

etcd::fence_answer carry_out(engine::core& core, fence_writer const& by, etcd::fence_deed wanted) {
  return core.requests().ask_viewer<etcd::fence_answer>(
      [&](etcd::viewer& view, etcd::fence_viewer::handler done) {
        view.of_fences().carry_out(by, std::move(wanted), std::move(done));
      });
}

void async_carry_out(engine::core& core, fence_writer const& by, etcd::fence_deed wanted,
                     std::shared_ptr<etcd::fence_answer> const& answer,
                     engine::async_server_calls::handler done) {
  core.async_server_calls().ask_viewer(
      answer,
      [by, wanted = std::move(wanted)](etcd::viewer& view, etcd::fence_viewer::handler answered) {
        view.of_fences().carry_out(by, wanted, std::move(answered));
      },
      std::move(done));
}

}  // namespace holdfast::sync::on_etcd
