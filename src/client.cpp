// The one file that knows every layer: it makes an engine of a URL.

#include <holdfast/client.hpp>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ranges.hpp"
#include "engine/core.hpp"
#include "net/place.hpp"

namespace holdfast {
namespace {

/// All clients of the process, for exit(). Never destroyed: it is used when everything else is.
struct registry {
  std::mutex guard;
  std::unordered_map<engine::core const*, std::weak_ptr<engine::core>> cores;
};

registry& living() {
  static auto* const all = [] {
    std::atexit([] {
      // Nobody destroys what exit() leaves on the stacks: give the locks back here, so that others needn't
      // wait for the ttl.
      // Shared: another thread may be destroying its client.
      std::vector<std::shared_ptr<engine::core>> cores;
      {
        std::lock_guard const hold{living().guard};
        for (auto const& [key, core] : living().cores) {
          if (auto still = core.lock()) cores.push_back(std::move(still));
        }
      }
      for (auto const& core : cores) core->release_all();
    });
    return new registry;
  }();
  return *all;
}

/// What a forked child has of its parent's: kept where it can be found, and never destroyed.
std::vector<std::shared_ptr<engine::core>>& untouched() {
  static auto* const all = new std::vector<std::shared_ptr<engine::core>>;
  return *all;
}

void check(bool fine, char const* what) {
  if (!fine) throw error{std::errc::invalid_argument, what};
}

void check(client_options const& options) {
  check(options.name.find_first_of(" \n") == std::string::npos, "client_options::name must not have spaces");
  check(options.label.size() <= 200, "client_options::label must have at most 200 bytes");
  ranges::check(options, ranges::of_clients,
                [](char const* option) { return std::string{"client_options::"} + option; });
  check(options.max_reply_bytes >= 65536, "client_options::max_reply_bytes must be at least 65536");
}

}  // namespace

client::client(std::string const& url, client_options options) {
  check(options);
  core_ = std::make_shared<engine::core>(net::parse_place(url), std::move(options));
  std::lock_guard const hold{living().guard};
  living().cores.emplace(core_.get(), core_);
}

client::~client() {
  if (!core_) return;
  if (core_->forked()) {
    // A copy of the parent's, with its connections: to touch any of it would disturb the parent.
    untouched().push_back(std::move(core_));
    return;
  }
  {
    std::lock_guard const hold{living().guard};
    living().cores.erase(core_.get());
  }
  core_->shut();
}

client::client(client&&) noexcept = default;

client& client::operator=(client&& other) noexcept {
  if (this != &other) {
    client const old{std::move(*this)};
    core_ = std::move(other.core_);
  }
  return *this;
}

void client::connect() { core_->connect(); }

std::string const& client::url() const noexcept { return core_->url(); }

std::string const& client::uuid() const noexcept { return core_->uuid(); }

client_stats client::stats() const { return core_->stats(); }

}  // namespace holdfast
