#include "common/exit_codes.hpp"

#include <holdfast/error.hpp>

namespace holdfast::cli {

exit_code exit_code_for(std::error_code const& error) {
  if (error == std::errc::invalid_argument) return usage;
  if (error.category() != holdfast::error_category()) return internal;
  switch (static_cast<holdfast::errc>(error.value())) {
    case holdfast::errc::unreachable:
    case holdfast::errc::refused:
    case holdfast::errc::unreplicated:
      return unavailable;
    case holdfast::errc::unauthorized:
      return unauthorized;
    case holdfast::errc::bad_url:
      return usage;
    case holdfast::errc::wrong_type:
      return wrong_type;
    case holdfast::errc::protocol:
      return protocol;
    case holdfast::errc::lost:
      return lost;
    case holdfast::errc::busy:
    case holdfast::errc::deadlock:
      return busy;
    case holdfast::errc::cancelled:
    case holdfast::errc::closed:
    case holdfast::errc::forked:
    case holdfast::errc::expired:
    case holdfast::errc::broken:
      break;
  }
  return internal;
}

}  // namespace holdfast::cli
