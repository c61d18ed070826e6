#include "net/session_errors.hpp"

#include <system_error>

namespace holdfast::net {

session_errors::session_errors(std::string const& display, std::string const& advice)
    : display_{display},
      advice_{advice},
      no_memory_{std::make_shared<error const>(std::errc::not_enough_memory, display + ": out of memory")} {}

std::shared_ptr<error const> session_errors::explain(errc code, std::string const& text) const {
  auto const prefix = code == errc::unreachable ? "cannot reach " + display_ + ": " : std::string{};
  auto const advice = code == errc::unreachable && !reached_ ? advice_ : std::string{};
  return std::make_shared<error const>(code, prefix + text + advice);
}

}  // namespace holdfast::net
