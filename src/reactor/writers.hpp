/// What a client's connections have to send, collected until the end of a turn.
#pragma once

#include <boost/intrusive/list.hpp>
#include <exception>

namespace holdfast::reactor {

/// An object with bytes to write at the end of a turn.
class flushable
    : public boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  flushable() = default;
  flushable(flushable const&) = delete;
  flushable& operator=(flushable const&) = delete;
  virtual ~flushable() = default;

  /// `driving`: this thread runs the loop, so flush may access anything. Otherwise flush does only what is
  /// safe beside the driver, and returns false if bytes are left for it.
  virtual bool flush(bool driving) = 0;

  /// Called after an exception came out of Asio: some handler was lost, perhaps one of this object's.
  virtual void on_lost_handler() noexcept = 0;

 private:
  friend class writers;
  boost::intrusive::list_member_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> known_;
};

/// Under the lock of their loop.
class writers {
 public:
  /// There are bytes to write.
  void mark(flushable& writer) noexcept {
    if (writer.is_linked()) return;
    marked_.push_back(writer);
    refused_ = false;
  }
  /// The same ahead of all that have bytes by now.
  void mark_first(flushable& writer) noexcept {
    if (writer.is_linked()) return;
    marked_.push_front(writer);
    refused_ = false;
  }
  /// Registers an object for on_lost_handler().
  void remember(flushable& writer) noexcept { known_.push_back(writer); }
  void forget(flushable& writer) noexcept {
    writer.unlink();
    writer.known_.unlink();
  }

  /// No bytes are left to write.
  [[nodiscard]] bool empty() const noexcept { return marked_.empty(); }

  /// False: one of them threw.
  [[nodiscard]] bool flush(bool driving) noexcept {
    if (refused_ && !driving)
      return true;  // as they would again: what they go by changes when somebody drives
    auto fine = true;
    list now;
    now.swap(marked_);
    refused_ = !driving;
    while (!now.empty()) {
      auto& writer = now.front();
      now.pop_front();
      try {
        if (!writer.flush(driving) && !writer.is_linked()) marked_.push_back(writer);
      } catch (std::exception const&) {
        fine = false;
      }
    }
    return fine;
  }

  void on_lost_handler() noexcept {
    for (auto& writer : known_) writer.on_lost_handler();
  }

 private:
  using list = boost::intrusive::list<flushable, boost::intrusive::constant_time_size<false>>;
  using known_list = boost::intrusive::list<
      flushable, boost::intrusive::member_hook<flushable, decltype(flushable::known_), &flushable::known_>,
      boost::intrusive::constant_time_size<false>>;

  list marked_;
  bool refused_ = false;  ///< all that are marked, beside the driver
  known_list known_;
};

}  // namespace holdfast::reactor
