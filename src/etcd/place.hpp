/// A client's place in the queue of a lock.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "base/callback.hpp"
#include "etcd/leases.hpp"

namespace holdfast::etcd {

/// What this client knows of one owner id: its key, if there is one. Requests about it are made one after the
/// other.
struct place {
  std::string owner{};
  std::string name{};
  bool reads = false;           ///< beside other readers
  std::string claim{};          ///< what it is among the keys of its lease: see leases::take
  std::string value{};          ///< of its key
  lease_ptr lease{};            ///< null: there is no key
  std::string key{};            ///< empty until the lease is granted
  std::int64_t revision = 0;    ///< in which the key was made; 0: as far as is known there is none
  std::int64_t seen = 0;        ///< the newest revision of the store in which a renewal has found it
  std::int64_t ahead = 0;       ///< at most so many are before it
  bool unsure = false;          ///< a request without an answer may make the key, perhaps only later
  bool held = false;            ///< it was the first one
  std::uint64_t watch = 0;      ///< of the key before it, or of its own when it was renewed; 0: none
  std::string watched{};        ///< that key
  reactor::timer watching{{}};  ///< it has been held for a while: its own key is watched from then on
  reactor::timer end{{}};       ///< the engine hasn't renewed it: its key is deleted then
  bool busy = false;
  std::deque<callback<void()>> next{};
};
using place_ptr = std::shared_ptr<place>;

}  // namespace holdfast::etcd
