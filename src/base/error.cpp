#include <holdfast/error.hpp>

namespace holdfast {
namespace {

class category final : public std::error_category {
 public:
  [[nodiscard]] char const* name() const noexcept override { return "holdfast"; }

  [[nodiscard]] std::string message(int code) const override {
    switch (static_cast<errc>(code)) {
      case errc::unreachable:
        return "the server could not be asked";
      case errc::unauthorized:
        return "wrong user or password, or a right is missing";
      case errc::bad_url:
        return "the URL can't be used";
      case errc::wrong_type:
        return "the key holds another type of value";
      case errc::protocol:
        return "what answered doesn't speak the Redis protocol, or a reply broke a limit";
      case errc::refused:
        return "the server refused the request";
      case errc::cancelled:
        return "cancelled by its stop token";
      case errc::lost:
        return "the lease is no longer held";
      case errc::closed:
        return "the client is shut down";
      case errc::forked:
        return "the client belongs to the parent of this forked process";
      case errc::busy:
        return "the lock is busy";
      case errc::unreplicated:
        return "too few replicas, or disks, acknowledged the acquisition";
      case errc::expired:
        return "the latch wasn't counted down in its time";
      case errc::broken:
        return "a generation of the barrier has ended without opening";
      case errc::deadlock:
        return "threads wait for one another's locks";
    }
    return "unknown error " + std::to_string(code);
  }
};

// Not a function-local static: another thread may be initializing that when this process forks.
constinit category const instance{};

}  // namespace

std::error_category const& error_category() noexcept { return instance; }

std::error_code make_error_code(errc code) noexcept { return {static_cast<int>(code), error_category()}; }

}  // namespace holdfast
