#include "wire/etcd/exclusive.hpp"

#include <stdexcept>

#include "wire/lock_names.hpp"

namespace holdfast::recipes::etcd {
namespace {

using namespace engine;

[[noreturn]] void not_a_script() { throw std::logic_error{"a lock on etcd has no scripts"}; }

call pass(owned /*lease*/, release_policy /*policy*/, acquire_request const& /*next*/) { not_a_script(); }
call abandon(owned /*lease*/, release_policy /*policy*/) { not_a_script(); }

/// One at a time, in the order of arrival.
constexpr recipe in_order(history::kind kind) {
  return {.kind = kind,
          .order = order::strict,
          .scriptless = true,
          .on_etcd = true,
          .acquire = nullptr,
          .pass = pass,
          .abandon = abandon};
}

}  // namespace

constinit engine::recipe const exclusive{.order = order::barging,
                                         .scriptless = true,
                                         .on_etcd = true,
                                         .acquire = nullptr,
                                         .pass = pass,
                                         .abandon = abandon};

constinit engine::recipe const multi{.order = order::barging,
                                     .scriptless = true,
                                     .on_etcd = true,
                                     .acquire = nullptr,
                                     .abandon = abandon,
                                     .several = &several};

constinit engine::recipe const fair = in_order(history::kind::fair);

constinit engine::recipe const reader{.kind = history::kind::read,
                                      .order = order::strict,
                                      .sharing = sharing::shared,
                                      .join_time = join_time_of_readers,
                                      .scriptless = true,
                                      .on_etcd = true,
                                      .acquire = nullptr,
                                      .abandon = abandon};

constinit engine::recipe const permits{.kind = history::kind::permits,
                                       .order = order::strict,
                                       .sharing = sharing::counted,
                                       .scriptless = true,
                                       .on_etcd = true,
                                       .acquire = nullptr,
                                       .abandon = abandon};

constinit engine::recipe const latch{.kind = history::kind::latch,
                                     .sharing = sharing::open_to_all,
                                     .leased = false,
                                     .scriptless = true,
                                     .on_etcd = true,
                                     .acquire = nullptr,
                                     .abandon = abandon};

constinit engine::recipe const election = in_order(history::kind::election);

}  // namespace holdfast::recipes::etcd
