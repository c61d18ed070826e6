/// The arithmetic of what has no leases: permits of a semaphore, the count of a latch, the parties of a
/// barrier.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>

#include "judge/state.hpp"

namespace holdfast::judging {

/// What is about to be given, counted or set was told before the request was sent; what was got, after the
/// answer. So the true number was never below what is known here. A name whose number was set before the
/// history began isn't judged.
class numbers {
 public:
  explicit numbers(state& all) : state_{all} {}

  /// A line about a number.
  void changed(record const& line);
  /// A caller comes.
  void asked(wait_state const& wait, std::int64_t parties);
  /// It has what it wanted, for good.
  void taken(wait_state const& wait, record const& line);

 private:
  struct latch {
    bool known = false;                               ///< it was set, and nobody could pass from then on
    std::int64_t left = 0;                            ///< to be counted down at least
    std::map<std::uint32_t, std::int64_t> counted{};  ///< since these clients were about to set it
    place set{};
    std::uint32_t set_by = 0;
  };
  /// What a client has given back, and the server may not have carried out yet.
  class returns {
   public:
    void add(instant at, std::int64_t number);
    /// The server has answered what was asked then: what was sent before is done.
    void answered(instant asked);
    [[nodiscard]] std::int64_t all() const noexcept;

   private:
    struct entry {
      instant at = 0;
      std::int64_t number = 0;
    };
    std::deque<entry> open_{};
  };
  struct permits {
    bool known = false;
    std::int64_t number = 0;
    std::int64_t out = 0;
    std::int64_t most = 0;                ///< of that
    std::int64_t out_since = 0;           ///< since somebody was last about to set the number
    std::int64_t most_since = 0;          ///< of that
    std::int64_t on_their_way = 0;        ///< given back when the number was set, maybe not carried out yet
    std::int64_t on_their_way_since = 0;  ///< when somebody was last about to set it
    std::map<std::uint32_t, returns> of_client{};
    place set{};
    std::uint32_t set_by = 0;
  };
  struct barrier {
    std::int64_t parties = 0;
    std::int64_t asked = 0;
    std::int64_t passed = 0;
    struct generation {
      std::int64_t passed = 0;
      instant since = 0;
    };
    std::map<std::int64_t, generation> of_generation{};
  };
  void set_latch(latch& to, record const& line);
  void set_permits(permits& to, record const& line, std::uint32_t name);
  void check_permits(permits const& of, std::uint32_t name, std::uint32_t client, place const& at);
  void pass_latch(latch const& of, std::uint32_t name, wait_state const& wait, record const& line);
  void pass_barrier(barrier& of, std::uint32_t name, wait_state const& wait, record const& line);
  /// `since`: trouble from there on is an excuse, as is what is explained; it is documented then.
  void add(std::string text, instant since, std::uint32_t set_by, place const& set, wait_state const* wait,
           std::uint32_t client, place const& at, std::string_view problem, bool explained = false);

  state& state_;
  std::unordered_map<std::uint32_t, latch> latches_;
  std::unordered_map<std::uint32_t, permits> permits_;
  std::unordered_map<std::uint32_t, barrier> barriers_;
};

}  // namespace holdfast::judging
