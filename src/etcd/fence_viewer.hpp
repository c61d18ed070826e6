/// Checked writes on etcd, as src/sync asks for them: docs/decisions/0079. No code.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <holdfast/error.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "etcd/fence_mark.hpp"

namespace holdfast::etcd {

/// One request of a fence.
struct fence_deed {
  enum class kind : std::uint8_t {
    look,   ///< which is the newest token
    claim,  ///< make that token the newest, and no more
    set,
    append,
    increment,
    erase,
  };
  kind type = kind::look;
  std::int64_t token = 0;
  std::string key{};  ///< behind the prefix of the URL
  std::string text{};
  std::int64_t number = 0;
  std::chrono::milliseconds ttl{};  ///< of a key that is set; 0: it has none
};

struct fence_answer {
  bool written = false;     ///< false: a newer token has been seen, and nothing was changed
  std::int64_t newest = 0;  ///< token that was seen
};

/// A fence as an object. Its name is unlike that of any other; all behind it is fencing's, under the client's
/// lock.
struct fence_writer {
  struct job;

  std::string resource{};
  std::chrono::milliseconds remember{};  ///< 0: for ever
  std::string name{};

  std::deque<std::shared_ptr<job>> jobs{};  ///< the first one is under way
  std::int64_t last_number = 0;             ///< of its writes
  std::optional<fence_mark> mark{};         ///< as it was last seen; nullopt: to be read
  std::int64_t lease = 0;                   ///< one that the mark has had …
  time_point lasts_until{};                 ///< … and how long that lasts at least
};

/// All under the client's lock.
class fence_viewer {
 public:
  /// Called later, once, with the failure, or null.
  using handler = std::function<void(std::shared_ptr<error const>, fence_answer)>;

  fence_viewer() = default;
  fence_viewer(fence_viewer const&) = delete;
  fence_viewer& operator=(fence_viewer const&) = delete;
  virtual ~fence_viewer() = default;

  /// What one writer wants is done in its order. errc::wrong_type: the mark is somebody else's.
  virtual void carry_out(std::shared_ptr<fence_writer> const& by, fence_deed wanted, handler done) = 0;
};

}  // namespace holdfast::etcd
