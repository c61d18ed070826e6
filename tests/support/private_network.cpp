#include "private_network.hpp"

#include "process.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>
#include <stdexcept>

namespace holdfast::test {
namespace {

constexpr char const* this_namespace = "/proc/thread-self/ns/net";

void run_tool(words const& command, std::string const& input = {}) {
  process tool{command, {}, input};
  if (tool.wait() != 0) throw std::runtime_error{command.front() + ": " + tool.err()};
}

}  // namespace

std::string private_network::lacking() {
  if (::geteuid() != 0) return "only root may make a network namespace";
  try {
    private_network const trial;
    run_tool({"nft", "list", "ruleset"});
    return {};
  } catch (std::exception const& failure) {
    return failure.what();
  }
}

std::string private_network::lacking_to_part() {
  if (auto reason = lacking(); !reason.empty()) return reason;
  try {
    private_network trial;
    trial.know(1);
    trial.part(1, {1}, {2, 3});
    return {};
  } catch (std::exception const& failure) {
    return failure.what();
  }
}

private_network::private_network() : original_namespace_{::open(this_namespace, O_RDONLY | O_CLOEXEC)} {
  if (original_namespace_ < 0 || ::unshare(CLONE_NEWNET) != 0) {
    ::close(original_namespace_);
    throw std::runtime_error{"this process may not make a network namespace"};
  }
  try {
    run_tool({"ip", "link", "set", "lo", "up"});
  } catch (...) {
    ::setns(original_namespace_, CLONE_NEWNET);
    ::close(original_namespace_);
    throw;
  }
}

private_network::~private_network() {
  ::setns(original_namespace_, CLONE_NEWNET);
  ::close(original_namespace_);
}

void private_network::drop(int percent, std::string const& where, std::uint16_t port) {
  drop("tcp " + where + ' ' + std::to_string(port) +
       (percent < 100 ? " numgen random mod 100 < " + std::to_string(percent) : std::string{}) + " drop\n");
}

void private_network::drop(std::string const& rules) {
  drop_nothing();
  run_tool({"nft", "-f", "-"},
           "table inet loss {\n"
           "  chain in {\n"
           "    type filter hook input priority 0\n" +
               rules +
               "  }\n"
               "}\n");
}

/// Declared first, since what isn't there can't be deleted.
void private_network::drop_nothing() {
  run_tool({"nft", "-f", "-"}, "table inet loss {\n}\ndelete table inet loss\n");
}

void private_network::know(unsigned group) {
  auto const number = std::to_string(group);
  run_tool({"nft", "-f", "-"},
           "table inet groups {\n"
           "  chain out {\n"
           "    type filter hook output priority 0\n"
           "    ct direction original meta skgid " +
               number + " ct mark set " + number +
               "\n"
               "  }\n"
               "}\n");
}

void private_network::part(unsigned group, std::vector<std::uint16_t> const& own,
                           std::vector<std::uint16_t> const& others) {
  std::string rules;
  auto const add = [&rules](std::uint16_t port, std::string const& mark) {
    rules +=
        "meta l4proto tcp ct original proto-dst " + std::to_string(port) + " ct mark " + mark + " drop\n";
  };
  for (auto const port : own) add(port, "!= 0");
  for (auto const port : others) add(port, std::to_string(group));
  drop(rules);
}

}  // namespace holdfast::test
