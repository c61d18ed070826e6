#include "wire/etcd/exclusive.hpp"

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "script/names.hpp"
#include "wire/lock_names.hpp"

namespace holdfast::recipes::etcd {
namespace {

using namespace engine;

[[noreturn]] void not_a_script() { throw std::logic_error{"a lock on etcd has no scripts"}; }

call pass(owned /*lease*/, release_policy /*policy*/, acquire_request const& /*next*/) { not_a_script(); }
call abandon(owned /*lease*/, release_policy /*policy*/) { not_a_script(); }

/// Where the backend wakes whoever waits.
std::vector<std::string> channels_of_seat(std::string_view seat, std::string_view owner) {
  return {names::inbox(owner.substr(0, owner.rfind(':')), seat)};
}

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

constinit engine::recipe const barrier{.kind = history::kind::barrier,
                                       .sharing = sharing::counted,
                                       .leased = false,
                                       .counts_waiters = true,
                                       .scriptless = true,
                                       .on_etcd = true,
                                       .acquire = nullptr,
                                       .abandon = abandon,
                                       .several = &seats,
                                       .channels = channels_of_seat};

constinit engine::recipe const election = in_order(history::kind::election);

}  // namespace holdfast::recipes::etcd
