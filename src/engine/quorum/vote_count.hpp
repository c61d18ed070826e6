/// Counts what several masters answer about leases that were released or renewed.
#pragma once

#include <functional>
#include <vector>

#include "engine/quorum/ballot.hpp"
#include "engine/quorum/masters.hpp"

namespace holdfast::engine {

/// How a majority found leases.
struct joint_result {
  std::vector<ownership> leases{};         ///< unknown where undecided
  time_point sent_at = time_point::max();  ///< the earliest of the requests that count
  std::string refusal{};                   ///< the words of the last master that refused
};

/// How one master found each lease; empty: it didn't say.
using vote_reader = std::function<std::vector<ownership>(net::response&&)>;

/// Ends as soon as each lease is decided by a majority, or can't be; at the latest when each master that is
/// present has answered, or its time is up. More depends on a last request: it waits for a silent master as
/// long as for a single server, and asks a master that refuses again, for as long as the request is worth
/// sending. A refusal that passes is waited out.
class vote_count final : public fan_out {
 public:
  /// `gone`: a master doesn't know a lease that a majority knows.
  struct events {
    callback<void(joint_result&&)> done{};
    std::function<void(std::size_t master, std::size_t index)> gone{};
  };

  /// The request is one of many about the leases, or the last one.
  enum class finality { one_of_many, last };

  /// `read` may be null, for a request without an outcome.
  vote_count(quorum_masters& quorum, std::size_t leases, finality is_last, call script,
             scripting::send_options send, vote_reader read, events handlers);

  /// Asks all masters that `wanted` selects. Throws std::bad_alloc when one of them can't be asked; then no
  /// handler is called.
  template <class Wanted>
  void ask_all(Wanted wanted) {
    auto const self = shared_from_this();
    try {
      for (std::size_t i = 0; i != masters(); ++i) {
        if (wanted(i)) ask(i);
      }
    } catch (...) {
      over_ = true;
      events_ = {};
      throw;
    }
    count();
  }

 private:
  void ask(std::size_t master);
  void ask_again(std::size_t master);
  /// Only after all have been asked.
  void count();

  struct lease_votes {
    std::size_t given = 0;
    std::size_t gone = 0;
    std::size_t foreign = 0;
    std::vector<std::size_t> gone_masters{};
  };

  void answered(question asked, net::response&& response) override;
  void overdue(std::size_t master) override;
  void give_up() noexcept override;
  [[nodiscard]] ownership decide(lease_votes const& votes) const noexcept;
  void report() noexcept;
  void report_gone();

  quorum_masters& quorum_;
  finality const finality_;
  call const script_;
  scripting::send_options const send_options_;
  vote_reader read_;
  events events_;
  time_point const begun_ = boot_clock::now();
  std::vector<bool> expected_;  ///< masters whose last answer still has time
  std::vector<bool> pausing_;   ///< masters that refused for a time, and will be asked again
  std::vector<bool> copied_;    ///< masters where a copy of a refused request may have been carried out
  bool asked_ = false;
  bool over_ = false;
  std::vector<lease_votes> leases_;
  joint_result result_;
};

/// Gives up the place in the queue of a master that wasn't needed.
void leave_queue(quorum_masters& quorum, std::size_t master, recipe const& lock_recipe, owned lease);

}  // namespace holdfast::engine
