/// Errors: what failed, on which name and server, and what to do about it.
///
/// A busy lock is never an error: try_… functions return `false` or an empty optional for it. Blocking
/// functions throw `holdfast::error`; callbacks get it as a std::exception_ptr.
#pragma once

#include <holdfast/export.hpp>

#include <string>
#include <system_error>
#include <type_traits>

namespace holdfast {

/// What went wrong. Comparable with std::error_code through the category `holdfast`.
enum class errc {
  unreachable = 1,  ///< The server could not be asked: refused, time-out, DNS, TLS, connection lost.
  unauthorized,     ///< Wrong user or password, or an ACL right is missing; what() names the right.
  bad_url,          ///< The URL can't be used; what() names the part and what is allowed.
  wrong_type,       ///< The key of that name holds another type of value.
  protocol,         ///< What answered isn't a Redis server, or a reply broke a limit.
  refused,          ///< The server said no: READONLY, OOM, MISCONF, CLUSTERDOWN…; what() has its words.
  cancelled,        ///< The caller's std::stop_token was triggered.
  lost,             ///< The lease is no longer held; what() has the cause.
  closed,           ///< The client is shut down.
  forked,           ///< The client belongs to the parent of this forked process.
  busy,             ///< synchronized() was told to fail when the lock is busy.
  unreplicated,     ///< Fewer replicas than lock_options::replicas acknowledged in time, or the disk didn't
                    ///< (lock_options::fsynced); what() says how many.
  expired,          ///< A latch wasn't counted down in latch_options::expires_after.
  broken,           ///< A generation of a barrier has ended without opening; what() says who left or died.
  deadlock,         ///< Threads wait for one another's locks, and this wait was the last of these to begin
                    ///< (lock_options::detect_deadlock); what() spells the circle out.
};

/// The category of errc. Never fails; safe from all threads.
HOLDFAST_EXPORT [[nodiscard]] std::error_category const& error_category() noexcept;
HOLDFAST_EXPORT [[nodiscard]] std::error_code make_error_code(errc) noexcept;

/// What every throwing function of Holdfast throws.
///
/// `code()` is a holdfast::errc, or a std::errc:
/// - operation_not_permitted: unlock() by a thread that doesn't hold the lock;
/// - resource_deadlock_would_occur: a second lock() by the same thread, or too many callbacks that wait (see
///   client);
/// - invalid_argument: a name or an option is out of range;
/// - resource_unavailable_try_again, too_many_files_open: the process may have no more threads or files;
/// - not_enough_memory: see client; std::bad_alloc is possible as well.
///
/// `what()` names the lock, the server and what to do.
class HOLDFAST_EXPORT error : public std::system_error {
 public:
  /// For Holdfast itself, and for tests of code that catches it.
  error(std::error_code code, std::string const& what) : std::system_error{code}, what_{what} {}
  error(errc code, std::string const& what) : error{make_error_code(code), what} {}
  error(std::errc code, std::string const& what) : error{std::make_error_code(code), what} {}

  /// What was wrong, with which name or server, and what to do.
  [[nodiscard]] char const* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

}  // namespace holdfast

/// A holdfast::errc converts to a std::error_code.
template <>
struct std::is_error_code_enum<holdfast::errc> : std::true_type {};
