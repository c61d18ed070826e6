/// Compare-and-delete and compare-and-set, as different servers say them: the one place that knows how their
/// replies differ. No I/O.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "resp/reply.hpp"
#include "script/capabilities.hpp"

namespace holdfast::scripting {

/// The outcome for a key that has to have a certain value.
enum class compared : std::uint8_t {
  done,      ///< it had the value: it is deleted, or its ttl is set
  other,     ///< it has another value, or isn't a string
  gone,      ///< there is no such key
  differs,   ///< one of the two: the server doesn't say which
  unsuited,  ///< the command isn't there, isn't allowed, is none of ours, or needs memory: nothing was done
  failed,    ///< any other error
};

/// Deletes the key if it has that value. One reply.
void append_delete_if(std::string& out, dialect native, std::string_view key, std::string_view value);

/// Gives the key that ttl if it has that value, which it keeps. One reply. Always with a ttl: without one
/// these commands drop the ttl that the key has, and TairString's KEEPTTL does, too.
void append_expire_if(std::string& out, dialect native, std::string_view key, std::string_view value,
                      std::string_view ttl_ms);

/// Gives the key another value if it has the expected one, and that ttl; an empty one: none.
void append_set_if(std::string& out, dialect native, std::string_view key, std::string_view expected,
                   std::string_view value, std::string_view ttl_ms);

/// The reply to any of these.
[[nodiscard]] compared read_compared(resp::reply const& reply) noexcept;

}  // namespace holdfast::scripting
