#include "net/session.hpp"

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
/// The same where an event loop of the program drives: that does so soon, often in the same thread.
constexpr std::size_t write_beside_visits = 2;

std::string in_ms(milliseconds time) { return std::to_string(time.count()) + " ms"; }

}  // namespace

session::session(reactor::loop& loop, settings const& config, client_stats& counts)
    : loop_{loop},
      config_{config},
      counts_{counts},
      to_{config.server},
      stream_{loop, config.limits, counts, *this},
      errors_{config.server.display, config.advice},
      pause_{first_pause, longest_pause},
      random_{static_cast<std::minstd_rand::result_type>(random_seed())},
      connect_timer_{[this] {
        if (starved_) return drop(errors_.no_memory(), end::elsewhere);
        drop(errc::unreachable, [this] {
          return "an attempt to connect got no answer within " + in_ms(config_.connect_timeout) +
                 (stream_.peer().empty() ? std::string{} : " (trying " + stream_.peer() + ")");
        });
      }},
      pause_timer_{[this] {
        state_ = state::idle;
        if (wanted()) connect();
      }} {
  loop_.writers().remember(*this);
}

session::~session() {
  if (config_.locator != nullptr) config_.locator->forget(*this);
  loop_.writers().forget(*this);
  end_stream(resp_stream::ending::closed);
}

void session::open() noexcept {
  if (state_ == state::idle) connect();
}

void session::replace(std::string const& reason) noexcept {
  if (up()) drop(errc::unreachable, [&reason] { return reason; });
}

void session::close() noexcept {
  end_stream(resp_stream::ending::closed);
  stand_still();
}

void session::cut() noexcept {
  note_unanswered();
  end_stream(resp_stream::ending::reset);
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
  if (state_ != state::up || !stream_.direct()) starve();
}

void session::connect() noexcept {
  state_ = state::locating;
  loop_.add_interest(1);  // some thread has to drive until connected
  sure_of_server_at_ = boot_clock::now();
  loop_.arm(connect_timer_, sure_of_server_at_ + config_.connect_timeout);
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

void session::found(endpoint const& to, time_point asked_at) noexcept {
  if (state_ != state::locating) return;
  sure_of_server_at_ = asked_at;
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
    stream_.connect(to_);
  } catch (error const& failure) {
    drop(errc::bad_url, [&failure] { return failure.what(); }, end::final);
  }
}

void session::on_connected() {
  state_ = state::greeting;
  connection_id_ = ++counts_.connects;
  greeting_ = std::make_unique<handshake>(
      to_, config_.client_name, config_.locator == nullptr ? handshake::role::any : handshake::role::master,
      config_.known_broken == nullptr ? handshake::identity::unasked : handshake::identity::asked);
  if (config_.known_broken != nullptr) greeting_->end_first(config_.known_broken->at(to_), boot_clock::now());
  if (auto const* const curious = explorer()) greeting_->explore(curious->probe());
  out_ = greeting_->commands();
  loop_.writers().mark(*this);
  stream_.read();
}

void session::on_received(resp::reply&& reply) {
  if (state_ == state::greeting) {
    on_greeting(reply);
    return;
  }
  on_reply(std::move(reply));
  // Not before: the peer may accept the handshake, and hang up on each request, or refuse each.
  if (up()) pause_.reset();
}

void session::on_greeting(resp::reply const& reply) {
  auto const step = greeting_->on_reply(reply);
  switch (step) {
    case handshake::step::more:
      return;
    case handshake::step::send:
      out_ += greeting_->commands();
      loop_.writers().mark(*this);
      return;
    case handshake::step::done: {
      auto found = greeting_->take_found();
      if (config_.known_broken != nullptr) {
        note_.assign(1, {.at = to_, .id = greeting_->own_info(), .greeted_at = boot_clock::now()});
        if (!greeting_->ended().empty())
          config_.known_broken->settle(greeting_->ended(), greeting_->not_ended());
      }
      greeting_.reset();
      if (!starved_) connect_timer_.disarm();
      state_ = state::up;
      errors_.note_reached();
      loop_.add_interest(-1);
      on_up(std::move(found));
      loop_.writers().mark(*this);
      if (config_.locator != nullptr) config_.locator->on_reached(*this);
      return;
    }
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

void session::on_failed(resp_stream::failure kind, std::string_view text) noexcept {
  using failure = resp_stream::failure;
  switch (kind) {
    case failure::not_connected:
      drop(errc::unreachable, [text] { return std::string{text}; });
      return;
    case failure::hung_up:
    case failure::broken:
      drop(errc::unreachable, [&] {
        auto reason = stream_.peer() + ": " + std::string{text};
        // A TLS port just closes a connection without TLS.
        if (kind == failure::hung_up && state_ == state::greeting && to_.transport == endpoint::scheme::tcp) {
          reason += " (is that a TLS port? The URL begins with rediss then)";
        }
        return reason;
      });
      return;
    case failure::not_resp:
      drop(
          errc::protocol,
          [&] { return config_.server.display + " (" + stream_.peer() + "): " + std::string{text}; },
          end::final);
      return;
    case failure::no_memory:
      if (on_its_way() || up()) drop(errors_.no_memory(), end::elsewhere);
      return;
  }
}

bool session::flush(bool driving) {
  if (state_ != state::up && state_ != state::greeting) return true;  // written when it is up
  if (stream_.writing()) return true;                                 // written after the write under way
  auto const most_beside = loop_.has_outer() ? write_beside_visits : write_beside_driver;
  if (!driving && (!stream_.direct() || outstanding() >= most_beside)) return false;
  try {
    if (state_ == state::up) gather(out_);
    if (!out_.empty()) stream_.write(out_);
  } catch (std::exception const&) {
    starve();  // some or all bytes were not written
  }
  return true;
}

/// Records the connection if replies are outstanding. A reset discards the bytes that this machine still has.
/// Bytes in the network, in a proxy, or unread at the server only the server can discard.
void session::note_unanswered() noexcept {
  if (state_ != state::up || outstanding() == 0 || config_.known_broken == nullptr) return;
  config_.known_broken->add(std::move(note_));
}

void session::end_stream(resp_stream::ending mode) noexcept {
  if (on_its_way()) loop_.add_interest(-1);
  stream_.end(mode);
  greeting_.reset();
  out_.clear();
  starved_ = false;
}

void session::drop(std::shared_ptr<error const> const& reason, end outcome) noexcept {
  if (up()) ++counts_.disconnects;
  note_unanswered();
  end_stream(resp_stream::ending::reset);
  connect_timer_.disarm();
  state_ = state::pausing;
  loop_.arm(pause_timer_, boot_clock::now() + pause_.next(random_));
  on_down(reason, outcome);
  if (troubled_) notify(troubled_);
}

}  // namespace holdfast::net
