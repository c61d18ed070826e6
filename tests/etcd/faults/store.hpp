/// An etcd in memory, in place of the shared object that speaks gRPC: what real members do in a moment that
/// no test can hold them in happens here when the test says so.
#pragma once

#include "etcd/channel.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {

/// Thread-safe. One for the whole program, since that is where the library finds it.
class store {
 public:
  /// The term in which transactions are answered, and that in which keep-alives are.
  void set_terms(std::uint64_t of_transactions, std::uint64_t of_keep_alives);
  /// The next transaction that puts a key is left without an answer, and isn't carried out yet. Another
  /// program makes that key meanwhile, unless it's empty.
  void hold_back_next_put(std::string const& meanwhile = {});
  [[nodiscard]] bool holds_back() const;
  /// Carries it out: it was on its way for long. Somebody adds these words to the value of the key at once.
  void carry_out(std::string const& added = {});
  /// False: requests for a lease get no answer.
  void answer_grants(bool answered);
  [[nodiscard]] int grants_without_answer() const;
  /// Of that client and all others: a member has stopped.
  void end_watches();

  /// By another program.
  void remove(std::string const& key);

  [[nodiscard]] std::vector<std::string> keys(std::string const& prefix) const;
  /// Of the key that begins so.
  [[nodiscard]] std::int64_t lease_of(std::string const& prefix) const;
  [[nodiscard]] bool has_lease(std::int64_t lease) const;

  // For the channel.
  void note_watch(std::uint64_t number, std::function<void()> end);
  void forget_watch(std::uint64_t number);
  [[nodiscard]] std::optional<etcd::outcome> transact(etcd::transaction const& request);
  [[nodiscard]] std::optional<etcd::lease_grant> grant(std::chrono::seconds ttl);
  void revoke(std::int64_t lease);
  /// Zero: there is no such lease.
  [[nodiscard]] std::chrono::seconds keep_alive(std::int64_t lease) const;
  [[nodiscard]] std::uint64_t term_of_keep_alives() const;

 private:
  [[nodiscard]] bool holds(etcd::condition const& wanted) const;
  [[nodiscard]] etcd::found carry_out(etcd::operation const& one);
  [[nodiscard]] etcd::outcome carry_out(etcd::transaction const& request);

  mutable std::mutex guard_;
  std::map<std::string, etcd::key_value> keys_;
  std::map<std::int64_t, std::chrono::seconds> leases_;
  std::map<std::uint64_t, std::function<void()>> watches_;  ///< what ends them
  std::int64_t revision_ = 1;
  std::int64_t last_lease_ = 0x100;
  std::uint64_t term_ = 1;
  std::uint64_t keep_alive_term_ = 1;
  bool holds_next_back_ = false;
  std::string meanwhile_{};
  bool answers_grants_ = true;
  int grants_without_answer_ = 0;
  std::optional<etcd::transaction> held_back_;
};

[[nodiscard]] store& the_store();

}  // namespace holdfast::test
