#include "engine/quorum/node.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "resp/command.hpp"

namespace holdfast::engine {
namespace {

/// How long to wait for one that usually answers at once. Longer than a scheduler's whim.
constexpr std::chrono::milliseconds least_limit{50};
constexpr std::chrono::milliseconds most_limit{1000};
/// The first answer has the making of a connection before it.
constexpr std::chrono::milliseconds first_limit{500};
constexpr int times_usual_answer = 10;
/// Before a sign of life is looked for again, when there was no memory for it.
constexpr std::chrono::milliseconds pause_without_memory{20};

/// The value of one line of INFO.
std::string field_of(std::string_view info, std::string_view name) {
  auto const begin = info.find(name);
  if (begin == std::string_view::npos) return {};
  auto const rest = info.substr(begin + name.size());
  return std::string{rest.substr(0, rest.find_first_of("\r\n"))};
}

}  // namespace

quorum_node::quorum_node(reactor::loop& on, net::settings how, client_stats& counts, events tell)
    : config_{std::move(how)}, server_{on, config_, counts}, tell_{std::move(tell)}, on_{on} {}

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

void quorum_node::heard(net::response const& how) noexcept {
  if (how.failure) return;
  auto const took =
      std::max<std::chrono::nanoseconds>(boot_clock::now() - how.sent_at, std::chrono::microseconds{1});
  // A silence that is over says nothing about what is usual.
  if (!std::exchange(away_, false)) {
    usual_ = usual_.count() == 0 ? took : usual_ + (took - usual_) / 8;
    return;
  }
  if (usual_.count() == 0) usual_ = std::min<std::chrono::nanoseconds>(took, least_limit);
  tell_.back();
}

std::chrono::nanoseconds quorum_node::limit() const noexcept {
  if (!ever_heard()) return std::min<std::chrono::nanoseconds>(first_limit, config_.connect_timeout);
  return std::clamp<std::chrono::nanoseconds>(times_usual_answer * usual_, least_limit, most_limit);
}

void quorum_node::probe() noexcept try {
  if (std::exchange(probing_, true)) return;
  std::string bytes;
  resp::append_command(bytes, {"INFO", "server"});
  server_.send({.bytes = std::move(bytes),
                .done =
                    [this](net::response&& how) {
                      probing_ = false;
                      // One that may not say (an ACL without INFO) is there, too.
                      if (!how.failure) introduce(how.reply);
                      heard(how);
                    },
                .while_down = net::retry_policy::endless});
} catch (std::bad_alloc const&) {
  probing_ = false;
  on_.arm(again_, boot_clock::now() + pause_without_memory);
}

void quorum_node::introduce(resp::reply const& info) noexcept try {
  if (info.is_text()) run_id_ = field_of(info.text, "run_id:");
  tell_.known();
} catch (std::bad_alloc const&) {
  on_.arm(again_, boot_clock::now() + pause_without_memory);
}

std::string quorum_node::why_absent() const {
  auto const down = server_.down_because();
  return down ? std::string{down->what()} : title() + " does not answer";
}

}  // namespace holdfast::engine
