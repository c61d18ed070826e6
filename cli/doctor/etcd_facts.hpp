/// Asks the members of a cluster of etcd for what `holdfast doctor` judges.
#pragma once

#include "doctor/etcd.hpp"
#include "probe/named_servers.hpp"

#include <string>

namespace holdfast::cli {

/// `lock`: the lock whose keys this user should be allowed to use; empty: those of the prefix that is meant.
[[nodiscard]] etcd_facts examine_etcd(probe::named_servers const& deployment, std::string const& lock);

}  // namespace holdfast::cli
