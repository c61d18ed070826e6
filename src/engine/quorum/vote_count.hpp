/// What several masters say of leases that were released or renewed.
#pragma once

#include <functional>
#include <vector>

#include "engine/quorum/ballot.hpp"
#include "engine/quorum/quorum.hpp"

namespace holdfast::engine {

/// Over as soon as a majority has spoken for each lease, or can't be had; no later than the slowest master
/// that is there has answered, or has let its time pass. Of a last word, which isn't asked for again, more
/// depends: whoever falls silent then is waited for as long as a single server would be.
class quorum::vote_count final : public fan_out {
 public:
  /// How one master found each lease; empty: it didn't say.
  using reader = std::function<std::vector<ownership>(net::response const&)>;

  struct result {
    std::vector<ownership> leases{};         ///< unknown, until there is more to say
    time_point sent_at = time_point::max();  ///< the earliest of the requests that count
    resp::reply refusal{};                   ///< the last
  };

  /// `gone`: a master doesn't know a lease that a majority knows.
  struct events {
    callback<void(result&&)> done;
    std::function<void(std::size_t who, std::size_t lease)> gone;
  };

  enum class word { one_of_many, last };

  vote_count(quorum& home, std::size_t leases, word which, reader read, events tell);

  /// Of all masters those that `wanted` says. Throws std::bad_alloc when they can't all be asked: then nobody
  /// hears of those that could.
  template <class Wanted>
  void ask_all(Wanted wanted, call const& what, scripting::send_options patience) {
    auto const me = shared_from_this();
    try {
      for (std::size_t i = 0; i != masters(); ++i) {
        if (wanted(i)) ask(i, what, patience);
      }
    } catch (...) {
      over_ = true;
      tell_ = {};
      throw;
    }
    count();
  }

 private:
  void ask(std::size_t who, call const& what, scripting::send_options patience);
  /// All have been asked.
  void count();

  struct lease {
    std::size_t mine = 0;
    std::size_t gone = 0;
    std::size_t foreign = 0;
    std::vector<std::size_t> gone_at{};
  };

  void answered(question what, net::response&& how) override;
  void overdue(std::size_t who) override;
  void give_up() noexcept override;
  [[nodiscard]] ownership say(lease const& what) const noexcept;
  void tell_gone();

  quorum& backend_;
  word const which_;
  reader read_;
  events tell_;
  time_point const begun_ = boot_clock::now();
  std::vector<bool> expected_;  ///< masters that were there when they were asked, and have time left
  bool asked_ = false;
  bool over_ = false;
  std::vector<lease> leases_;
  result result_;
};

}  // namespace holdfast::engine
