/// An etcd in memory, in place of the shared object that speaks gRPC: what real members do in a moment that
/// no test can hold them in happens here when the test says so.
#pragma once

#include "etcd/channel.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {

/// Thread-safe. One for the whole program, since that is where the library finds it.
class store {
 public:
  /// The term in which transactions are answered, and that in which keep-alives are.
  void set_terms(std::uint64_t of_transactions, std::uint64_t of_keep_alives);
  /// What becomes of a transaction.
  enum class fate : std::uint8_t {
    answered,   ///< as usual
    held_back,  ///< it gets no answer, and isn't carried out yet
    lost,       ///< it is carried out, and its answer is lost
    refused,    ///< for want of rights
    no_lease,   ///< its lease has ended
  };
  /// The next one that puts a key, and has no fate yet, gets that. Another program does that behind it.
  void next_put(fate what, std::optional<etcd::operation> meanwhile = {});
  /// fate::held_back; another program makes that key meanwhile, unless it's empty.
  void hold_back_next_put(std::string const& meanwhile = {});
  /// The same of a transaction that deletes keys and puts none.
  void next_removal(fate what);
  /// Called when that arrives.
  void before_next_removal(std::function<void()> f);
  /// All those have been made since that were to get a fate.
  [[nodiscard]] bool are_decided() const;
  [[nodiscard]] bool holds_back() const;
  /// Behind the next one that has a fate, another program gives that key the value that `to` makes of its old
  /// one.
  void change_meanwhile(std::string const& key, std::function<std::string(std::string const&)> to);
  /// The next transaction that puts no key is refused for want of rights.
  void refuse_next_read();
  /// Another program puts those keys, one behind each of the next transactions that put none.
  void put_behind_reads(std::vector<std::string> keys);
  /// Carries it out: it was on its way for long. Somebody adds these words to the value of the key at once.
  void carry_out(std::string const& added = {});
  /// False: no transaction gets an answer, nor is it carried out.
  void answer_transactions(bool answered);
  [[nodiscard]] int transactions_without_answer() const;
  /// Before each transaction that puts keys another program does that.
  void before_puts(std::function<etcd::operation()> deed);
  /// False: requests for a lease get no answer.
  void answer_grants(bool answered);
  [[nodiscard]] int grants_without_answer() const;
  /// True: keep-alives get no answer until answer_keep_alive().
  void hold_keep_alives(bool held);
  [[nodiscard]] std::size_t held_keep_alives() const;
  /// The oldest of those that are held.
  void answer_keep_alive();
  /// Of that client and all others: a member has stopped.
  void end_watches();
  /// From now on watches of keys that begin so are told of their end; others never are.
  void tell_of(std::string beginning);
  /// How many wait for the end of that key; its holder watches it for any change.
  [[nodiscard]] std::int64_t watchers(std::string const& key) const;

  /// By another program.
  void remove(std::string const& key);
  /// The same: it adds these words to the value of that key.
  void add_to(std::string const& key, std::string const& words);

  [[nodiscard]] std::vector<std::string> keys(std::string const& prefix) const;
  /// Empty: there is no such key.
  [[nodiscard]] std::string value(std::string const& key) const;
  /// Of the key that begins so.
  [[nodiscard]] std::int64_t lease_of(std::string const& prefix) const;
  [[nodiscard]] bool has_lease(std::int64_t lease) const;

  // For the channel.
  struct watch {
    std::string key{};
    etcd::channel::interest wanted = etcd::channel::interest::deletion;
    std::function<void()> deleted{};
    std::function<void()> end{};  ///< ends it
    void const* of = nullptr;     ///< the channel, each of which has its own numbers
  };
  void note_watch(std::uint64_t number, watch added);
  void forget_watch(void const* of, std::uint64_t number);
  /// Nothing: it gets no answer.
  [[nodiscard]] std::optional<std::pair<etcd::status, etcd::outcome>> transact(
      etcd::transaction const& request);
  [[nodiscard]] std::optional<etcd::lease_grant> grant(std::chrono::seconds ttl);
  void revoke(std::int64_t lease);
  /// Zero: there is no such lease.
  [[nodiscard]] std::chrono::seconds ttl_of(std::int64_t lease) const;
  [[nodiscard]] std::uint64_t term_of_keep_alives() const;
  /// True: `answer` is called later.
  [[nodiscard]] bool hold_keep_alive(std::function<void()> answer);

 private:
  [[nodiscard]] bool holds(etcd::condition const& wanted) const;
  [[nodiscard]] etcd::found carry_out(etcd::operation const& one);
  [[nodiscard]] std::pair<etcd::status, etcd::outcome> carry_out(etcd::transaction const& request);
  void do_meanwhile();
  void erase(etcd::remove const& gone);

  mutable std::mutex guard_;
  std::map<std::string, etcd::key_value> keys_;
  std::map<std::int64_t, std::chrono::seconds> leases_;
  std::map<std::pair<void const*, std::uint64_t>, watch> watches_;
  std::int64_t revision_ = 1;
  std::int64_t last_lease_ = 0x100;
  std::uint64_t term_ = 1;
  std::uint64_t keep_alive_term_ = 1;
  struct planned_fate {
    fate what = fate::held_back;
    std::optional<etcd::operation> meanwhile{};
  };
  enum class kind : std::uint8_t { read, put, removal };
  [[nodiscard]] static kind kind_of(etcd::transaction const& request);

  std::map<kind, std::deque<planned_fate>> fates_;
  std::string changed_meanwhile_{};  ///< a key; empty: none
  std::function<std::string(std::string const&)> change_{};
  std::vector<std::string> behind_reads_;
  std::optional<std::string> told_of_{};
  std::function<void()> before_removal_;
  bool refuses_next_read_ = false;
  bool holds_keep_alives_ = false;
  std::deque<std::function<void()>> keep_alives_;
  bool answers_transactions_ = true;
  int transactions_without_answer_ = 0;
  std::function<etcd::operation()> before_puts_{};
  bool answers_grants_ = true;
  int grants_without_answer_ = 0;
  std::optional<etcd::transaction> held_back_;
};

[[nodiscard]] store& the_store();

}  // namespace holdfast::test
