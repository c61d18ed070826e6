#include "doctor/etcd_facts.hpp"

#include "common/output.hpp"

#include <holdfast/client.hpp>

namespace holdfast::cli {

etcd_facts examine_etcd(probe::named_servers const& deployment, std::string const& lock) {
  client etcd{deployment.url_with_passwords(), {.name = "holdfast-doctor", .log = output::hook()}};
  auto const start = lock.empty() ? deployment.scope().prefix : lock + '/';
  return {.members = probe::examine_members(etcd, start), .keys = deployment.key_prefix() + start};
}

}  // namespace holdfast::cli
