#include "common/options.hpp"

#include "common/duration.hpp"
#include "common/exit_codes.hpp"
#include "common/output.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace holdfast::cli {

std::chrono::milliseconds duration_of(std::string_view const option, std::string const& text) {
  try {
    return parse_duration(text);
  } catch (std::invalid_argument const& problem) {
    throw failure{usage, fmt::format("{}: {}", option, problem.what())};
  }
}

std::chrono::milliseconds ttl_of(std::string_view const option, std::string const& text) {
  auto const ttl = duration_of(option, text);
  require(ttl >= shortest_ttl,
          fmt::format("{}: {} is too short; at least 10ms, better some seconds", option, text));
  return ttl;
}

std::string label_of(std::string_view const option, std::string text) {
  require(text.size() <= longest_label,
          fmt::format("{}: {} bytes are too many; at most {}", option, text.size(), longest_label));
  return text;
}

void require(bool const fine, std::string const& message) {
  if (!fine) throw failure{usage, message};
}

void add_json(command_options& command, bool& to) {
  command.flag("--json", to, "Print JSON, for programs (docs/cli-json.md)");
}

void add_name(command_options& command, std::string& to) {
  command.operand("NAME", to, "The name of the lock: the key in Redis");
  command.required("NAME");
}

void add_wire(command_options& command, std::string& to, std::string const& choices,
              std::string const& text) {
  command.choice("--wire", to, text, choices);
}

wire wire_of(std::string_view const text) {
  if (text == "plain") return wire::plain;
  return text == "redisson" ? wire::redisson : wire::automatic;
}

void add_common(command_options& command, common_options& to) {
  command.value("--url", to.url, "The Redis to use, see `holdfast help run`; others can see it in `ps`",
                "URL");
  command.value("--password-file", to.password_file, "The file with the password for it", "FILE");
  command.flag("--local", to.local, "Use the private server of this machine, for your own processes alone");
  command.not_empty("--url");
  command.not_empty("--password-file");
  command.excludes("--local", "--url");
  command.excludes("--local", "--password-file");
  command.flag("-v,--verbose", to.verbose, "Say what happens");
}

void set_up(common_options const& options) {
  output::set_up(options.verbose ? output::detail::verbose : output::detail::normal);
}

}  // namespace holdfast::cli
