#include "engine/quorum/node.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "resp/command.hpp"

namespace holdfast::engine {
namespace {

/// How long to wait for a master that usually answers at once. Longer than a scheduling delay.
constexpr std::chrono::milliseconds least_limit{50};
constexpr std::chrono::milliseconds most_limit{1000};
/// Before the first answer a connection must be made.
constexpr std::chrono::milliseconds first_limit{500};
constexpr int times_usual_answer = 10;
/// Before the next probe, when there was no memory for one.
constexpr std::chrono::milliseconds pause_without_memory{20};

/// The value of one line of INFO.
std::string field_of(std::string_view info, std::string_view name) {
  auto const begin = info.find(name);
  if (begin == std::string_view::npos) return {};
  auto const rest = info.substr(begin + name.size());
  return std::string{rest.substr(0, rest.find_first_of("\r\n"))};
}

}  // namespace

quorum_node::quorum_node(reactor::loop& loop, net::settings config, client_stats& counts, events handlers,
                         topology::deployment_maker const& make_server)
    : config_{std::move(config)},
      server_{make_server(loop, {.server = config_.server}, config_, counts, {})},
      events_{std::move(handlers)},
      loop_{loop} {}

bool quorum_node::present() noexcept {
  if (!absent()) return true;
  away_ = true;
  probe();
  return false;
}

void quorum_node::fell_silent() noexcept {
  away_ = true;
  probe();
}

void quorum_node::heard(net::response const& response) noexcept {
  if (response.failure) return;
  auto const took =
      std::max<std::chrono::nanoseconds>(boot_clock::now() - response.sent_at, std::chrono::microseconds{1});
  // The first answer after a silence says nothing about the usual time.
  if (!std::exchange(away_, false)) {
    usual_ = usual_.count() == 0 ? took : usual_ + (took - usual_) / 8;
    return;
  }
  if (usual_.count() == 0) usual_ = std::min<std::chrono::nanoseconds>(took, least_limit);
  events_.back();
}

std::chrono::nanoseconds quorum_node::limit() const noexcept {
  if (!ever_heard()) return std::min<std::chrono::nanoseconds>(first_limit, config_.connect_timeout);
  return std::clamp<std::chrono::nanoseconds>(times_usual_answer * usual_, least_limit, most_limit);
}

void quorum_node::probe() noexcept try {
  if (std::exchange(probing_, true)) return;
  std::string bytes;
  resp::append_command(bytes, {"INFO", "server"});
  server_->send({.bytes = std::move(bytes),
                 .done =
                     [this](net::response&& response) {
                       probing_ = false;
                       // A master that refuses INFO (by its ACL) is present, too.
                       if (!response.failure) introduce(response.reply);
                       heard(response);
                     },
                 .while_down = net::retry_policy::endless});
} catch (std::bad_alloc const&) {
  probing_ = false;
  loop_.arm(again_, boot_clock::now() + pause_without_memory);
}

void quorum_node::introduce(resp::reply const& info) noexcept try {
  if (info.is_text()) run_id_ = field_of(info.text, "run_id:");
  events_.known();
} catch (std::bad_alloc const&) {
  loop_.arm(again_, boot_clock::now() + pause_without_memory);
}

std::string quorum_node::absence_reason() const {
  auto const down = server_->down_because();
  return down ? std::string{down->what()} : title() + " does not answer";
}

}  // namespace holdfast::engine
