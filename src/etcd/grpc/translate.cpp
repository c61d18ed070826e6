#include "etcd/grpc/translate.hpp"

#include <variant>

namespace holdfast::etcd {
namespace {

void fill(etcdserverpb::RequestOp& to, range const& wanted) {
  auto& message = *to.mutable_request_range();
  message.set_key(wanted.key);
  message.set_range_end(wanted.end);
  message.set_limit(wanted.limit);
  message.set_sort_target(wanted.sorted == range::order::by_key ? etcdserverpb::RangeRequest::KEY
                                                                : etcdserverpb::RangeRequest::CREATE);
  message.set_sort_order(wanted.sorted == range::order::newest_first ? etcdserverpb::RangeRequest::DESCEND
                                                                     : etcdserverpb::RangeRequest::ASCEND);
  message.set_max_create_revision(wanted.max_create_revision);
  message.set_keys_only(wanted.without_values);
}

void fill(etcdserverpb::RequestOp& to, put const& wanted) {
  auto& message = *to.mutable_request_put();
  message.set_key(wanted.key);
  message.set_value(wanted.value);
  message.set_lease(wanted.lease);
}

void fill(etcdserverpb::RequestOp& to, remove const& wanted) {
  auto& message = *to.mutable_request_delete_range();
  message.set_key(wanted.key);
  message.set_range_end(wanted.end);
}

void fill(etcdserverpb::Compare& to, condition const& holds) {
  to.set_result(etcdserverpb::Compare::EQUAL);
  to.set_key(holds.key);
  to.set_range_end(holds.end);
  if (holds.made_before != 0) {
    to.set_result(etcdserverpb::Compare::LESS);
    to.set_target(etcdserverpb::Compare::CREATE);
    to.set_create_revision(holds.made_before);
  } else if (holds.changed_in != 0) {
    to.set_target(etcdserverpb::Compare::MOD);
    to.set_mod_revision(holds.changed_in);
  } else if (auto const* const revision = std::get_if<std::int64_t>(&holds.equals)) {
    to.set_target(etcdserverpb::Compare::CREATE);
    to.set_create_revision(*revision);
  } else {
    to.set_target(etcdserverpb::Compare::VALUE);
    to.set_value(std::get<std::string>(holds.equals));
  }
}

}  // namespace

etcdserverpb::TxnRequest to_message(transaction const& request) {
  etcdserverpb::TxnRequest message;
  for (auto const& each : request.when) fill(*message.add_compare(), each);
  for (auto const& each : request.then)
    std::visit([&](auto const& wanted) { fill(*message.add_success(), wanted); }, each);
  for (auto const& each : request.otherwise)
    std::visit([&](auto const& wanted) { fill(*message.add_failure(), wanted); }, each);
  return message;
}

outcome to_value(etcdserverpb::TxnResponse const& answer) {
  outcome value{.revision = answer.header().revision(),
                .term = answer.header().raft_term(),
                .succeeded = answer.succeeded()};
  value.answers.reserve(static_cast<std::size_t>(answer.responses_size()));
  for (auto const& each : answer.responses()) {
    auto& next = value.answers.emplace_back();
    if (!each.has_response_range()) continue;
    next.count = each.response_range().count();
    next.keys.reserve(static_cast<std::size_t>(each.response_range().kvs_size()));
    for (auto const& entry : each.response_range().kvs()) {
      next.keys.push_back({.key = entry.key(),
                           .value = entry.value(),
                           .create_revision = entry.create_revision(),
                           .mod_revision = entry.mod_revision(),
                           .lease = entry.lease()});
    }
  }
  return value;
}

}  // namespace holdfast::etcd
