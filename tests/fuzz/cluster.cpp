// Maps of slots, the health of a cluster, and redirections, from replies of its nodes.

#include <string>

#include "fuzz/fuzz.hpp"
#include "resp/make_reply.hpp"
#include "topology/redirect.hpp"
#include "topology/slot_map.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::fuzzing;
using topology::refusal_kind;

constexpr int slots = 16384;

resp::reply node_of(net::server_address const& address) {
  return resp::make_array({resp::make_text(address.host), resp::make_integer(address.port)});
}

resp::reply written(std::vector<topology::slot_range> const& ranges) {
  std::vector<resp::reply> all;
  for (auto const& range : ranges) {
    std::vector<resp::reply> words{resp::make_integer(range.first), resp::make_integer(range.last),
                                   node_of(range.master)};
    for (auto const& replica : range.replicas) words.push_back(node_of(replica));
    all.push_back(resp::make_array(std::move(words)));
  }
  return resp::make_array(std::move(all));
}

bool same(topology::slot_range const& one, topology::slot_range const& other) {
  return one.first == other.first && one.last == other.last && one.master == other.master &&
         one.replicas == other.replicas;
}

void check_slots(std::vector<topology::slot_range> const& ranges) {
  for (auto const& range : ranges) {
    require(range.first <= range.last && range.last < slots, "a range is one of slots");
    require(!range.master.host.empty() && range.master.port != 0, "a master has an address");
  }
  auto const unserved = topology::first_unserved(ranges);
  require(!unserved || *unserved < slots, "a slot is unserved");
  for (auto const& range : ranges)
    require(!unserved || *unserved < range.first || *unserved > range.last, "no range serves it");
  auto const again = topology::read_slots(written(ranges), "elsewhere");
  require(again && std::ranges::equal(*again, ranges, same), "what is written is read again");
}

void check_refusal(std::string_view text) {
  auto const read = topology::read_refusal(text);
  if (read.type != refusal_kind::moved && read.type != refusal_kind::ask) return;
  require(read.slot < slots && read.port != 0, "a redirection has a slot and a port");
  auto const again =
      topology::read_refusal((read.type == refusal_kind::moved ? "MOVED " : "ASK ") +
                             std::to_string(read.slot) + " " + read.host + ":" + std::to_string(read.port));
  require(again.type == read.type && again.slot == read.slot && again.host == read.host &&
              again.port == read.port,
          "what is written is read again");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  for (auto const& reply : replies_in(text_of(data, size))) {
    if (reply.is_error()) check_refusal(reply.text);
    if (auto const ranges = topology::read_slots(reply, "asked")) check_slots(*ranges);
    auto const health = topology::read_health(reply);
    require(reply.is_text() || (health.ok && health.epoch == 0), "what isn't said is fine");
  }
  return 0;
}
