#include "deployment_under_test.hpp"

#include "cluster_servers.hpp"
#include "eventually.hpp"
#include "independent_servers.hpp"
#include "memory_server.hpp"
#include "sentinel_servers.hpp"
#include "server_dialect.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <set>
#include <stdexcept>
#include <utility>

namespace holdfast::test {
namespace {

topology chosen_topology = topology::single;
way chosen_way = way::scripts;

std::unique_ptr<flaky_proxy> proxy_before(redis_server const& server) {
  auto proxy = std::make_unique<flaky_proxy>(server.socket_path());
  auto facts = std::make_shared<server_facts_shown>();
  facts->speaks = scripting::dialect::valkey;
  facts->scripts = chosen_way != way::scriptless;
  proxy->decide(speaking(std::move(facts)));
  return proxy;
}

std::string with_way(std::string url) {
  if (chosen_way == way::native) return url + "?cas=native";
  if (chosen_way == way::scriptless) return url + "?scripts=no";
  if (chosen_way == way::module) return url + "?cas=module";
  return url;
}

bool with_module() { return chosen_way == way::module || chosen_way == way::mixed; }

std::vector<std::string> options_of_one_server() {
  if (!with_module()) return {};
  auto const* const file = std::getenv("HOLDFAST_MODULE_FILE");
  if (file == nullptr) throw std::runtime_error{"HOLDFAST_MODULE_FILE names no module for --by"};
  return {"--loadmodule", file};
}

// Started by the first test that needs it, ended with the program.
redis_server& shared_server() {
  static redis_server one{options_of_one_server()};
  return one;
}
sentinel_servers& shared_sentinels() {
  static sentinel_servers all{{.down_after = 60s}};  // no master dies here, however busy the machine
  return all;
}
cluster_servers& shared_cluster() {
  static cluster_servers all;
  return all;
}
independent_servers& shared_masters() {
  static independent_servers all;
  return all;
}
memory_server& shared_memory() {
  static memory_server one{"laws"};
  return one;
}

/// The masters of the quorum, each behind a proxy.
std::string const& shared_proxies_url() {
  static std::vector<std::unique_ptr<flaky_proxy>> proxies;
  static std::string url;
  if (!url.empty()) return url;
  for (auto const& master : shared_masters()) {
    proxies.push_back(proxy_before(*master));
    url += (url.empty() ? "redis+quorum://" : ",") + proxies.back()->address();
  }
  return url;
}

/// The key of a command; empty if it has none.
std::string key_of(std::vector<std::string> const& words) {
  static std::set<std::string> const without_key{"ACL", "CLIENT", "CONFIG", "INFO", "PING", "PUBSUB", "TIME"};
  if (words.size() < 2 || without_key.contains(words[0])) return {};
  if (words[0] == "EVAL") return words.at(2) == "0" ? std::string{} : words.at(3);
  return words[1];
}

bool same_reply(raw_reply const& a, raw_reply const& b) {
  return a.type == b.type && a.integer == b.integer && a.text == b.text &&
         std::equal(a.elements.begin(), a.elements.end(), b.elements.begin(), b.elements.end(), same_reply);
}

}  // namespace

topology topology_under_test() { return chosen_topology; }
way way_under_test() { return chosen_way; }

void choose_topology(int& argc, char** argv) {
  for (auto position = 1; position < argc; ++position) {
    auto const word = std::string_view{argv[position]};
    if (!word.starts_with("--by=")) continue;
    static std::map<std::string_view, way> const ways{{"native", way::native},
                                                      {"scriptless", way::scriptless},
                                                      {"module", way::module},
                                                      {"mixed", way::mixed}};
    auto const known = ways.find(word.substr(word.find('=') + 1));
    if (known == ways.end()) {
      std::fprintf(stderr, "%s: native, scriptless, module or mixed\n", argv[position]);
      std::exit(2);
    }
    chosen_way = known->second;
    std::copy(argv + position + 1, argv + argc + 1, argv + position);
    --argc;
    break;
  }
  static std::map<std::string, topology> const names{{"sentinel", topology::sentinel},
                                                     {"cluster", topology::cluster},
                                                     {"quorum", topology::quorum},
                                                     {"memory", topology::memory}};
  constexpr std::string_view option = "--on=";
  for (auto position = 1; position < argc; ++position) {
    auto const word = std::string_view{argv[position]};
    if (!word.starts_with(option)) continue;
    auto const known = names.find(std::string{word.substr(option.size())});
    if (known == names.end()) {
      std::fprintf(stderr, "%s: sentinel, cluster, quorum or memory\n", argv[position]);
      std::exit(2);
    }
    chosen_topology = known->second;
    std::copy(argv + position + 1, argv + argc + 1, argv + position);
    --argc;
    return;
  }
}

raw_servers::raw_servers(topology deployment, std::vector<redis_server*> masters, std::string const& home)
    : raw_redis{home}, deployment_{deployment}, masters_{std::move(masters)} {
  for (auto const* master : masters_) clients_.push_back(master->raw());
  if (clients_.empty()) clients_.emplace_back(home);
}

raw_reply raw_servers::command(std::vector<std::string> const& words) {
  if (deployment_ == topology::quorum)
    return words[0] == "KEYS" ? settled_keys(words) : majority_reply(words);
  if (deployment_ == topology::cluster) {
    if (words[0] == "KEYS") return keys_of_all_masters(words);
    if (words[0] == "FLUSHALL") return majority_reply(words);
    if (auto const key = key_of(words); !key.empty())
      return client_of(cluster_servers::slot_of(key)).command(words);
  }
  return raw_redis::command(words);
}

void raw_servers::pipeline(std::vector<std::vector<std::string>> const& commands) {
  if (deployment_ != topology::cluster && deployment_ != topology::quorum)
    return raw_redis::pipeline(commands);
  for (auto const& words : commands) command(words);
}

raw_redis& raw_servers::client_of(std::uint16_t slot) {
  auto const [known, is_new] = index_of_slot_.try_emplace(slot);
  if (is_new) {
    auto const& server = shared_cluster().master_of(slot);
    auto const found = std::find(masters_.begin(), masters_.end(), &server);
    if (found == masters_.end()) throw std::runtime_error{"a slot has moved to a master that wasn't one"};
    known->second = static_cast<std::size_t>(found - masters_.begin());
  }
  return clients_[known->second];
}

raw_reply raw_servers::majority_reply(std::vector<std::string> const& words) {
  std::vector<raw_reply> replies;
  for (auto& client : clients_) replies.push_back(client.command(words));
  if (std::ranges::all_of(replies,
                          [](auto const& reply) { return reply.type == raw_reply::kind::integer; })) {
    // The median: what a majority says, or at least as much as a majority says and at most as much, since
    // each PTTL is another one. Two that are late and alike, as with a key that they don't have, are no
    // majority.
    std::ranges::sort(replies, {}, &raw_reply::integer);
    return std::move(replies[replies.size() / 2]);
  }
  std::size_t best = 0;
  std::ptrdiff_t votes = 0;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    auto const alike = std::count_if(replies.begin(), replies.end(),
                                     [&](auto const& other) { return same_reply(replies[i], other); });
    if (alike <= votes) continue;
    best = i;
    votes = alike;
  }
  return std::move(replies[best]);
}

raw_reply raw_servers::keys_of_all_masters(std::vector<std::string> const& words) {
  raw_reply all{.type = raw_reply::kind::array};
  for (auto& client : clients_) {
    auto reply = client.command(words);
    std::move(reply.elements.begin(), reply.elements.end(), std::back_inserter(all.elements));
  }
  return all;
}

// An acquisition or release doesn't wait for the last nodes of a vote, which carry it out a moment later.
raw_reply raw_servers::settled_keys(std::vector<std::string> const& words) {
  raw_reply all;
  (void)true_within(5s, [&] {
    std::map<std::string, std::size_t> found;
    all = keys_of_all_masters(words);
    for (auto const& key : all.elements) ++found[key.text];
    return std::all_of(found.begin(), found.end(),
                       [&](auto const& key) { return key.second == clients_.size(); });
  });
  std::set<std::string> distinct;
  std::erase_if(all.elements, [&](auto const& key) { return !distinct.insert(key.text).second; });
  return all;
}

std::int64_t raw_servers::listeners(std::string const& channel) {
  std::int64_t count = 0;
  for (auto& client : clients_) {
    for (auto const* const subcommand : {"NUMSUB", "SHARDNUMSUB"}) {
      auto const reply = client.command({"PUBSUB", subcommand, channel});
      if (reply.elements.size() == 2) count += reply.elements[1].integer;
    }
  }
  return count;
}

void raw_servers::publish(std::string const& channel, std::string const& message) {
  if (deployment_ == topology::cluster && channel.find('{') != std::string::npos)
    client_of(cluster_servers::slot_of(channel)).command({"SPUBLISH", channel, message});
  else
    command({"PUBLISH", channel, message});
}

deployment_under_test::deployment_under_test() {
  switch (chosen_topology) {
    case topology::single:
      masters_ = {&shared_server()};
      if (chosen_way == way::native || chosen_way == way::scriptless)
        own_proxy_ = proxy_before(shared_server());
      break;
    case topology::sentinel:
      masters_ = {&shared_sentinels().master()};
      break;
    case topology::cluster:
      home_ = &shared_cluster().master_of("orders");
      masters_ = shared_cluster().masters();
      break;
    case topology::quorum:
      for (auto const& master : shared_masters()) masters_.push_back(master.get());
      break;
    case topology::memory: {
      auto server = raw();
      server.command({"FLUSHALL"});
      server.command({"SCRIPT", "FLUSH"});
      break;
    }
  }
  if (home_ == nullptr && !masters_.empty()) home_ = masters_.front();
  // Clear what earlier tests left.
  for (auto const* master : masters_) {
    auto raw = master->raw();
    raw.command({"ACL", "SETUSER", "default", "on", "nopass", "+@all", "~*", "&*"});
    raw.command({"FLUSHALL"});
    if (chosen_topology == topology::single) raw.command({"SCRIPT", "FLUSH"});
    raw.command({"CONFIG", "RESETSTAT"});
  }
  for (auto const* const name : {"history", "counter"}) std::filesystem::remove(folder() / name);
}

std::string deployment_under_test::url() const {
  switch (chosen_topology) {
    case topology::sentinel:
      return shared_sentinels().url();
    case topology::cluster:
      return shared_cluster().url();
    case topology::quorum:
      return chosen_way == way::scripts ? shared_masters().url() : with_way(shared_proxies_url());
    case topology::memory:
      return shared_memory().url();
    case topology::single:
      break;
  }
  if (chosen_way == way::mixed) {
    constexpr std::array ways{"module", "lua", "native"};
    return shared_server().url() + "?cas=" + ways[urls_given_++ % ways.size()];
  }
  return with_way(own_proxy_ ? own_proxy_->url() : shared_server().url());
}

raw_servers deployment_under_test::raw() const {
  return raw_servers{chosen_topology, masters_, home_ == nullptr ? socket_path() : home_->socket_path()};
}

std::string deployment_under_test::socket_path() const {
  if (chosen_topology == topology::memory) return shared_memory().socket_path();
  if (masters_.size() != 1) throw std::logic_error{"a test of one server, where there are several"};
  return masters_.front()->socket_path();
}

std::filesystem::path const& deployment_under_test::folder() const {
  return home_ == nullptr ? shared_memory().folder() : home_->folder();
}

}  // namespace holdfast::test
