/// The keys of a latch in etcd (docs/etcd.md), and what they say. No I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "etcd/messages.hpp"

namespace holdfast::etcd::keys {

/// What all keys of a latch begin with; the first one is it.
[[nodiscard]] std::string latch_of(std::string_view folder);
/// It is there until the time of the latch is over.
[[nodiscard]] std::string latch_time_of(std::string_view folder);
/// It is there while the request that has set the latch may be carried out again.
[[nodiscard]] std::string latch_set_by(std::string_view folder, std::string_view request);
/// What the keys of those begin with that have counted the latch down.
[[nodiscard]] std::string counted_of(std::string_view folder);
/// The key of one of them. `named`: it counts once, whoever says so.
[[nodiscard]] std::string counted_by(std::string_view folder, std::int64_t number, bool named,
                                     std::string_view participant);

/// What such a key says; nullopt: it is none.
struct counted_words {
  std::int64_t number = 0;
  std::string participant{};
};
[[nodiscard]] std::optional<counted_words> counted_in(std::string_view folder, std::string_view key);

/// The name of the latch that such a key may be; nullopt: it is none.
[[nodiscard]] std::optional<std::string> name_of_latch(std::string_view prefix, std::string_view key);

/// The value of a latch. `by` is unlike that of any other request.
[[nodiscard]] std::string latch_text(std::int64_t number, bool ends, std::string_view by);
struct latch_words {
  std::int64_t number = 0;
  bool ends = false;  ///< it has a time
};
[[nodiscard]] std::optional<latch_words> latch_in(std::string_view value);

}  // namespace holdfast::etcd::keys

namespace holdfast::etcd {

/// How often a latch of `of` is still to be counted down, behind those that have; it is open from 0 on.
[[nodiscard]] std::int64_t left_of(std::int64_t of, std::string const& folder,
                                   std::span<key_value const> counted);

/// A latch as etcd has it at one moment.
struct latch_reading {
  static constexpr std::size_t answers = 5;
  /// Appends as many ranges to what is asked.
  static void ask(std::vector<operation>& wanted, std::string const& folder);
  latch_reading(std::string const& folder, std::span<found> answered);

  std::string text{};  ///< of its key; empty: there is none
  std::int64_t lease = 0;
  std::int64_t of = 0;
  std::int64_t left = 0;
  bool ends = false;
  bool over = false;     ///< its time is
  std::string misfit{};  ///< why it is no latch

  [[nodiscard]] bool open() const noexcept { return text.empty() || left <= 0; }
};

}  // namespace holdfast::etcd
