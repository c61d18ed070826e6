/// Says script calls in the commands that a server has: of our module, of its own, or none but these.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <holdfast/client.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "script/call.hpp"
#include "script/capabilities.hpp"
#include "script/form.hpp"
#include "script/preferred_ways.hpp"

namespace holdfast::scripting {

/// Of one client; its connections share it. All under the client's lock.
class command_translator final : public net::translator {
 public:
  /// What the user chose.
  struct choice {
    cas way = cas::automatic;
    script_trial scripts = script_trial::wanted;
  };
  using log_function = std::function<void(log_level, std::string const&)>;
  /// `wake`: see form_context. `log` gets at most one warning, and each change of the way as a debug message.
  command_translator(choice chosen, script const& wake, client_stats& counts, log_function log);

  [[nodiscard]] net::exchange probe() const override { return probe_of(choice_.scripts); }
  [[nodiscard]] std::unique_ptr<net::translation> learn(std::span<resp::reply const> replies) override;

  /// Scripts aren't called: the user said so, or the server refuses them, as the newest connection found.
  [[nodiscard]] bool scriptless() const noexcept { return scriptless_; }
  [[nodiscard]] std::string const& no_scripts_because() const noexcept { return no_scripts_; }
  [[nodiscard]] preferred_ways const& preferred() const noexcept { return preferred_; }

 private:
  class server_translation;

  void warn_once(std::string const& what, std::string_view reason);
  void note(capabilities const& server);

  choice const choice_;
  script const& wake_;
  client_stats& counts_;
  log_function const log_;
  std::string way_;  ///< as it was logged
  bool warned_ = false;
  bool scriptless_;
  bool gone_in_steps_ = false;  ///< some request has: a copy of it may have been carried out in part
  std::string no_scripts_;
  preferred_ways preferred_;
};

/// Locks whose waiters were met a short time ago: they go by script for a while, so that the next of them is
/// told, or granted the lock, in the step that frees it. A small table: of two locks in one place the later
/// one stays. No clock: an entry lasts for a number of requests.
class contended_locks {
 public:
  void note(std::string_view lock) noexcept;
  /// Counts this request.
  [[nodiscard]] bool take(std::string_view lock) noexcept;

 private:
  struct entry {
    std::size_t hash = 0;
    int requests_left = 0;
  };
  static constexpr std::size_t places = 256;
  std::array<entry, places> all_{};
};

}  // namespace holdfast::scripting
