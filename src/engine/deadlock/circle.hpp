/// Threads that wait for locks, and circles of them: what they say, and what follows from it. No I/O, no
/// clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/recipe.hpp"
#include "resp/reply.hpp"
#include "script/call.hpp"

namespace holdfast::engine {

/// A thread's wait, as its client says it beside each lock that the thread holds.
struct blocked_wait {
  std::string id{};                                 ///< "<client uuid>:<n>": of this wait alone
  std::chrono::microseconds since{};                ///< by the server's clock
  engine::blocked_by blocked_by = blocked_by::all;  ///< not unknown
  std::vector<std::string> names{};                 ///< it needs all of these

  /// The text, which is the same through the whole wait.
  [[nodiscard]] std::string to_text() const;
  /// Nullopt: it is something else.
  [[nodiscard]] static std::optional<blocked_wait> from_text(std::string_view text);

  /// Whether it began later; of two that began together one counts as the later one.
  [[nodiscard]] bool younger_than(blocked_wait const& other) const noexcept {
    return since != other.since ? since > other.since : id > other.id;
  }
};

/// A lock whose holder waits for another one.
struct blocked_hold {
  std::string name{};           ///< of the lock
  std::string owner{};          ///< the holder's id
  bool by_readers = false;      ///< others may read it, too
  blocked_wait wait{};          ///< of the thread that can't give it back meanwhile
  std::int64_t statements = 0;  ///< of that wait, so far
};

/// Looks at the holders of a lock.
[[nodiscard]] call look_at_holders(std::string_view name);
/// What it replies: when that was, and the holders that wait. Anything that isn't theirs is left out.
struct blocked_holds {
  std::chrono::microseconds now{};
  std::vector<blocked_hold> all{};
};
[[nodiscard]] blocked_holds read_blocked_holds(std::string_view name, resp::reply const& reply);

/// One reading: goes from a wait to the holders of what it waits for, to what they wait for, and so on, until
/// it comes back to the wait that it began with, or has seen enough.
class circle_search {
 public:
  explicit circle_search(blocked_wait start);

  /// The lock to be looked at next; nullopt: the reading is over.
  [[nodiscard]] std::optional<std::string> next();
  /// What was found there. Must follow each next() that named a lock.
  void found(std::vector<blocked_hold> holds);

  /// After the reading: the holds that lead from the first wait back to it, whose holder is the last one;
  /// empty: none do.
  [[nodiscard]] std::vector<blocked_hold> const& circle() const noexcept { return circle_; }

 private:
  struct visit {
    blocked_wait wait;
    std::size_t before = 0;  ///< in `visits_`
    blocked_hold by{};       ///< the hold that led here
  };
  struct question {
    std::size_t asker;  ///< in `visits_`
    std::string name;
  };
  void visit_all(question const& asked, std::vector<blocked_hold> const& holds);
  void add(visit next);

  std::vector<visit> visits_;
  std::vector<question> questions_;
  std::size_t asked_ = 0;  ///< of `questions_`
  std::map<std::string, std::vector<blocked_hold>, std::less<>> known_;
  std::vector<blocked_hold> circle_;
};

/// What several readings together say. A reading takes time, and what it finds may be over: somebody may have
/// given up, or given a lock back, and the server doesn't know it yet. So a circle counts only if it was
/// there as a whole at one moment, the end of the first reading that found it:
///
/// 1. A second reading, which begins after that moment, finds the same circle, and the number of statements
///    about each wait by then.
/// 2. A later reading finds the same circle, and at least two more statements about each wait. A client makes
///    the second of these when it has heard that the server has the first, so after the second reading: that
///    wait, and that hold, lasted from before the moment until after it. So did the hold by what the lock's
///    key says, since owner ids are never used twice.
class suspicion {
 public:
  enum class step {
    none,        ///< no circle
    read_again,  ///< at once
    wait,        ///< read again later
    certain,     ///< there was a circle, and `own` is the wait that is to end it
  };
  /// The client that ends a circle waits for one statement more than it needs about each wait, so that a
  /// client that only looks sees the circle, too.
  enum class reader { ends_it, looks_at_it };
  /// `circle`: of a reading from the wait `own`. The youngest wait ends a circle. If that doesn't happen,
  /// since its client may not look at all of these locks, say, the next one does so a little later.
  [[nodiscard]] step judge(std::vector<blocked_hold> circle, std::string_view own,
                           reader by = reader::ends_it);

 private:
  std::vector<blocked_hold> suspected_{};
  std::vector<std::int64_t> statements_{};  ///< by the second reading; empty: there was none
};

}  // namespace holdfast::engine
