#include "net/plain_transport.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <exception>
#include <mutex>
#include <utility>

#include "net/dial.hpp"

namespace holdfast::net {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

/// TCP and unix sockets. The mutex makes close() and try_write() safe beside the loop: a descriptor closed
/// during a send might already be reused by another file.
class plain_transport final : public transport, public std::enable_shared_from_this<plain_transport> {
 public:
  plain_transport(asio::io_context& io, endpoint const& to)
      : dial_{std::make_shared<dial>(io, to)}, socket_{io} {}

  void async_connect(connect_handler done) override {
    dial_->start(
        [self = shared_from_this(), done = std::move(done)](std::string const& failure, auto socket) {
          std::unique_lock hold{self->mutex_};
          bool const too_late = failure.empty() && self->closed_;
          if (!too_late) self->socket_ = std::move(socket);
          hold.unlock();
          done(too_late ? "connect to " + self->peer() + ": Operation canceled" : failure);
        });
  }

  void async_read_some(char* into, std::size_t size, io_handler done) override {
    std::lock_guard const hold{mutex_};
    socket_.async_read_some(asio::buffer(into, size),
                            [self = shared_from_this(), done = std::move(done)](
                                error_code failure, std::size_t n) { done(as_aborted(failure), n); });
  }

  void async_write(std::string_view bytes, io_handler done) override { write(bytes, 0, std::move(done)); }

  std::size_t try_write(std::string_view bytes, error_code& failure) override {
    std::lock_guard const hold{mutex_};
    std::size_t written = 0;
    failure.clear();
    while (written < bytes.size()) {
      auto const rest = bytes.substr(written);
      auto const n = socket_.write_some(asio::buffer(rest.data(), rest.size()), failure);
      if (failure == asio::error::interrupted) continue;
      if (failure) break;
      written += n;
    }
    failure = as_aborted(failure);
    if (failure == asio::error::would_block || failure == asio::error::try_again) failure.clear();
    return written;
  }

  [[nodiscard]] bool direct() const noexcept override { return true; }

  void close() noexcept override {
    dial_->cancel();
    std::lock_guard const hold{mutex_};
    close_socket();
  }

  void reset() noexcept override {
    dial_->cancel();
    std::lock_guard const hold{mutex_};
    throw_away_unsent(socket_);
    close_socket();
  }

  [[nodiscard]] std::string peer() const override { return dial_->peer(); }

 private:
  /// Under the mutex.
  void close_socket() noexcept {
    closed_ = true;
    error_code ignored;
    socket_.close(ignored);
  }

  /// Not asio::async_write: its later steps would use the socket without the mutex.
  void write(std::string_view rest, std::size_t before, io_handler done) {
    std::lock_guard const hold{mutex_};
    socket_.async_write_some(
        asio::buffer(rest.data(), rest.size()),
        [self = shared_from_this(), rest, before, done = std::move(done)](error_code failure, std::size_t n) {
          if (failure || n == rest.size()) return done(as_aborted(failure), before + n);
          try {
            self->write(rest.substr(n), before + n, done);
          } catch (std::exception const&) {
            done(asio::error::no_memory, before + n);
          }
        });
  }

  std::shared_ptr<dial> const dial_;
  std::mutex mutex_;  ///< guards the members below
  stream_socket socket_;
  bool closed_ = false;
};

}  // namespace

std::shared_ptr<transport> make_plain_transport(asio::io_context& io, endpoint const& to) {
  return std::make_shared<plain_transport>(io, to);
}

}  // namespace holdfast::net
