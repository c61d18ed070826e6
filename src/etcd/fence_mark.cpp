#include "etcd/fence_mark.hpp"

#include <algorithm>

#include "base/whole_number.hpp"

namespace holdfast::etcd {
namespace {

constexpr std::string_view mark_of_fence{"holdfast fence "};

/// Takes it from the text.
std::string_view next_line(std::string_view& text) {
  auto const line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

}  // namespace

std::optional<fence_mark> fence_mark::read(key_value const& from) {
  std::string_view rest{from.value};
  if (!rest.starts_with(mark_of_fence)) return std::nullopt;
  rest.remove_prefix(mark_of_fence.size());
  auto const token = whole_number(next_line(rest));
  if (!token || *token <= 0) return std::nullopt;
  fence_mark mark{.revision = from.mod_revision, .lease = from.lease, .token = *token};
  while (!rest.empty()) {
    auto const line = next_line(rest);
    auto const space = line.find(' ');
    auto const number = space == std::string_view::npos ? std::nullopt : whole_number(line.substr(space + 1));
    if (!number) return std::nullopt;
    mark.writers.push_back({.writer = std::string{line.substr(0, space)}, .number = *number});
  }
  return mark;
}

std::string fence_mark::text() const {
  auto all = std::string{mark_of_fence} + std::to_string(token);
  for (auto const& each : writers)
    all.append(1, '\n').append(each.writer).append(1, ' ').append(std::to_string(each.number));
  return all;
}

std::int64_t fence_mark::last_of(std::string_view writer) const noexcept {
  auto const found = std::ranges::find(writers, writer, &last_write::writer);
  return found == writers.end() ? 0 : found->number;
}

fence_mark fence_mark::after(std::string_view writer, std::int64_t number, std::int64_t with_token) const {
  fence_mark next{.token = with_token, .writers = {{.writer = std::string{writer}, .number = number}}};
  std::ranges::copy_if(writers, std::back_inserter(next.writers),
                       [&](last_write const& each) { return each.writer != writer; });
  if (next.writers.size() > most_writers) next.writers.pop_back();
  return next;
}

}  // namespace holdfast::etcd
