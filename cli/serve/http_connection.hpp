/// One connection of `holdfast serve`, on Boost.Beast. For http_server.cpp only.
#pragma once

#include "serve/address_text.hpp"
#include "serve/http_limits.hpp"
#include "serve/http_message.hpp"
#include "serve/visitor_stream.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace holdfast::cli::over_beast {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using body_type = http::span_body<char const>;

inline http_request plain_request(http::request<http::string_body> const& from) {
  http_request request{.method = std::string{from.method_string()}, .body = from.body()};
  request.set_target(from.target());
  for (auto const& field : from) request.add_header(field.name_string(), field.value());
  return request;
}

class http_connection;

constexpr std::size_t discarded_at_once = 16'384;
/// As many shorter answers as there are connections need no limit.
constexpr std::size_t long_answer = 16'384;

/// What all connections share; it outlives them.
struct shared_state {
  http_limits limits;
  http_handler handler;
  // Before the context: what it still has to do at the end belongs to connections, which are in these.
  std::unordered_set<http_connection*> connections{};  ///< those whose connection isn't closed
  std::unordered_set<http_connection*> streams{};
  std::list<http_connection*> without_request{};  ///< the one that has been so longest first
  std::size_t held_back = 0;
  std::size_t answer_bytes = 0;
  http_facts facts{};
  bool ended = false;
  asio::io_context context{1};
  std::optional<asio::ssl::context> tls{};
  /// By number of the request: who waits for the handler's answer. Only the context's thread may let go of a
  /// connection, so a responder, which other threads destroy, has this number alone.
  std::unordered_map<std::uint64_t, std::shared_ptr<http_connection>> unanswered{};
};

/// One connection. It lives as long as an operation of it is under way.
class http_connection final : public std::enable_shared_from_this<http_connection> {
 public:
  http_connection(shared_state& of, stream::socket_type socket)
      : server_{of}, stream_{std::move(socket), of.tls ? &*of.tls : nullptr} {
    error_code ignored;
    auto const endpoint = below().socket().remote_endpoint(ignored);
    peer_ = address_text(endpoint.data(), endpoint.size());
    server_.connections.insert(this);
  }
  ~http_connection() { leave(); }
  http_connection(http_connection const&) = delete;
  http_connection& operator=(http_connection const&) = delete;

  void begin() {
    below().expires_after(server_.limits.request);
    if (!stream_.is_secure()) return read();
    may_be_closed();
    stream_.async_handshake([self = shared_from_this()](error_code failed) {
      self->has_request();
      if (self->server_.ended) return;
      if (failed) {
        ++self->server_.facts.failed_handshakes;
        return self->close();
      }
      self->certificate_ = self->stream_.certified_name();
      self->read();
    });
  }

  void read() {
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(server_.limits.header_bytes));
    parser_->body_limit(server_.limits.body_bytes);
    may_be_closed();
    if (answered_) below().expires_after(server_.limits.idle);
    http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](error_code failed, std::size_t) {
      self->has_request();
      self->have_read(failed);
    });
  }

  void close() {
    leave();
    held_.cancel();
    error_code ignored;
    below().socket().shutdown(protocol::socket::shutdown_both, ignored);
    below().close();
  }

  void cut_off() {
    ++server_.facts.cut_off;
    close();
  }

  [[nodiscard]] bool is_allowed() const { return !allowed_ || allowed_(); }

  void send_event(std::uint64_t const number, shared_text const& text) {
    if (number != 0 && std::exchange(newest_, std::max(newest_, number)) >= number) return;
    unread_bytes_ += text->size();
    if (unread_bytes_ > server_.limits.unread_bytes) return cut_off();
    unread_.push_back(text);
    if (unread_.size() == 1 && begun_) write_event();
  }

 private:
  stream& below() { return stream_.below(); }

  /// It is in no list any more.
  void leave() {
    server_.connections.erase(this);
    server_.streams.erase(this);
    has_request();
  }

  /// For another connection.
  void may_be_closed() { waits_ = server_.without_request.insert(server_.without_request.end(), this); }

  void has_request() {
    if (!waits_) return;
    server_.without_request.erase(*waits_);
    waits_.reset();
  }

  void have_read(error_code const failed) {
    if (server_.ended) return;
    if (failed == http::error::header_limit || failed == http::error::buffer_overflow)
      return respond_and_close(refuse(431, "the header is too long"));
    if (failed == http::error::body_limit) return respond_and_close(refuse(413, "the body is too long"));
    if (failed == beast::error::timeout) return cut_off();
    if (failed.category() == http::make_error_code(http::error::bad_method).category() &&
        failed != http::error::end_of_stream && failed != http::error::partial_message)
      return respond_and_close(refuse(400, "that is not HTTP/1.1"));
    if (failed) return close();
    ++server_.facts.requests;
    keep_alive_ = parser_->get().keep_alive();
    head_only_ = parser_->get().method() == http::verb::head;
    auto request = plain_request(parser_->get());
    request.peer = peer_;
    request.secure = stream_.is_secure();
    request.certificate = certificate_;
    parser_.reset();
    auto const number = server_.facts.requests;
    server_.unanswered.emplace(number, shared_from_this());
    server_.handler(request, [number, server = &server_](http_response answer) {
      asio::dispatch(server->context, [number, server, answer = std::move(answer)]() mutable {
        auto const asked = server->unanswered.extract(number);
        if (asked) asked.mapped()->respond_in_time(std::move(answer));
      });
    });
  }

  /// To a request that hasn't been read to its end.
  void respond_and_close(http_response answer) {
    keep_alive_ = false;
    lingers_ = true;
    respond(std::move(answer));
  }

  /// To close a connection with bytes that nobody has read resets it, and the client, which still sends,
  /// would hear of that instead of the answer. Below TLS, since the end of the request is of no interest.
  void linger() {
    error_code ignored;
    below().socket().shutdown(protocol::socket::shutdown_send, ignored);
    may_be_closed();
    below().expires_after(server_.limits.linger);
    discard(server_.limits.linger_bytes);
  }

  void discard(std::size_t const most) {
    buffer_.clear();
    below().async_read_some(buffer_.prepare(discarded_at_once),
                            [self = shared_from_this(), most](error_code failed, std::size_t const size) {
                              if (failed || self->server_.ended || size >= most) return self->close();
                              self->discard(most - size);
                            });
  }

  void respond_in_time(http_response answer) {
    if (server_.ended) return;
    if (answer.after.count() == 0) return respond(std::move(answer));
    if (server_.held_back >= server_.limits.held_back) return close();
    ++server_.held_back;
    held_.expires_after(answer.after);
    held_.async_wait([self = shared_from_this(), answer = std::move(answer)](error_code) mutable {
      --self->server_.held_back;
      if (!self->server_.ended) self->respond(std::move(answer));
    });
  }

  void respond(http_response answer) {
    bool const streams = answer.events_after.has_value() && !head_only_;
    if (streams && server_.streams.size() >= server_.limits.streams)
      return respond(refuse(503, "too many pages are open"));
    auto const size = answer.body && answer.body->size() > long_answer ? answer.body->size() : 0;
    // One alone may be longer: it is there already.
    if (server_.answer_bytes > 0 && size > 0 && server_.answer_bytes + size > server_.limits.answer_bytes)
      return respond(refuse(503, "too many answers haven't been read yet"));
    server_.answer_bytes += size;
    answer_bytes_ = size;
    body_ = answer.body ? std::move(answer.body) : std::make_shared<std::string const>();
    response_.emplace();
    response_->result(static_cast<unsigned>(answer.status));
    response_->version(11);
    response_->set(http::field::content_type, answer.type);
    for (auto const& [name, value] : safe_headers()) response_->set(name, value);
    for (auto const& [name, value] : answer.headers) response_->insert(name, value);
    if (response_->find(http::field::cache_control) == response_->end())
      response_->set(http::field::cache_control, "no-store");
    response_->keep_alive(keep_alive_ && !streams);
    if (streams) {
      // From now on: what is published while this is written waits for its turn.
      newest_ = *answer.events_after;
      allowed_ = std::move(answer.allowed);
      server_.streams.insert(this);
    } else if (answer.status != 204) {
      response_->content_length(body_->size());
    }
    if (!head_only_) response_->body() = beast::span<char const>{body_->data(), body_->size()};
    below().expires_after(server_.limits.response);
    serializer_.emplace(*response_);
    auto const done = [self = shared_from_this(), streams](error_code failed, std::size_t) {
      self->have_written(failed, streams);
    };
    if (head_only_) {
      http::async_write_header(stream_, *serializer_, done);
    } else {
      http::async_write(stream_, *serializer_, done);
    }
  }

  void have_written(error_code const failed, bool const streams) {
    serializer_.reset();
    response_.reset();
    body_.reset();
    server_.answer_bytes -= std::exchange(answer_bytes_, 0);
    if (server_.ended) return;
    if (failed == beast::error::timeout) return cut_off();
    if (failed) return close();
    if (streams) return begin_stream();
    if (!keep_alive_) return lingers_ ? linger() : close();
    answered_ = true;
    read();
  }

  void begin_stream() {
    begun_ = true;
    below().expires_never();
    watch_for_end();
    if (!unread_.empty()) write_event();
  }

  /// A client that gets events has nothing more to say; what it says is left unread but for the end.
  void watch_for_end() {
    buffer_.clear();
    stream_.async_read_some(buffer_.prepare(256),
                            [self = shared_from_this()](error_code failed, std::size_t) {
                              if (failed || self->server_.ended) {
                                self->close();
                              } else {
                                self->cut_off();
                              }
                            });
  }

  void write_event() {
    below().expires_after(server_.limits.response);
    asio::async_write(stream_, asio::buffer(*unread_.front()),
                      [self = shared_from_this()](error_code failed, std::size_t) {
                        if (self->server_.ended) return;
                        if (failed == beast::error::timeout) return self->cut_off();
                        if (failed) return self->close();
                        self->unread_bytes_ -= self->unread_.front()->size();
                        self->unread_.pop_front();
                        if (!self->unread_.empty()) self->write_event();
                      });
  }

  shared_state& server_;
  visitor_stream stream_;
  asio::steady_timer held_{server_.context};  ///< until the time of an answer
  std::string peer_{};
  std::string certificate_{};  ///< whose the client's is
  beast::flat_buffer buffer_{32'768};
  std::optional<http::request_parser<http::string_body>> parser_{};
  std::optional<http::response<body_type>> response_{};
  std::optional<http::response_serializer<body_type>> serializer_{};
  shared_text body_{};
  std::size_t answer_bytes_ = 0;  ///< what of it is counted
  std::optional<std::list<http_connection*>::iterator> waits_{};
  bool keep_alive_ = false;
  bool head_only_ = false;
  bool lingers_ = false;
  bool answered_ = false;
  bool begun_ = false;  ///< it gets events
  std::function<bool()> allowed_{};
  std::uint64_t newest_ = 0;
  std::deque<shared_text> unread_{};
  std::size_t unread_bytes_ = 0;
};

}  // namespace holdfast::cli::over_beast
