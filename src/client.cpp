// Makes an engine of a URL. The only file that knows every layer.

#include <algorithm>
#include <atomic>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <cstdlib>
#include <holdfast/client.hpp>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/fork.hpp"
#include "base/ranges.hpp"
#include "engine/core.hpp"
#include "net/deployment_url.hpp"
#include "topology/make_deployment.hpp"

namespace holdfast {
namespace {

/// All clients of the process, for exit(). Also keeps the engines that are never destroyed reachable: in a
/// forked child the engines of its parent, and engines with a thread inside a callback. Made with the first
/// client and never destroyed: it is used after everything else is destroyed. No static of a function: a
/// child that is forked while another thread initializes that would wait for ever.
struct registry {
  /// A client that a thread is destroying.
  struct ending_client {
    engine::core const* core;
    std::thread::id thread;
  };

  std::unordered_map<engine::core const*, std::weak_ptr<engine::core>> cores;
  std::vector<ending_client> ending;  // has room, too
  // Both have room for one more than there are clients: neither ~client() nor exit() may fail.
  std::vector<std::shared_ptr<engine::core>> kept;
  std::vector<std::shared_ptr<engine::core>> at_exit;

  void add(std::shared_ptr<engine::core> const& core) {
    kept.reserve(kept.size() + cores.size() + 1);
    at_exit.reserve(cores.size() + 1);
    ending.reserve(ending.size() + cores.size() + 1);
    cores.emplace(core.get(), core);
  }
};
constinit registry* all_clients = nullptr;

/// exit() runs handlers and destroys static objects in the opposite order of their registration. So that the
/// handler comes before the destructor of a client that is a static object, it is registered when that is
/// used for the first time, again for each client; but entries are never freed, so not for ever.
constexpr int most_registrations = 1024;
constinit std::atomic<int> registrations{0};

/// The longest wait of exit() for threads that destroy clients.
constexpr std::chrono::seconds wait_for_ending{1};

std::mutex& registry_guard() noexcept { return guard_across_fork(static_cast<void const*>(&all_clients)); }

/// Clients that other threads are destroying: these give back what is held.
bool others_end_clients() noexcept {
  std::lock_guard const hold{registry_guard()};
  return std::ranges::any_of(all_clients->ending, [](registry::ending_client const& each) {
    return each.thread != std::this_thread::get_id() && !each.core->constants().forked();
  });
}

/// exit() doesn't destroy objects on the stacks of threads: gives their locks back, so that others needn't
/// wait for the ttl.
void release_at_exit() noexcept {
  std::vector<std::shared_ptr<engine::core>> cores;  // shared: another thread may be destroying its client
  {
    std::lock_guard const hold{registry_guard()};
    cores.swap(all_clients->at_exit);
    for (auto const& [key, core] : all_clients->cores) {
      if (auto still = core.lock()) cores.push_back(std::move(still));
    }
    all_clients->cores.clear();  // once for each, however often this is registered
  }
  // Each step for all clients: a thread of one may wait for a lock of another. All share the time bound.
  for (auto const& core : cores) core->begin_exit();
  for (auto const& core : cores) core->give_all_back();
  auto const begun = boot_clock::now();
  for (auto const& core : cores) core->await_given_back(begun);
  // There is nobody to wake this thread: those threads may be at their last steps.
  while (others_end_clients() && boot_clock::now() < begun + wait_for_ending)
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  cores.clear();
  std::lock_guard const hold{registry_guard()};
  all_clients->at_exit.swap(cores);  // its room, for those that are made while exit() goes on
}

/// With registry_guard() held.
registry& living() {
  if (all_clients == nullptr) all_clients = new registry;
  return *all_clients;
}

/// Without registry_guard(): it is called with the mutex of a loop held, and a fork takes that guard among
/// others.
void register_exit() {
  if (registrations.load(std::memory_order_relaxed) >= most_registrations) return;
  if (std::atexit(release_at_exit) == 0) registrations.fetch_add(1, std::memory_order_relaxed);
}

void check(bool fine, char const* message) {
  if (!fine) throw error{std::errc::invalid_argument, message};
}

void check(client_options const& options) {
  check(options.name.find_first_of(" \n") == std::string::npos, "client_options::name must not have spaces");
  check(options.label.size() <= 200, "client_options::label must have at most 200 bytes");
  ranges::check(options, ranges::of_clients,
                [](char const* option) { return std::string{"client_options::"} + option; });
  check(options.max_reply_bytes >= 65536, "client_options::max_reply_bytes must be at least 65536");
}

/// A client needs a few descriptors. Turns the errors of the libraries that can't get one into our own.
std::shared_ptr<engine::core> make_core(net::deployment_url url, client_options options,
                                        std::shared_ptr<event_loop> outer) {
  auto const display = url.server.display;
  auto const refused = [&display](std::error_code code) {
    auto const descriptors =
        code == std::errc::too_many_files_open || code == std::errc::too_many_files_open_in_system;
    return error{code, display + ": the client can't be made (" + code.message() + ")" +
                           (descriptors ? "; raise the number of files that this process may have open "
                                          "(ulimit -n), or close others: it takes four, and one for each "
                                          "connection"
                                        : "")};
  };
  try {
    return std::make_shared<engine::core>(std::move(url), std::move(options), topology::make_deployment,
                                          std::move(outer));
  } catch (error const&) {
    throw;
  } catch (std::system_error const& failure) {
    throw refused(failure.code());
  } catch (boost::system::system_error const& failure) {
    throw refused(failure.code());
  }
}

}  // namespace

client::client(std::string const& url, client_options options) { make(url, std::move(options), nullptr); }

client::client(std::string const& url, client_options options, std::shared_ptr<event_loop> runs_on) {
  check(runs_on != nullptr, "a client needs an event loop to run on, or none to have a thread");
  make(url, std::move(options), std::move(runs_on));
}

void client::make(std::string const& url, client_options&& options, std::shared_ptr<event_loop>&& runs_on) {
  check(options);
  core_ = make_core(net::parse_deployment_url(url), std::move(options), std::move(runs_on));
  core_->at_first_use(register_exit);
  std::lock_guard const hold{registry_guard()};
  living().add(core_);
}

client::~client() {
  if (!core_) return;
  if (core_->constants().forked()) {
    // A copy of the parent's engine and its connections: to touch any of it would disturb the parent.
    std::lock_guard const hold{registry_guard()};
    living().kept.push_back(std::move(core_));
    return;
  }
  {
    std::lock_guard const hold{registry_guard()};
    living().cores.erase(core_.get());
    living().ending.push_back({core_.get(), std::this_thread::get_id()});
  }
  bool const alone = core_->shut();
  std::lock_guard const hold{registry_guard()};
  std::erase_if(living().ending,
                [this](registry::ending_client const& each) { return each.core == core_.get(); });
  if (!alone) living().kept.push_back(std::move(core_));
}

client::client(client&&) noexcept = default;

client& client::operator=(client&& other) noexcept {
  if (this != &other) {
    client const old{std::move(*this)};
    core_ = std::move(other.core_);
  }
  return *this;
}

void client::connect() { core_->requests().connect(); }

bool client::shutdown_within(std::chrono::nanoseconds drain) { return core_->shut_down_within(drain); }

std::string const& client::url() const noexcept { return core_->constants().url; }

std::string const& client::uuid() const noexcept { return core_->constants().uuid; }

client_stats client::stats() const { return core_->stats(); }

}  // namespace holdfast
