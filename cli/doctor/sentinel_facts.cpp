#include "doctor/sentinel_facts.hpp"

#include "base/whole_number.hpp"
#include "doctor/facts.hpp"

#include <holdfast/error.hpp>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

namespace holdfast::cli {
namespace {

/// A field of a reply that alternates names and values.
std::string_view field(probe::reply const& pairs, std::string_view const name) {
  for (std::size_t i = 0; i + 1 < pairs.parts.size(); i += 2) {
    if (pairs.parts[i].text == name) return pairs.parts[i + 1].text;
  }
  return {};
}

std::int64_t number(probe::reply const& pairs, std::string_view const name) {
  return whole_number(field(pairs, name)).value_or(0);
}

probe::server_address address_in(probe::reply const& pairs) {
  return {std::string{field(pairs, "ip")}, static_cast<std::uint16_t>(number(pairs, "port"))};
}

/// The view of one sentinel, and the other sentinels that it knows.
struct asked_sentinel {
  sentinel_view view{};
  std::unique_ptr<probe::server_session> session{};
  std::string id{};  ///< empty: its version has no id
  std::vector<std::pair<std::string, probe::server_address>> others{};
  std::vector<probe::server_address> replicas{};
};

void read_others(asked_sentinel& sentinel, std::string_view const master) {
  auto const sentinels = sentinel.session->ask({"SENTINEL", "SENTINELS", master});
  for (auto const& entry : sentinels.parts) {
    if (address_in(entry).port != 0) sentinel.others.emplace_back(field(entry, "runid"), address_in(entry));
  }
  auto const replicas = sentinel.session->ask({"SENTINEL", "REPLICAS", master});
  for (auto const& entry : replicas.parts) sentinel.replicas.push_back(address_in(entry));
}

void ask(asked_sentinel& sentinel, std::string_view const master) {
  auto& view = sentinel.view;
  auto& session = *sentinel.session;
  auto const masters = session.ask({"SENTINEL", "MASTERS"});
  if (masters.refused) {
    view.is_sentinel = masters.text.find("unknown command") == std::string::npos;
    view.failure = refusal_of("SENTINEL MASTERS", masters);
    return;
  }
  if (auto id = session.ask({"SENTINEL", "MYID"}); !id.refused) sentinel.id = std::move(id.text);
  for (auto const& entry : masters.parts) {
    auto const name = field(entry, "name");
    if (name != master) {
      view.other_names.emplace_back(name);
      continue;
    }
    view.master = address_in(entry);
    view.others = number(entry, "num-other-sentinels");
    view.quorum = number(entry, "quorum");
    view.down_after_ms = number(entry, "down-after-milliseconds");
  }
  if (!view.master) return;
  auto quorum = session.ask({"SENTINEL", "CKQUORUM", master});
  if (quorum.refused) {
    view.check.refusal = std::move(quorum.text);
  } else {
    view.check.value = std::move(quorum.text);
  }
  // During a failover SENTINEL MASTERS still has the old master; this is the address that clients get.
  auto const current = session.ask({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", master});
  if (current.parts.size() == 2) {
    view.master = probe::server_address{
        current.parts[0].text, static_cast<std::uint16_t>(whole_number(current.parts[1].text).value_or(0))};
  }
  read_others(sentinel, master);
}

void ask_all(std::vector<asked_sentinel>& sentinels, std::string_view const master) {
  at_once(sentinels.size(), [&](std::size_t const i) {
    try {
      ask(sentinels[i], master);
    } catch (error const& problem) {
      sentinels[i].view.failure = problem.what();
      sentinels[i].view.failed_with = problem.code();
    }
  });
}

/// The sentinels that others name and the URL lacks. The URL may have a host name where the sentinels have a
/// number, so the id decides too.
std::vector<asked_sentinel> not_in_url(probe::named_servers const& deployment,
                                       std::vector<asked_sentinel> const& in_url) {
  std::vector<asked_sentinel> result;
  for (auto const& source : in_url) {
    for (auto const& other : source.others) {
      auto const& id = other.first;
      auto const& name = other.second;
      auto const same = [&id, &name](asked_sentinel const& known) {
        return known.view.name == name || (!id.empty() && known.id == id);
      };
      if (std::ranges::any_of(in_url, same) || std::ranges::any_of(result, same)) continue;
      result.push_back(
          {.view = {.name = name, .in_url = false}, .session = deployment.to_sentinel(name), .id = id});
    }
  }
  return result;
}

}  // namespace

sentinel_facts examine_sentinels(probe::named_servers const& deployment, std::string_view const lock) {
  std::vector<asked_sentinel> sentinels;
  sentinels.reserve(deployment.hosts().size());
  for (std::size_t i = 0; i < deployment.hosts().size(); ++i) {
    sentinels.push_back({.view = {.name = deployment.hosts()[i]}, .session = deployment.to_host(i)});
  }
  ask_all(sentinels, deployment.master());
  auto more = not_in_url(deployment, sentinels);
  ask_all(more, deployment.master());
  std::ranges::move(more, std::back_inserter(sentinels));

  sentinel_facts facts{.master_name = deployment.master()};
  for (auto const& sentinel : sentinels) facts.sentinels.push_back(sentinel.view);
  auto const master = agreed_master(facts.sentinels);
  if (!master) return facts;

  std::vector<server_to_examine> servers;
  servers.push_back({server_duty::serving, *master, deployment.to_announced(*master)});
  for (auto const& sentinel : sentinels) {
    if (sentinel.view.master != master) continue;
    for (auto const& replica : sentinel.replicas) {
      if (std::ranges::find(servers, replica, &server_to_examine::name) != servers.end()) continue;
      servers.push_back({server_duty::stand_by, replica, deployment.to_announced(replica)});
    }
  }
  facts.servers = examine_all(std::move(servers), lock, probe::deployment_kind::sentinel);
  return facts;
}

}  // namespace holdfast::cli
