/// Which kind takes which of lock_options, by the table of docs/kinds.md.
#include <holdfast/election.hpp>
#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/fair_mutex.hpp>
#include <holdfast/multi_mutex.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/quorum_mutex.hpp>
#include <holdfast/recursive_mutex.hpp>
#include <holdfast/shared_mutex.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/failure_of.hpp"
#include "support/process.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

/// One value of each option, which isn't its default.
std::map<std::string, std::function<void(lock_options&)>> const& values() {
  static std::map<std::string, std::function<void(lock_options&)>> const all{
      {"ttl", [](lock_options& to) { to.ttl = 20s; }},
      {"watchdog", [](lock_options& to) { to.watchdog = false; }},
      {"renew_every", [](lock_options& to) { to.renew_every = 1s; }},
      {"max_renewals", [](lock_options& to) { to.max_renewals = 3; }},
      {"max_hold", [](lock_options& to) { to.max_hold = 1min; }},
      {"keep", [](lock_options& to) { to.keep = true; }},
      {"on_destroy", [](lock_options& to) { to.on_destroy = release::async; }},
      {"fsynced", [](lock_options& to) { to.fsynced = true; }},
      {"replicas", [](lock_options& to) { to.replicas = 1; }},
      {"wire", [](lock_options&) {}},  // each row is tried on both wires
      {"fenced", [](lock_options& to) { to.fenced = true; }},
      {"policy", [](lock_options& to) { to.policy = sharing_policy::prefer_writers; }},
      {"wake", [](lock_options& to) { to.wake = wake::poll; }},
      {"poll_floor", [](lock_options& to) { to.poll_floor = 3ms; }},
      {"poll_cap", [](lock_options& to) { to.poll_cap = 300ms; }},
      {"detect_deadlock", [](lock_options& to) { to.detect_deadlock = true; }},
      {"starvation_limit", [](lock_options& to) { to.starvation_limit = 50ms; }},
      {"handoff_limit", [](lock_options& to) { to.handoff_limit = 2; }},
      {"handoff_time", [](lock_options& to) { to.handoff_time = 5ms; }},
  };
  return all;
}

using maker = std::function<void(lock_options const&)>;

/// Makes a lock of that kind, which asks no server.
std::map<std::string, maker> makers(client& redis, client& masters) {
  return {
      {"mutex", [&](lock_options const& options) { mutex const made{redis, "a", options}; }},
      {"recursive_mutex",
       [&](lock_options const& options) { recursive_mutex const made{redis, "a", options}; }},
      {"fair_mutex", [&](lock_options const& options) { fair_mutex const made{redis, "a", options}; }},
      {"quorum_mutex", [&](lock_options const& options) { quorum_mutex const made{masters, "a", options}; }},
      {"shared_mutex", [&](lock_options const& options) { shared_mutex const made{redis, "a", options}; }},
      {"multi_mutex",
       [&](lock_options const& options) { multi_mutex const made{redis, {"a", "b"}, options}; }},
      {"expiring_semaphore",
       [&](lock_options const& options) { expiring_semaphore const made{redis, "a", 3, options}; }},
      {"election", [&](lock_options const& options) { election const made{redis, "a", options}; }},
  };
}

/// From the line with `begin` to the next one with `end`.
std::string part_of(std::string const& text, std::string const& begin, std::string const& end) {
  auto const from = text.find(begin);
  if (from == std::string::npos) return {};
  return text.substr(from, text.find(end, from + begin.size()) - from);
}

/// All matches of the first group.
std::vector<std::string> found_in(std::string const& text, char const* pattern) {
  std::regex const wanted{pattern};
  std::vector<std::string> found;
  for (std::sregex_iterator match{text.begin(), text.end(), wanted}, end; match != end; ++match)
    found.push_back((*match)[1]);
  return found;
}

/// What the table says of one option, for each kind: what is so on the plain wire, and on Redisson's.
struct cell {
  std::string plain;
  std::string redisson;
};
using table = std::map<std::string, std::map<std::string, cell>>;

table documented() {
  std::istringstream lines{
      part_of(content_of(HOLDFAST_SOURCE_DIR "/docs/kinds.md"), "\n## Options", "\n## ")};
  table all;
  std::vector<std::vector<std::string>> columns;  // `mutex` and `recursive_mutex` have one together
  for (std::string line; std::getline(lines, line);) {
    auto const cells = found_in(line, R"( ([^|]+) \|)");
    if (cells.empty() || !line.starts_with('|')) continue;
    auto const names = found_in(cells[0], "`([a-z_]+)`");
    for (std::size_t i = 1; i < cells.size(); ++i) {
      if (cells[0] == "option") columns.push_back(found_in(cells[i], "`([a-z_]+)`"));
      for (auto const& name : names) {
        auto const slash = cells[i].find(" / ");
        auto const on_redisson = slash == std::string::npos ? cells[i] : cells[i].substr(slash + 3);
        for (auto const& kind : columns.at(i - 1)) all[name][kind] = {cells[i].substr(0, slash), on_redisson};
      }
    }
  }
  return all;
}

template <class Map>
std::set<std::string> keys_of(Map const& map) {
  std::set<std::string> all;
  for (auto const& [key, value] : map) all.insert(key);
  return all;
}

TEST(options_of_kinds, are_all_in_the_table_and_tried_here) {
  auto const declared = found_in(part_of(content_of(HOLDFAST_SOURCE_DIR "/include/holdfast/options.hpp"),
                                         "struct lock_options {", "\n};"),
                                 R"(\n  [\w:]+ (\w+)(?: = |\{))");
  std::set<std::string> const names{declared.begin(), declared.end()};
  ASSERT_TRUE(names.contains("handoff_time"));
  EXPECT_EQ(keys_of(documented()), names);
  EXPECT_EQ(keys_of(values()), names);
}

bool refused(std::string const& text) { return text.starts_with("refused"); }

/// With one option, and on one wire.
bool refuses(maker const& make, std::string const& option, holdfast::wire wire) {
  lock_options options{.wire = wire};
  values().at(option)(options);
  return code_of([&] { make(options); }) == std::errc::invalid_argument;
}

/// The kinds whose constructors have lock_options, by the names of their headers.
std::set<std::string> declared_kinds() {
  std::set<std::string> all;
  for (auto const& header : std::filesystem::directory_iterator{HOLDFAST_SOURCE_DIR "/include/holdfast"}) {
    if (content_of(header.path()).find("lock_options options = {});") != std::string::npos)
      all.insert(header.path().stem());
  }
  return all;
}

TEST(options_of_kinds, are_told_of_each_kind) {
  client redis{"redis+unix:///nonexistent/redis.sock"};
  auto const kinds = declared_kinds();
  EXPECT_EQ(keys_of(makers(redis, redis)), kinds);
  for (auto const& [option, cells] : documented()) EXPECT_EQ(keys_of(cells), kinds) << option;
}

TEST(options_of_kinds, are_taken_or_refused_as_the_table_says) {
  client redis{"redis+unix:///nonexistent/redis.sock"};
  client masters{"redis+quorum://h1,h2,h3"};
  auto const all = documented();
  for (auto const& [kind, make] : makers(redis, masters)) {
    auto const has_redisson = !refused(all.at("wire").at(kind).redisson);
    for (auto const& [option, kinds] : all) {
      SCOPED_TRACE(testing::Message{} << option << " of " << kind);
      auto const& said = kinds.at(kind);
      EXPECT_EQ(refuses(make, option, wire::plain), refused(said.plain));
      if (has_redisson || option == "wire")  // where the wire is refused, the option doesn't matter
        EXPECT_EQ(refuses(make, option, wire::redisson), refused(said.redisson)) << "on Redisson's wire";
    }
  }
  EXPECT_EQ(redis.stats().commands, 0U);
}

}  // namespace
}  // namespace holdfast::test
