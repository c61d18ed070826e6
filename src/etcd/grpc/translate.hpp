/// Between plain values and the messages of etcd.proto. No I/O.
#pragma once

#include <etcd.pb.h>

#include "etcd/messages.hpp"

namespace holdfast::etcd {

[[nodiscard]] etcdserverpb::TxnRequest to_message(transaction const& request);
[[nodiscard]] outcome to_value(etcdserverpb::TxnResponse const& answer);

}  // namespace holdfast::etcd
