#include "net/resp_stream.hpp"

#include <boost/asio/error.hpp>
#include <exception>
#include <utility>

#include "net/make_transport.hpp"

namespace holdfast::net {
namespace {

constexpr std::size_t read_size = 32768;

}  // namespace

resp_stream::resp_stream(reactor::loop& loop, resp::limits const& limits, client_stats& counts, user& served)
    : loop_{loop}, counts_{counts}, user_{served}, parser_{limits} {}

/// Runs the body of a handler of the transport's.
template <class Step>
void resp_stream::handle(Step step) noexcept {
  try {
    step();
  } catch (std::exception const&) {
    user_.on_failed(failure::no_memory, {});
  }
}

void resp_stream::connect(endpoint const& to) {
  transport_ = make_transport(loop_.io(), to);
  transport_->owner = this;
  loop_.note_begun();
  transport_->async_connect([transport = transport_.get(), &loop = loop_](std::string const& reason) {
    reactor::handling const hold{loop};
    auto* const owner = transport->owner;
    if (owner == nullptr) return;
    if (reason.empty()) {
      owner->handle([owner] { owner->user_.on_connected(); });
    } else {
      owner->user_.on_failed(failure::not_connected, reason);
    }
  });
}

void resp_stream::read() {
  auto const room = parser_.prepare(read_size);
  transport_->async_read_some(
      room.data(), room.size(),
      [transport = transport_.get(), &loop = loop_](boost::system::error_code cause, std::size_t n) {
        reactor::handling const hold{loop};
        auto* const owner = transport->owner;
        if (owner == nullptr) return;
        owner->handle([&] { cause ? owner->on_cut(cause) : owner->on_bytes(n); });
      });
}

void resp_stream::on_cut(boost::system::error_code cause) {
  if (cause == boost::asio::error::no_memory) return user_.on_failed(failure::no_memory, {});
  if (cause == boost::asio::error::eof) {
    return user_.on_failed(failure::hung_up, "the server closed the connection");
  }
  user_.on_failed(cause == boost::asio::error::connection_reset ? failure::hung_up : failure::broken,
                  transport_->words_for(cause));
}

void resp_stream::on_bytes(std::size_t n) {
  ++counts_.reads;
  read_at_ = boot_clock::now();
  parser_.commit(n);
  auto const generation = generation_;
  resp::reply reply;
  for (;;) {
    switch (parser_.next(reply)) {
      case resp::parser::outcome::reply:
        user_.on_received(std::move(reply));
        if (generation != generation_) return;
        break;
      case resp::parser::outcome::incomplete:
        read();
        return;
      case resp::parser::outcome::broken:
        user_.on_failed(failure::not_resp, parser_.why());
        return;
    }
  }
}

void resp_stream::write(std::string& bytes) {
  ++counts_.writes;
  if (transport_->direct()) {
    boost::system::error_code cause;
    auto const n = transport_->try_write(bytes, cause);
    if (cause || n == bytes.size()) {  // the read fails, too, and handles the failure
      bytes.clear();
      return;
    }
    bytes.erase(0, n);
  }
  writing_.swap(bytes);
  loop_.note_begun();
  transport_->async_write(
      writing_, [transport = transport_.get(), &loop = loop_](boost::system::error_code cause, std::size_t) {
        reactor::handling const hold{loop};
        auto* const owner = transport->owner;
        if (owner == nullptr) return;
        if (cause == boost::asio::error::no_memory) return owner->user_.on_failed(failure::no_memory, {});
        owner->writing_.clear();
        if (!cause) loop.writers().mark(owner->user_);
      });
}

void resp_stream::end(ending mode) noexcept {
  ++generation_;
  if (transport_) {
    transport_->owner = nullptr;
    if (mode == ending::reset) {
      transport_->reset();
    } else {
      transport_->close();
    }
  }
  transport_.reset();
  parser_.reset();
  writing_ = {};
}

}  // namespace holdfast::net
