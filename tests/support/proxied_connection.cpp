#include "proxied_connection.hpp"

#include "resp_scan.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <string_view>
#include <utility>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

bool is_pubsub(std::string_view name) { return name.find("SUBSCRIBE") != std::string_view::npos; }

/// Reads the bytes that have arrived; false at the end of the stream.
bool read_into(int fd, std::string& buffer) {
  char bytes[65536];
  auto const received = ::recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
  if (received > 0) buffer.append(bytes, static_cast<std::size_t>(received));
  return received > 0 || (received < 0 && (errno == EAGAIN || errno == EINTR));
}

request read_request(std::string const& bytes, int connection) {
  request result{.name = {}, .words = words_of(bytes), .connection = connection};
  if (!result.words.empty()) result.name = result.words[0];
  std::transform(result.name.begin(), result.name.end(), result.name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return result;
}

bool is_message(std::string const& bytes) {
  if (bytes[0] != '*') return false;
  auto const words = words_of(bytes);
  return words.size() >= 3 && (words[0] == "message" || words[0] == "smessage" || words[0] == "pmessage");
}

}  // namespace

proxied_connection::~proxied_connection() {
  if (client_ >= 0) ::close(client_);
  if (server_ >= 0) ::close(server_);
}

bool proxied_connection::blocked(clock::time_point now) const {
  return !traffic_.hold_replies && !to_client_.empty() && to_client_.front().due <= now;
}

proxied_connection::interest proxied_connection::in_client(clock::time_point now) const {
  short const requests_wanted = traffic_.hold_requests || held_back_ ? 0 : POLLIN;
  short const room_wanted = blocked(now) ? POLLOUT : 0;
  auto const wanted = static_cast<short>(requests_wanted | room_wanted);
  return {.socket = wanted == 0 ? -1 : client_, .events = wanted};
}

proxied_connection::interest proxied_connection::in_server() const {
  return {.socket = traffic_.hold_replies ? -1 : server_,
          .events = static_cast<short>(to_server_.empty() ? POLLIN : POLLIN | POLLOUT)};
}

proxied_connection::clock::time_point proxied_connection::due(clock::time_point now) const {
  if (traffic_.hold_replies || to_client_.empty() || blocked(now)) return deliver_at_;
  return std::min(deliver_at_, to_client_.front().due);
}

void proxied_connection::step() {
  if (deliver_at_ <= clock::now()) deliver_kept();
  if (!traffic_.hold_requests && !held_back_ && !ended_) read_client();
  if (!traffic_.hold_replies && !ended_) read_server();
  if (ended_) return;
  write_to_server();
  write_to_client();
}

void proxied_connection::read_client() {
  if (!read_into(client_, from_client_)) ended_ = true;
  take_requests();
}

fate proxied_connection::decision_on(request const& received) const {
  auto decision = traffic_.decide ? traffic_.decide(received) : fate::pass();
  if (!traffic_.refuse_pubsub || !is_pubsub(received.name)) return decision;
  return fate::error("ERR unknown command '" + received.words[0] + "'");
}

void proxied_connection::take_requests() {
  while (!ended_) {
    auto const length = value_length(from_client_);
    if (!length) return;
    auto const bytes = from_client_.substr(0, *length);
    from_client_.erase(0, *length);
    auto received = read_request(bytes, id_);
    awaited_reply awaited{.decision = decision_on(received)};
    if (awaited.decision.type == fate::kind::pass && is_pubsub(received.name))
      awaited.replies = static_cast<int>(received.words.size()) - 1;
    traffic_.requests.push_back(std::move(received));

    auto const kind = awaited.decision.type;
    if (kind == fate::kind::cut_before) {
      ended_ = true;
      return;
    }
    if (keeping_ || kind == fate::kind::keep || kind == fate::kind::hold_back) {
      keeping_ = true;
      kept_bytes_ += bytes;
      if (kind != fate::kind::hold_back) continue;
      hold_back(awaited.decision.delay);
      return;
    }
    if (kind == fate::kind::rewrite) {
      to_server_ += awaited.decision.text;
    } else if (kind != fate::kind::answer && kind != fate::kind::swallow) {
      to_server_ += bytes;
    }
    awaited_replies_.push_back(std::move(awaited));
    answer_injected();
  }
}

void proxied_connection::read_server() {
  if (!read_into(server_, from_server_)) ended_ = true;
  take_replies();
}

void proxied_connection::take_replies() {
  while (auto const length = value_length(from_server_)) {
    auto bytes = from_server_.substr(0, *length);
    from_server_.erase(0, *length);
    if (is_message(bytes)) {
      ++traffic_.messages;
      if (!traffic_.swallow_messages) emit(std::move(bytes), 0ms);
      continue;
    }
    if (awaited_replies_.empty()) {
      emit(std::move(bytes), 0ms);
      continue;
    }
    auto& awaited = awaited_replies_.front();
    if (awaited.decision.type == fate::kind::cut_after) {
      ended_ = true;
      return;
    }
    if (awaited.decision.type == fate::kind::swallow_reply) silent_ = true;
    emit(std::move(bytes), awaited.decision.delay);
    if (--awaited.replies <= 0) awaited_replies_.pop_front();
    answer_injected();
  }
}

/// The proxy's own replies keep their place in the order of the server's.
void proxied_connection::answer_injected() {
  while (!awaited_replies_.empty()) {
    auto const& decision = awaited_replies_.front().decision;
    if (decision.type == fate::kind::swallow)
      silent_ = true;
    else if (decision.type == fate::kind::answer)
      emit(decision.text, 0ms);
    else
      return;
    awaited_replies_.pop_front();
  }
}

void proxied_connection::emit(std::string bytes, std::chrono::milliseconds delay) {
  if (!silent_) to_client_.push_back({std::move(bytes), clock::now() + delay});
}

void proxied_connection::write_to_server() {
  if (!to_server_.empty()) {
    auto const sent = ::send(server_, to_server_.data(), to_server_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0)
      to_server_.erase(0, static_cast<std::size_t>(sent));
    else if (errno != EAGAIN)
      ended_ = true;
  }
  if (ending_ && to_server_.empty()) {
    ::shutdown(server_, SHUT_WR);
    ending_ = false;
  }
}

void proxied_connection::write_to_client() {
  while (blocked(clock::now())) {
    auto& bytes = to_client_.front().bytes;
    auto const sent = ::send(client_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno != EAGAIN) ended_ = true;
      return;
    }
    bytes.erase(0, static_cast<std::size_t>(sent));
    if (!bytes.empty()) return;
    to_client_.pop_front();
  }
}

void proxied_connection::hold_back(std::chrono::milliseconds delay) {
  ::close(std::exchange(client_, -1));
  held_back_ = silent_ = true;
  to_client_.clear();
  kept_bytes_ += std::exchange(from_client_, {});
  if (delay != std::chrono::milliseconds::max()) deliver_at_ = clock::now() + delay;
}

/// The end of the stream follows: the server runs all requests and closes the connection.
void proxied_connection::deliver_kept() {
  deliver_at_ = clock::time_point::max();
  to_server_ += std::exchange(kept_bytes_, {});
  ending_ = true;
}

}  // namespace holdfast::test
