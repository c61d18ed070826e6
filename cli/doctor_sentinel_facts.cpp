#include "doctor_sentinel_facts.hpp"

#include "doctor_facts.hpp"

#include <holdfast/error.hpp>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

namespace holdfast::cli {
namespace {

/// A field of a reply that has names and values by turns.
std::string_view field(answer const& pairs, std::string_view const name) {
  for (std::size_t i = 0; i + 1 < pairs.parts.size(); i += 2) {
    if (pairs.parts[i].text == name) return pairs.parts[i + 1].text;
  }
  return {};
}

std::int64_t number(answer const& pairs, std::string_view const name) {
  return whole_number(field(pairs, name)).value_or(0);
}

address address_in(answer const& pairs) {
  return {std::string{field(pairs, "ip")}, static_cast<std::uint16_t>(number(pairs, "port"))};
}

/// What one sentinel says, and of which others it knows.
struct asked_sentinel {
  sentinel_view view{};
  std::unique_ptr<server_session> session{};
  std::string id{};  ///< empty: it is too old to tell
  std::vector<std::pair<std::string, address>> others{};
  std::vector<address> replicas{};
};

void read_others(asked_sentinel& to, std::string_view const master) {
  auto const sentinels = to.session->ask({"SENTINEL", "SENTINELS", master});
  for (auto const& one : sentinels.parts) {
    if (address_in(one).port != 0) to.others.emplace_back(field(one, "runid"), address_in(one));
  }
  auto const replicas = to.session->ask({"SENTINEL", "REPLICAS", master});
  for (auto const& one : replicas.parts) to.replicas.push_back(address_in(one));
}

void ask(asked_sentinel& to, std::string_view const master) {
  auto& view = to.view;
  auto& session = *to.session;
  auto const masters = session.ask({"SENTINEL", "MASTERS"});
  if (masters.refused) {
    view.is_sentinel = masters.text.find("unknown command") == std::string::npos;
    view.failure = refusal_of("SENTINEL MASTERS", masters);
    return;
  }
  if (auto id = session.ask({"SENTINEL", "MYID"}); !id.refused) to.id = std::move(id.text);
  for (auto const& one : masters.parts) {
    auto const name = field(one, "name");
    if (name != master) {
      view.other_names.emplace_back(name);
      continue;
    }
    view.master = address_in(one);
    view.others = number(one, "num-other-sentinels");
    view.quorum = number(one, "quorum");
    view.down_after_ms = number(one, "down-after-milliseconds");
  }
  if (!view.master) return;
  auto quorum = session.ask({"SENTINEL", "CKQUORUM", master});
  if (quorum.refused) {
    view.check.refusal = std::move(quorum.text);
  } else {
    view.check.value = std::move(quorum.text);
  }
  // During a failover SENTINEL MASTERS still has the old one; what clients are told is this.
  auto const now = session.ask({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", master});
  if (now.parts.size() == 2) {
    view.master =
        address{now.parts[0].text, static_cast<std::uint16_t>(whole_number(now.parts[1].text).value_or(0))};
  }
  read_others(to, master);
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

/// Those that others tell of, and the URL doesn't have. A host of the URL is a name, say, where they have a
/// number, so it is told by its id.
std::vector<asked_sentinel> not_in_url(server_place const& where, std::vector<asked_sentinel> const& in_url) {
  std::vector<asked_sentinel> result;
  for (auto const& teller : in_url) {
    for (auto const& other : teller.others) {
      auto const& id = other.first;
      auto const& name = other.second;
      auto const same = [&id, &name](asked_sentinel const& known) {
        return known.view.name == name || (!id.empty() && known.id == id);
      };
      if (std::ranges::any_of(in_url, same) || std::ranges::any_of(result, same)) continue;
      result.push_back(
          {.view = {.name = name, .in_url = false}, .session = where.to_sentinel(name), .id = id});
    }
  }
  return result;
}

}  // namespace

sentinel_facts examine_sentinels(server_place const& where, std::string_view const lock) {
  std::vector<asked_sentinel> sentinels;
  sentinels.reserve(where.hosts().size());
  for (std::size_t i = 0; i < where.hosts().size(); ++i) {
    sentinels.push_back({.view = {.name = where.hosts()[i]}, .session = where.to_host(i)});
  }
  ask_all(sentinels, where.master());
  auto more = not_in_url(where, sentinels);
  ask_all(more, where.master());
  std::ranges::move(more, std::back_inserter(sentinels));

  sentinel_facts facts{.master_name = where.master()};
  for (auto const& one : sentinels) facts.sentinels.push_back(one.view);
  auto const master = agreed_master(facts.sentinels);
  if (!master) return facts;

  std::vector<server_to_examine> servers;
  servers.push_back({server_duty::serving, *master, where.to_announced(*master)});
  for (auto const& one : sentinels) {
    if (one.view.master != master) continue;
    for (auto const& replica : one.replicas) {
      if (std::ranges::find(servers, replica, &server_to_examine::name) != servers.end()) continue;
      servers.push_back({server_duty::stand_by, replica, where.to_announced(replica)});
    }
  }
  facts.servers = examine_all(std::move(servers), lock, deployment_kind::sentinel);
  return facts;
}

}  // namespace holdfast::cli
