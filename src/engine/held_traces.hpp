/// Which work holds the locks of a client, for those whom they block.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "engine/lease_state.hpp"
#include "reactor/reactor.hpp"

namespace holdfast::engine {

/// The traces of the leases that have one. Those that have been held for half a second are said in the
/// client's record: the oldest, sixteen at the most. Only the first lease of an acquisition is said, and then
/// it isn't handed over within the process, nor shared; so a trace that is said by the number of an
/// acquisition is never that of other work, however old the record is, or the reply that has the number, and
/// needs not be taken back (docs/decisions/0046). All under the client's lock; `now` is the time of the
/// event.
class held_traces {
 public:
  /// `write` writes the record, which asks say(). False: not now, but it is written later anyway. Null: there
  /// is no record.
  held_traces(reactor::loop& loop, std::function<bool(time_point)> write);

  /// There is work with that trace, if it is one: this client says traces from here on.
  void asked(std::string_view trace) noexcept;
  /// Without memory its trace stays unknown.
  void begun(lease_state& lease, std::string_view trace, time_point now) noexcept;
  void ended(lease_state const& lease, time_point now) noexcept;
  /// See moments::goes_on_as.
  void goes_on_as(lease_state const& old, lease_state& next) noexcept;

  /// For the record: "17=00-4bf9… 23=00-5ac0…"; "-" if there is nothing to say now; empty if there never was
  /// a trace. From here on those leases count as said.
  [[nodiscard]] std::string say(time_point now);

  // Empty: unknown. May throw std::bad_alloc.
  [[nodiscard]] std::string of(lease_state const& lease) const;
  /// Of the lease that has this number now.
  [[nodiscard]] std::string of(std::uint64_t number) const;

 private:
  struct entry
      : boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
    entry(lease_state& held, std::string_view of_its_work, time_point begun_at)
        : lease{&held}, trace{of_its_work}, since{begun_at} {}
    lease_state* lease;
    std::string trace;
    time_point since;
  };

  template <class F>
  void for_each_of_oldest(F f) const;
  void look(time_point now);

  reactor::loop& loop_;
  std::function<bool(time_point)> write_;
  bool traced_ = false;                             ///< some work had a trace
  std::unordered_map<std::uint64_t, entry> known_;  ///< by number
  /// Of those that may be said, the oldest first.
  boost::intrusive::list<entry, boost::intrusive::constant_time_size<false>> by_age_;
  reactor::timer timer_;  ///< armed while one of the oldest isn't said
};

}  // namespace holdfast::engine
