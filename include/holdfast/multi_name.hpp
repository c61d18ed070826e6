/// A name of a multi_mutex, and how it is taken: to write, to read, or as permits.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <utility>

namespace holdfast {

/// One of the names of a multi_mutex. The functions below make it; a name alone is taken to write.
struct multi_name {
  /// How a name is taken.
  enum class hold : std::uint8_t {
    write,    ///< as a mutex of that name, or one that writes with a shared_mutex
    read,     ///< as one that reads with a shared_mutex
    permits,  ///< as one that acquires permits of an expiring_semaphore
  };

  /// A name alone is taken to write.
  template <std::convertible_to<std::string> Text>
  multi_name(Text&& text) : name{std::forward<Text>(text)} {}  // NOLINT(*-explicit-*): a name is one

  std::string name;        ///< the name of the lock
  hold as = hold::write;   ///< how it is taken
  std::int64_t count = 1;  ///< of permits
  /// The permits of a semaphore that has no number of them yet; 0: none is offered. See expiring_semaphore,
  /// *Size*.
  std::int64_t size = 0;
};

/// The name is taken as by a mutex.
[[nodiscard]] inline multi_name write(std::string name) { return {std::move(name)}; }

/// The name is taken as by shared_mutex::acquire_shared().
[[nodiscard]] inline multi_name read(std::string name) {
  multi_name result{std::move(name)};
  result.as = multi_name::hold::read;
  return result;
}

/// `count` permits are taken as by expiring_semaphore::acquire(). `size`: see multi_name.
[[nodiscard]] inline multi_name permits(std::string name, std::int64_t count = 1, std::int64_t size = 0) {
  multi_name result{std::move(name)};
  result.as = multi_name::hold::permits;
  result.count = count;
  result.size = size;
  return result;
}

}  // namespace holdfast
