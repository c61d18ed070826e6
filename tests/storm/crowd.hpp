/// The workers of an arena.
#pragma once

#include "board.hpp"
#include "dice.hpp"

#include "support/process.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::storm {

struct crowd_options {
  std::filesystem::path folder{};
  int workers = 4;
  int threads = 3;
  int sprinters = 2;
  std::string kinds{"all"};
  bool lasting = false;  ///< they end at the end only, measure themselves, and write no histories
  std::function<std::string(int worker)> url{};
};

/// For the thread that made it: its processes die with that thread.
class crowd {
 public:
  crowd(crowd_options options, dice choices);

  [[nodiscard]] int size() const { return options_.workers; }
  void kill(int worker);
  void freeze(int worker);
  void thaw(int worker);
  /// Starts those that have ended, by a fault or by themselves, and notes what went wrong: of those that
  /// should last, that they ended.
  void look();
  /// Ends all of them in order.
  void finish();

  /// What went wrong, a line each.
  [[nodiscard]] std::vector<std::string> const& problems() const { return problems_; }
  [[nodiscard]] board_content const& content() const { return board_.content(); }
  /// Of all processes there were. To be called when all have ended: drops the half line that a kill may have
  /// left at the end of one.
  [[nodiscard]] std::vector<std::string> histories() const;
  /// The newest token of each fenced name, with the store: whether it refuses an older one.
  [[nodiscard]] bool store_refuses_older_tokens() const;

 private:
  struct member {
    std::unique_ptr<test::process> process{};
    int spawned = 0;
    bool killed = false;
    bool frozen = false;
  };
  void spawn(int worker);
  void note_end(member& of, int worker, int code);

  crowd_options options_;
  dice dice_;
  board board_;
  std::vector<member> members_;
  std::vector<std::string> problems_;
};

}  // namespace holdfast::storm
