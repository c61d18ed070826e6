#include "reactor/outer.hpp"

#include <boost/asio/detail/epoll_reactor.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/io_context.hpp>

namespace holdfast::reactor {
namespace {

namespace asio = boost::asio;
using asio::detail::epoll_reactor;

/// Asio has no function that tells the descriptor of its epoll. The names in an explicit instantiation may be
/// private; should the member get another name one day, this doesn't compile (decision 61).
template <int epoll_reactor::* Member>
struct revealed {
  friend int epoll_of(epoll_reactor const& reactor) noexcept { return reactor.*Member; }
};
int epoll_of(epoll_reactor const& reactor) noexcept;
template struct revealed<&epoll_reactor::epoll_fd_>;

/// A mark: the io_context is driven in another event loop.
class driven_outside final : public asio::execution_context::service {
 public:
  using key_type = driven_outside;
  static inline asio::execution_context::id id{};

  explicit driven_outside(asio::io_context& io)
      : service{io}, reactor{asio::use_service<epoll_reactor>(io)} {}

  epoll_reactor& reactor;

 private:
  void shutdown() override {}
};

}  // namespace

int descriptor_for_outer(asio::io_context& io) {
  return epoll_of(asio::use_service<driven_outside>(io).reactor);
}

bool has_outer(asio::io_context& io) noexcept { return asio::has_service<driven_outside>(io); }

void tell_outer(asio::io_context& io) noexcept {
  if (has_outer(io)) asio::use_service<driven_outside>(io).reactor.interrupt();
}

}  // namespace holdfast::reactor
