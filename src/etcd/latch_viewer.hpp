/// Latches on etcd, as src/sync asks for them: their counts are no matter of the engine. No code.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <holdfast/error.hpp>
#include <memory>
#include <string>

namespace holdfast::etcd {

/// All under the client's lock. Each handler comes later, once, with the failure, or null. errc::wrong_type:
/// the name is something else.
class latch_viewer {
 public:
  template <class Answer>
  using handler = std::function<void(std::shared_ptr<error const>, Answer)>;

  latch_viewer() = default;
  latch_viewer(latch_viewer const&) = delete;
  latch_viewer& operator=(latch_viewer const&) = delete;
  virtual ~latch_viewer() = default;

  /// How often it is still to be counted down; 0: it is open. errc::expired, here and in count_down().
  virtual void count(std::string const& name, handler<std::int64_t> done) = 0;
  /// Closes it for so many, and for so long, unless that is zero. False: it is closed already.
  virtual void set(std::string const& name, std::int64_t number, std::chrono::milliseconds expires_after,
                   handler<bool> done) = 0;

  struct counting {
    std::string participant{};
    bool named = false;  ///< it isn't by chance that no other one is called so
    std::int64_t number = 1;
  };
  /// False: that participant has counted already, or the latch is open.
  virtual void count_down(std::string const& name, counting by, handler<bool> done) = 0;
  /// False: it was open.
  virtual void open(std::string const& name, handler<bool> done) = 0;
};

}  // namespace holdfast::etcd
