// The one file that knows every layer: it makes an engine of a URL.

#include <boost/system/system_error.hpp>
#include <cstdlib>
#include <holdfast/client.hpp>
#include <memory>
#include <mutex>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/fork.hpp"
#include "base/ranges.hpp"
#include "engine/core.hpp"
#include "net/deployment_url.hpp"

namespace holdfast {
namespace {

/// All clients of the process, for exit(), and those that are never destroyed, kept where they can be found:
/// in a forked child those of its parent, and at exit() those with a thread inside a callback. Made with the
/// first client and never destroyed: it is used when everything else is. No static of a function: a child
/// that is forked while another thread makes one would wait for it for ever.
struct registry {
  std::unordered_map<engine::core const*, std::weak_ptr<engine::core>> cores;
  // Both with room for one more than there are clients: neither the end of one nor exit() may fail.
  std::vector<std::shared_ptr<engine::core>> kept;
  std::vector<std::shared_ptr<engine::core>> at_exit;

  void add(std::shared_ptr<engine::core> const& one) {
    kept.reserve(kept.size() + cores.size() + 1);
    at_exit.reserve(cores.size() + 1);
    cores.emplace(one.get(), one);
  }
};
constinit registry* all_clients = nullptr;

std::mutex& registry_guard() noexcept { return guard_across_fork(static_cast<void const*>(&all_clients)); }

/// Nobody destroys what exit() leaves on the stacks: gives the locks back, so that others needn't wait for
/// the ttl.
void release_at_exit() noexcept {
  std::vector<std::shared_ptr<engine::core>> cores;  // shared: another thread may be destroying its client
  {
    std::lock_guard const hold{registry_guard()};
    cores.swap(all_clients->at_exit);
    for (auto const& [key, core] : all_clients->cores) {
      if (auto still = core.lock()) cores.push_back(std::move(still));
    }
  }
  // Step by step: what one gives back another one's thread may be waiting for; and all share the bound.
  for (auto const& core : cores) core->begin_exit();
  for (auto const& core : cores) core->give_all_back();
  auto const begun = boot_clock::now();
  for (auto const& core : cores) core->await_given_back(begun);
}

/// Under the guard.
registry& living() {
  if (all_clients == nullptr) {
    all_clients = new registry;
    std::atexit(release_at_exit);
  }
  return *all_clients;
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

/// What a client is made of takes a few descriptors. Whatever can't be had is an error of ours, and not of
/// the library that asked for it.
std::shared_ptr<engine::core> make_core(net::deployment_url where, client_options options) {
  auto const url = where.server.display;
  auto const refused = [&url](std::error_code why) {
    auto const descriptors =
        why == std::errc::too_many_files_open || why == std::errc::too_many_files_open_in_system;
    return error{why, url + ": the client can't be made (" + why.message() + ")" +
                          (descriptors ? "; raise the number of files that this process may have open "
                                         "(ulimit -n), or close others: it takes four, and one for each "
                                         "connection"
                                       : "")};
  };
  try {
    return std::make_shared<engine::core>(std::move(where), std::move(options));
  } catch (error const&) {
    throw;
  } catch (std::system_error const& why) {
    throw refused(why.code());
  } catch (boost::system::system_error const& why) {
    throw refused(why.code());
  }
}

}  // namespace

client::client(std::string const& url, client_options options) {
  check(options);
  core_ = make_core(net::parse_deployment_url(url), std::move(options));
  std::lock_guard const hold{registry_guard()};
  living().add(core_);
}

client::~client() {
  if (!core_) return;
  if (core_->forked()) {
    // A copy of the parent's, with its connections: to touch any of it would disturb the parent.
    std::lock_guard const hold{registry_guard()};
    living().kept.push_back(std::move(core_));
    return;
  }
  {
    std::lock_guard const hold{registry_guard()};
    living().cores.erase(core_.get());
  }
  if (core_->shut()) return;
  std::lock_guard const hold{registry_guard()};
  living().kept.push_back(std::move(core_));
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
