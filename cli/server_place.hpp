/// What a URL names: one server, or several that belong together; and connections to each of them.
#pragma once

#include "address.hpp"
#include "deployment_kind.hpp"
#include "server_session.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

/// Asks nobody; the sessions that it makes do.
class server_place {
 public:
  /// Throws errc::bad_url.
  explicit server_place(std::string_view url, name_scope of = {});
  ~server_place();
  server_place(server_place const&) = delete;
  server_place& operator=(server_place const&) = delete;

  [[nodiscard]] deployment_kind kind() const noexcept;
  /// Without its passwords.
  [[nodiscard]] std::string const& url() const noexcept;
  /// As the sentinels call it.
  [[nodiscard]] std::string const& master() const noexcept;
  /// Those that the URL names: the sentinels, some nodes, the masters of the quorum. None for one server.
  [[nodiscard]] std::vector<address> const& hosts() const noexcept;

  /// With the only server.
  [[nodiscard]] std::unique_ptr<server_session> to_server() const;
  /// With one of hosts().
  [[nodiscard]] std::unique_ptr<server_session> to_host(std::size_t index) const;
  /// With a server that others have named so, which keeps data.
  [[nodiscard]] std::unique_ptr<server_session> to_announced(address const&) const;
  /// With a sentinel that others have named so.
  [[nodiscard]] std::unique_ptr<server_session> to_sentinel(address const&) const;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace holdfast::cli
