/// `holdfast renew`: prolongs a lock by its owner id.
#include "common/command.hpp"
#include "common/configuration.hpp"
#include "common/duration.hpp"
#include "common/exit_codes.hpp"
#include "common/options.hpp"
#include "common/output.hpp"
#include "common/standard_output.hpp"
#include "probe/owned_lock.hpp"
#include "server/choice.hpp"
#include "show/json.hpp"

#include <holdfast/client.hpp>

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::cli {
namespace {

constexpr std::string_view renew_footer =
    R"(Sets what is left of a lock to the ttl, if the owner with this id still holds it; says so with --verbose
only. For locks that `holdfast acquire` took. Renew before the ttl is over: whoever comes later may find that
somebody else holds the lock, or did meanwhile.

Exit codes
  0   renewed
  64  bad option, name, URL or configuration file; 69 Redis can't be reached; 77 a right is missing
  79  lost: that owner doesn't hold it any more

Examples
  holdfast renew --owner "$owner" --ttl 10m deploy:web || exit)";

struct renew_options {
  common_options common;
  std::string name;
  std::string owner;
  std::optional<std::string> ttl_text;
  std::string wire;
  std::chrono::milliseconds ttl{30'000};
  bool json = false;
};

int renew(renew_options const& options) {
  auto const url = find_server(options.common);
  client redis{url, {.name = "holdfast-renew", .log = output::hook()}};
  bool const renewed =
      probe::owned_lock{redis, url, options.name, options.owner, wire_of(options.wire)}.renew(options.ttl);
  if (options.json) {
    print_line(json{}
                   .set("name", options.name)
                   .set("result", renewed ? "renewed" : "lost")
                   .set("owner", options.owner)
                   .line());
  } else if (renewed) {
    output::info(fmt::format("lock {} renewed for {}", output::quoted(options.name), to_string(options.ttl)));
  } else {
    output::error(fmt::format("lock {} is not held by {} any more", output::quoted(options.name),
                              output::one_line(options.owner)));
  }
  return renewed ? ok : lost;
}

}  // namespace

void add_renew(command_line& line, action& chosen) {
  auto const options = std::make_shared<renew_options>();
  auto command = line.add_command("renew", "Prolong a lock that `acquire` took");
  command.usage("holdfast renew --owner ID [OPTIONS] NAME");
  add_name(command, options->name);
  command.value("--owner", options->owner, "Whose hold it is: what `holdfast acquire` printed", "ID");
  command.required("--owner");
  command.not_empty("--owner");
  command.value("--ttl", options->ttl_text,
                "How long the lock lasts from now on (default: 30s, at least 10ms)", "DURATION");
  add_wire(command, options->wire, "plain|redisson", "Held in which format (default: in whichever it is)");
  add_json(command, options->json);
  add_common(command, options->common);
  command.footer(renew_footer);
  command.when_read([options, &chosen] {
    require(!options->name.empty(), "NAME is empty: say which lock");
    auto const ttl =
        options->ttl_text ? std::optional{ttl_of("--ttl", *options->ttl_text)} : configured_ttl();
    if (ttl) options->ttl = *ttl;
    chosen = [options] {
      set_up(options->common);
      return renew(*options);
    };
  });
}

}  // namespace holdfast::cli
