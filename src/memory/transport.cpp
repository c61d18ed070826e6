#include "memory/transport.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <holdfast/error.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "memory/activity.hpp"
#include "memory/served_connection.hpp"
#include "net/make_transport.hpp"
#include "reactor/outer.hpp"

namespace holdfast::memory {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

/// Requests are executed by the thread that writes them, and replies and messages posted to the loop of the
/// client that reads them. The node's guard makes all functions safe beside each other.
class transport final : public net::transport, public std::enable_shared_from_this<transport> {
 public:
  transport(asio::io_context& io, std::shared_ptr<node> to)
      : io_{io}, has_outer_{reactor::has_outer(io)}, node_{std::move(to)} {}
  ~transport() override { leave(); }

  void async_connect(connect_handler done) override {
    post([done = std::move(done)](transport& self) { done(self.join()); });
  }

  void async_read_some(char* into, std::size_t size, io_handler done) override {
    std::lock_guard const hold{node_->guard()};
    reading_ = {.into = into, .size = size, .done = std::move(done)};
    deliver();
  }

  void async_write(std::string_view bytes, io_handler done) override {
    error_code failure;
    auto const n = try_write(bytes, failure);
    post([done = std::move(done), failure, n](transport&) { done(failure, n); });
  }

  std::size_t try_write(std::string_view bytes, error_code& failure) override {
    std::lock_guard const hold{node_->guard()};
    failure.clear();
    if (!served_) {
      failure = asio::error::operation_aborted;
    } else if (served_->ended()) {
      failure = asio::error::broken_pipe;
    } else {
      served_->receive(bytes);
    }
    return failure ? 0 : bytes.size();
  }

  [[nodiscard]] bool direct() const noexcept override { return true; }
  void close() noexcept override { leave(); }
  void reset() noexcept override { leave(); }
  [[nodiscard]] std::string peer() const override { return "memory://" + node_->name(); }

 private:
  struct read {
    char* into = nullptr;
    std::size_t size = 0;
    io_handler done{};
  };

  /// Keeps the transport, and counts, for its life.
  struct on_its_way {
    explicit on_its_way(std::shared_ptr<transport> self) noexcept : to{std::move(self)} {
      to->activity_.begin();
    }
    on_its_way(on_its_way&&) = default;
    on_its_way& operator=(on_its_way&&) = delete;
    ~on_its_way() {
      if (to) to->activity_.end();
    }

    std::shared_ptr<transport> to;
  };

  template <class F>
  void post(F f) {
    asio::post(io_, [posted = on_its_way{shared_from_this()}, f = std::move(f)]() mutable { f(*posted.to); });
    if (has_outer_) reactor::tell_outer(io_);
  }

  /// Empty: connected.
  std::string join() {
    std::lock_guard const hold{node_->guard()};
    if (closed_) return "connect to " + peer() + ": Operation canceled";
    if (node_->over() || node_->is(trouble::unreachable))
      return "connect to " + peer() + ": Connection refused";
    served_.emplace(*node_, [this] { deliver(); });
    return {};
  }

  void leave() noexcept {
    std::lock_guard const hold{node_->guard()};
    served_.reset();
    if (!std::exchange(closed_, true)) activity_.close();
    try {
      if (reading_.done) post_read();
    } catch (std::exception const&) {
      return;  // the owner has closed it, and waits for nothing
    }
  }

  /// With the guard held: ends the read that waits if there is something to say.
  void deliver() {
    if (reading_.done && (!served_ || served_->readable() || served_->ended())) post_read();
  }

  void post_read() {
    post([now = std::exchange(reading_, {})](transport& self) mutable { self.finish(std::move(now)); });
  }

  void finish(read now) {
    error_code failure;
    std::size_t n = 0;
    {
      std::lock_guard const hold{node_->guard()};
      if (!served_) {
        failure = asio::error::operation_aborted;
      } else if (served_->readable()) {
        n = served_->read(now.into, now.size);
      } else if (served_->ended()) {
        failure = asio::error::eof;
      } else {
        reading_ = std::move(now);  // the server has fallen silent meanwhile
        return;
      }
    }
    now.done(failure, n);
  }

  asio::io_context& io_;
  bool const has_outer_;
  std::shared_ptr<node> const node_;
  activity activity_{};
  // With the node's guard held.
  std::optional<served_connection> served_;
  read reading_{};
  bool closed_ = false;
};

std::shared_ptr<net::transport> make_transport(asio::io_context& io, net::endpoint const& to) {
  auto found = node::find(to.host);
  if (!found) {
    throw error{
        errc::bad_url,
        to.display + ": no holdfast::memory::deployment of this process has the name \"" + to.host + "\""};
  }
  return std::make_shared<transport>(io, std::move(found));
}

}  // namespace

void serve_urls() noexcept { net::transport_in_memory.store(&make_transport); }

}  // namespace holdfast::memory
