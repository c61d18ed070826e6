// The public side of deployments in memory: holdfast/testing.hpp.

#include <link.h>

#include <algorithm>
#include <holdfast/testing.hpp>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "memory/node.hpp"
#include "memory/transport.hpp"

namespace holdfast::memory {
namespace {

bool fits_a_url(std::string const& name) {
  return std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

/// The clients of a shared library have a loop, a clock and URLs of their own, and know of no deployment.
bool has_shared_library() {
  return ::dl_iterate_phdr(
             [](dl_phdr_info* file, std::size_t, void*) {
               return int{std::string_view{file->dlpi_name}.find("/libholdfast.so") !=
                          std::string_view::npos};
             },
             nullptr) != 0;
}

fault fault_of(std::shared_ptr<node> const& at, trouble which, std::string refusal = {}) {
  at->begin(which, std::move(refusal));
  return fault{[at, which] { at->end(which); }};
}

}  // namespace

deployment::deployment() : deployment{options{}} {}

deployment::deployment(options given) {
  if (!fits_a_url(given.name)) {
    throw std::invalid_argument{"memory::deployment: the name may have letters, digits, '-', '_' and '.', " +
                                ("and not as in " + given.name)};
  }
  if (given.replicas < 0) throw std::invalid_argument{"memory::deployment: replicas must be 0 or more"};
  if (has_shared_library()) {
    throw std::logic_error{
        "memory::deployment: this program has Holdfast twice, in libholdfast.so and from holdfast::testing; "
        "link "
        "what it tests with holdfast::static"};
  }
  node_ = node::make(std::move(given.name), given.replicas);
  serve_urls();
}

deployment::~deployment() { node_->shut(); }

std::string deployment::url() const { return "memory://" + node_->name(); }

bool deployment::lose(std::string_view name) { return node_->execute({"DEL", name}).integer != 0; }

void deployment::restart_empty() { node_->start_again(); }
void deployment::break_connections() { node_->break_connections(); }
void deployment::forget_scripts() { node_->forget_scripts(); }

fault deployment::pause() { return fault_of(node_, trouble::paused); }
fault deployment::hold_replies() { return fault_of(node_, trouble::silent); }
fault deployment::refuse(std::string error) { return fault_of(node_, trouble::refusing, std::move(error)); }
fault deployment::unreachable() { return fault_of(node_, trouble::unreachable); }

std::vector<std::string> deployment::keys() const { return node_->keys(); }

bool until(std::function<bool()> const& f, std::chrono::milliseconds at_most) {
  auto const end = std::chrono::steady_clock::now() + at_most;
  while (!f()) {
    if (std::chrono::steady_clock::now() >= end) return f();
    std::this_thread::sleep_for(std::chrono::microseconds{200});
  }
  return true;
}

}  // namespace holdfast::memory
