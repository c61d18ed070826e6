/// A deployment in memory: a server, the connections to it, and what a test does to both.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "memory/server.hpp"

namespace holdfast::memory {

/// A connection, as its node sees it. All with the guard of the node held.
class connection {
 public:
  connection() = default;
  connection(connection const&) = delete;
  connection& operator=(connection const&) = delete;
  virtual ~connection() = default;

  [[nodiscard]] virtual std::uint64_t number() const noexcept = 0;
  [[nodiscard]] virtual bool subscribed() const noexcept = 0;
  /// Its line in CLIENT LIST.
  [[nodiscard]] virtual std::string info() const = 0;
  /// The server ends it: what the client hasn't read yet is lost.
  virtual void end() = 0;
  /// Trouble is over.
  virtual void go_on() = 0;
};

/// What may be wrong with a server, for as long as a test likes.
enum class trouble : std::uint8_t {
  paused,       ///< it reads no request
  silent,       ///< it executes requests, and nothing leaves it: neither replies nor messages
  refusing,     ///< it replies to each request with an error
  unreachable,  ///< there are no connections to it
};

/// Known by its name from its beginning to its end. Thread-safe; what says so is called with the guard held.
class node {
 public:
  /// Throws std::invalid_argument if there is one of that name. `replicas`: what WAIT is told.
  node(std::string name, int replicas);
  ~node();
  node(node const&) = delete;
  node& operator=(node const&) = delete;

  /// Null: there is none.
  [[nodiscard]] static std::shared_ptr<node> find(std::string_view name);
  /// Makes it known; there must be a shared pointer to it.
  static std::shared_ptr<node> make(std::string name, int replicas);

  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  [[nodiscard]] int replicas() const noexcept { return replicas_; }
  [[nodiscard]] std::mutex& guard() noexcept { return guard_; }

  // With the guard held.

  [[nodiscard]] memory::server& server() noexcept { return server_; }
  [[nodiscard]] bool is(trouble which) const noexcept { return troubles_[index(which)] != 0; }
  [[nodiscard]] std::string const& refusal() const noexcept { return refusal_; }
  [[nodiscard]] bool over() const noexcept { return over_; }
  /// Returns the number of the connection.
  std::uint64_t join(connection& newcomer);
  void leave(connection& leaver) noexcept;
  /// The connection of that number; null: there is none.
  [[nodiscard]] connection* find_connection(std::uint64_t number) const noexcept;
  /// CLIENT LIST of those with subscriptions, or of those without.
  [[nodiscard]] std::string list_of(bool subscribed) const;

  // For a test.

  /// `refusal`: the error of a server that is refusing.
  void begin(trouble which, std::string refusal = {});
  void end(trouble which);
  resp::reply execute(std::initializer_list<std::string_view> words);
  [[nodiscard]] std::vector<std::string> keys();
  void break_connections();
  /// Without data and scripts, and with all connections broken.
  void start_again();
  void forget_scripts();
  /// Its name is free, and clients get an error for each request: one that ends later needn't wait for a
  /// server that is gone. Their connections break when there is a deployment of that name again.
  void shut();

 private:
  static constexpr std::size_t index(trouble which) noexcept { return static_cast<std::size_t>(which); }
  void end_all();
  void wake_all();

  std::string const name_;
  int const replicas_;
  std::mutex guard_;
  std::uint64_t starts_ = 1;
  memory::server server_;
  std::array<int, 4> troubles_{};
  std::string refusal_{};
  bool over_ = false;  ///< see shut(); refusing for ever
  std::uint64_t last_number_ = 0;
  std::vector<connection*> connections_{};
};

}  // namespace holdfast::memory
