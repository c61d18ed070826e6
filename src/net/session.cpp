#include "net/session.hpp"

#include <boost/asio/error.hpp>
#include <exception>
#include <utility>

#include "base/ids.hpp"

namespace holdfast::net {
namespace {

/// Pauses between connection attempts. The cap is no longer than the default re-check interval, so a server's
/// return is noticed as soon as with re-checks.
constexpr std::chrono::milliseconds first_pause{10};
constexpr std::chrono::milliseconds longest_pause{1000};

/// With at least this many replies outstanding a thread beside the driver leaves writing to the driver, which
/// then writes many requests at once.
constexpr std::size_t write_beside_driver = 8;

constexpr std::size_t read_size = 32768;

std::string in_ms(milliseconds time) { return std::to_string(time.count()) + " ms"; }

}  // namespace

session::session(reactor::loop& loop, settings const& config, client_stats& counts)
    : loop_{loop},
      config_{config},
      counts_{counts},
      to_{config.server},
      starved_because_{std::make_shared<error const>(std::errc::not_enough_memory,
                                                     config.server.display + ": out of memory")},
      parser_{config.limits},
      pause_{first_pause, longest_pause},
      random_{static_cast<std::minstd_rand::result_type>(random_seed())},
      connect_timer_{[this] {
        if (starved_) return drop(starved_because_, end::elsewhere);
        drop(errc::unreachable, [this] {
          return "no connection within " + in_ms(config_.connect_timeout) +
                 (transport_ ? " (trying " + transport_->peer() + ")" : std::string{});
        });
      }},
      pause_timer_{[this] {
        state_ = state::idle;
        if (wanted()) connect();
      }} {
  loop_.remember(*this);
}

session::~session() {
  if (config_.locator != nullptr) config_.locator->forget(*this);
  loop_.forget(*this);
  retire_transport(ending::closed);
}

void session::open() noexcept {
  if (state_ == state::idle) connect();
}

void session::close() noexcept {
  retire_transport(ending::closed);
  stand_still();
}

void session::cut() noexcept {
  note_unanswered();
  retire_transport(ending::reset);
  stand_still();
}

void session::stand_still() noexcept {
  connect_timer_.disarm();
  pause_timer_.disarm();
  state_ = state::idle;
}

void session::starve() noexcept {
  if (state_ == state::idle || state_ == state::pausing) return;
  starved_ = true;
  loop_.arm(connect_timer_, boot_clock::now());
}

/// The lost handler may be this session's, except with a plain connection that is up: that loses none.
void session::on_lost_handler() noexcept {
  if (state_ != state::up || (transport_ && !transport_->direct())) starve();
}

/// Runs the body of a handler of the transport's. If an allocation fails, ends the connection.
template <class Step>
void session::handle(Step step) noexcept {
  try {
    step();
  } catch (std::exception const&) {
    if (on_its_way() || up()) drop(starved_because_, end::elsewhere);
  }
}

void session::connect() noexcept {
  state_ = state::locating;
  loop_.add_interest(1);  // some thread has to drive until connected
  loop_.arm(connect_timer_, boot_clock::now() + config_.connect_timeout);
  try {
    if (config_.locator != nullptr) {
      config_.locator->locate(*this);
    } else {
      dial();
    }
  } catch (std::exception const&) {
    starve();
  }
}

void session::found(endpoint const& to) noexcept {
  if (state_ != state::locating) return;
  try {
    to_ = to;
    dial();
  } catch (std::exception const&) {
    starve();
  }
}

void session::not_found(errc code, std::string const& reason, end outcome) noexcept {
  if (state_ == state::locating) drop(code, [&reason] { return reason; }, outcome);
}

void session::move(std::string const& reason) noexcept {
  if (state_ == state::idle || state_ == state::locating) return;
  if (state_ != state::pausing) drop(errc::unreachable, [&reason] { return reason; }, end::elsewhere);
  if (state_ != state::pausing) return;  // a callback of drop() has closed the session, or reopened it
  pause_.reset();
  pause_timer_.disarm();
  state_ = state::idle;
  if (wanted()) connect();
}

void session::dial() {
  state_ = state::connecting;
  try {
    transport_ = make_transport(loop_.io(), to_);
  } catch (error const& failure) {
    drop(errc::bad_url, [&failure] { return failure.what(); }, end::final);
    return;
  }
  transport_->owner = this;
  transport_->async_connect([transport = transport_.get(), &loop = loop_](std::string const& failure) {
    reactor::handling const hold{loop};
    auto* const owner = transport->owner;
    if (owner == nullptr) return;
    if (failure.empty()) {
      owner->handle([owner] { owner->greet(); });
    } else {
      owner->drop(errc::unreachable, [&failure] { return failure; });
    }
  });
}

void session::greet() {
  state_ = state::greeting;
  connection_id_ = ++counts_.connects;
  greeting_ = std::make_unique<handshake>(
      to_, config_.client_name, config_.locator == nullptr ? handshake::role::any : handshake::role::master,
      config_.unended == nullptr ? handshake::identity::unasked : handshake::identity::asked);
  if (config_.unended != nullptr) greeting_->end_first(config_.unended->at(to_), boot_clock::now());
  out_ = greeting_->commands();
  loop_.mark_dirty(*this);
  read();
}

void session::on_greeting(resp::reply const& reply) {
  auto const step = greeting_->on_reply(reply);
  switch (step) {
    case handshake::step::more:
      return;
    case handshake::step::send:
      out_ += greeting_->commands();
      loop_.mark_dirty(*this);
      return;
    case handshake::step::done:
      if (config_.unended != nullptr) {
        note_.assign(1, {.at = to_, .id = greeting_->ours(), .since = boot_clock::now()});
      }
      if (!greeting_->ended().empty()) config_.unended->settle(greeting_->ended(), greeting_->not_ended());
      greeting_.reset();
      if (!starved_) connect_timer_.disarm();
      state_ = state::up;
      ever_up_ = true;
      loop_.add_interest(-1);
      on_up();
      loop_.mark_dirty(*this);
      if (config_.locator != nullptr) config_.locator->on_reached(*this);
      return;
    case handshake::step::failed:
    case handshake::step::not_ready:
    case handshake::step::elsewhere:
      auto const failure = greeting_->failure();
      auto const code = static_cast<errc>(failure.code().value());
      auto const outcome = step == handshake::step::not_ready   ? end::not_ready
                           : step == handshake::step::elsewhere ? end::elsewhere
                           : code == errc::unauthorized         ? end::final
                                                                : end::broken;
      drop(code, [&failure] { return failure.what(); }, outcome);
      return;
  }
}

void session::read() {
  auto const room = parser_.prepare(read_size);
  transport_->async_read_some(
      room.data(), room.size(),
      [transport = transport_.get(), &loop = loop_](boost::system::error_code failure, std::size_t n) {
        reactor::handling const hold{loop};
        auto* const owner = transport->owner;
        if (owner == nullptr) return;
        owner->handle([&] { failure ? owner->on_cut(failure) : owner->on_bytes(n); });
      });
}

void session::on_cut(boost::system::error_code failure) {
  if (failure == boost::asio::error::no_memory) return drop(starved_because_, end::elsewhere);
  drop(errc::unreachable, [&] {
    auto const closed = failure == boost::asio::error::eof;
    auto text = transport_->peer() + ": " +
                (closed ? "the server closed the connection" : transport_->words_for(failure));
    // A TLS port just closes a connection without TLS.
    auto const hung_up = closed || failure == boost::asio::error::connection_reset;
    if (hung_up && state_ == state::greeting && to_.transport == endpoint::scheme::tcp) {
      text += " (is that a TLS port? The URL begins with rediss then)";
    }
    return text;
  });
}

void session::on_bytes(std::size_t n) {
  ++counts_.reads;
  parser_.commit(n);
  auto const generation = generation_;
  resp::reply reply;
  for (;;) {
    switch (parser_.next(reply)) {
      case resp::parser::outcome::reply:
        if (state_ == state::greeting) {
          on_greeting(reply);
        } else {
          pause_.reset();  // not before: the peer may accept the handshake, and hang up on each request
          on_reply(std::move(reply));
        }
        if (generation != generation_) return;
        break;
      case resp::parser::outcome::incomplete:
        read();
        return;
      case resp::parser::outcome::broken:
        drop(
            errc::protocol,
            [this] { return config_.server.display + " (" + transport_->peer() + "): " + parser_.why(); },
            end::final);
        return;
    }
  }
}

bool session::flush(bool driving) {
  if (state_ != state::up && state_ != state::greeting) return true;  // written when it is up
  if (!writing_.empty()) return true;                                 // written after the write under way
  if (!driving && (!transport_->direct() || outstanding() >= write_beside_driver)) return false;
  try {
    if (state_ == state::up) gather(out_);
    if (!out_.empty()) write();
  } catch (std::exception const&) {
    starve();  // some or all bytes were not written
  }
  return true;
}

void session::write() {
  ++counts_.writes;
  if (transport_->direct()) {
    boost::system::error_code failure;
    auto const n = transport_->try_write(out_, failure);
    if (failure || n == out_.size()) {  // the read fails, too, and handles the failure
      out_.clear();
      return;
    }
    out_.erase(0, n);
  }
  writing_.swap(out_);
  transport_->async_write(writing_, [transport = transport_.get(), &loop = loop_](
                                        boost::system::error_code failure, std::size_t) {
    reactor::handling const hold{loop};
    auto* const owner = transport->owner;
    if (owner == nullptr) return;
    if (failure == boost::asio::error::no_memory) return owner->starve();
    owner->writing_.clear();
    if (!failure) loop.mark_dirty(*owner);
  });
}

/// Records the connection if replies are outstanding. A reset discards the bytes that this machine still has.
/// Bytes in the network, in a proxy, or unread at the server only the server can discard.
void session::note_unanswered() noexcept {
  if (state_ != state::up || outstanding() == 0 || config_.unended == nullptr) return;
  config_.unended->add(std::move(note_));
}

void session::retire_transport(ending mode) noexcept {
  ++generation_;
  if (on_its_way()) loop_.add_interest(-1);
  if (transport_) {
    transport_->owner = nullptr;
    if (mode == ending::reset) {
      transport_->reset();
    } else {
      transport_->close();
    }
  }
  transport_.reset();
  greeting_.reset();
  parser_.reset();
  out_.clear();
  writing_ = {};
  starved_ = false;
}

std::shared_ptr<error const> session::explain(errc code, std::string const& text) const {
  auto const prefix =
      code == errc::unreachable ? "cannot reach " + config_.server.display + ": " : std::string{};
  auto const advice = code == errc::unreachable && !ever_up_ ? config_.advice : std::string{};
  return std::make_shared<error const>(code, prefix + text + advice);
}

void session::drop(std::shared_ptr<error const> const& reason, end outcome) noexcept {
  if (up()) ++counts_.disconnects;
  note_unanswered();
  retire_transport(ending::reset);
  connect_timer_.disarm();
  state_ = state::pausing;
  loop_.arm(pause_timer_, boot_clock::now() + pause_.next(random_));
  on_down(reason, outcome);
  if (troubled_) notify(troubled_);
}

}  // namespace holdfast::net
