#include "etcd/permit_keys.hpp"

#include <algorithm>

#include "base/whole_number.hpp"
#include "etcd/keys.hpp"

namespace holdfast::etcd::keys {
namespace {

/// As with readers: no digit of a lease, so that no other place begins so.
constexpr std::string_view permits{"permit-"};
constexpr std::string_view size{"size"};
constexpr std::string_view mark_of_size{"holdfast size "};

/// As many as a semaphore has at most: sums of them stay far from the limits of their type.
std::optional<std::int64_t> permits_from(std::string_view digits, std::int64_t least) {
  auto const number = whole_number(digits);
  if (!number || *number < least || *number > most_permits) return std::nullopt;
  return number;
}

/// What is before the next hyphen, which is taken off, too.
std::string_view take_part(std::string_view& text) {
  auto const part = text.substr(0, text.find('-'));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  return part;
}

}  // namespace

std::string permits_of(std::string_view folder) { return below(folder, permits); }

std::string permits_of_size(std::string_view folder, std::int64_t altogether) {
  return permits_of(folder).append(std::to_string(altogether)).append(1, '-');
}

std::string permit_place(std::string_view folder, std::int64_t altogether, std::int64_t amount,
                         std::int64_t lease, std::string_view owner) {
  return permits_of_size(folder, altogether)
      .append(std::to_string(amount))
      .append(1, '-')
      .append(digits_of(lease))
      .append(1, '-')
      .append(owner.substr(owner.rfind(':') + 1));
}

std::optional<permit_words> permit_in(key_value const& place) {
  auto rest = std::string_view{place.key};
  rest.remove_prefix(rest.rfind('/') + 1);
  if (place.lease == 0 || !rest.starts_with(permits)) return std::nullopt;
  rest.remove_prefix(permits.size());
  auto const altogether = permits_from(take_part(rest), 0);
  auto const amount = permits_from(take_part(rest), 1);
  if (!altogether || !amount || take_part(rest) != digits_of(place.lease)) return std::nullopt;
  return permit_words{.size = *altogether, .amount = *amount};
}

std::string size_of(std::string_view folder) { return below(folder, size); }

std::string size_text(std::int64_t altogether, std::string_view by) {
  return below(mark_of_size, std::to_string(altogether)).append(1, ' ').append(by);
}

std::optional<std::int64_t> size_in(std::string_view value) {
  if (!value.starts_with(mark_of_size)) return std::nullopt;
  value.remove_prefix(mark_of_size.size());
  return permits_from(value.substr(0, value.find(' ')), 0);
}

}  // namespace holdfast::etcd::keys
