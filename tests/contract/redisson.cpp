#include "contract/redisson.hpp"

#include <algorithm>
#include <array>

namespace holdfast::contract::redisson {
namespace {

/// Replaces owners by their letters.
std::string shortened(std::string text) {
  for (auto const& [letter, owner] : {std::pair{"A", A}, {"B", B}, {"C", C}, {"E", E}}) {
    for (auto position = text.find(owner); position != std::string::npos; position = text.find(owner))
      text.replace(position, owner.size(), letter);
  }
  return text;
}

/// Rounded up to ten seconds, so that the duration of a test doesn't matter.
std::string rounded(std::int64_t ms) { return std::to_string((ms + 9'999) / 10'000 * 10'000) + "-"; }

std::string joined(words const& list) {
  std::string text;
  for (auto const& item : list) text += (text.empty() ? "" : ", ") + item;
  return text;
}

/// Joins every two elements to `name:value`.
words pairs(std::vector<raw_reply> const& elements, std::string (*show)(std::string const&)) {
  words list;
  for (std::size_t i = 0; i + 1 < elements.size(); i += 2)
    list.push_back(elements[i].text + ":" + show(elements[i + 1].text));
  return list;
}

}  // namespace

testing::Matcher<raw_reply const&> is_granted(std::int64_t first_token, std::int64_t count) {
  return is_list({first_token, count});
}

testing::Matcher<raw_reply const&> is_busy(testing::Matcher<std::int64_t> const& pttl,
                                           std::string_view holder, std::int64_t ahead) {
  return contract::is_busy(pttl, ahead, 0, holder, -1, 0);
}

testing::Matcher<std::int64_t> about(std::int64_t ms) { return left_of(ms); }

std::int64_t wire::now_ms() {
  auto const time = command({"TIME"});
  return std::stoll(time.elements.at(0).text) * 1'000 + std::stoll(time.elements.at(1).text) / 1'000;
}

std::int64_t wire::score(std::string const& key, std::string_view member) {
  return std::stoll(command({"ZSCORE", key, std::string{member}}).text);
}

std::string wire::value_of(std::string const& key) {
  auto const kind = command({"TYPE", key}).text;
  if (kind == "string") return raw_.get(key).value_or("");
  if (kind == "hash") {
    auto fields = pairs(command({"HGETALL", key}).elements, [](std::string const& text) { return text; });
    std::ranges::sort(fields);
    return "{" + joined(fields) + "}";
  }
  if (kind == "list") {
    words list;
    for (auto const& element : command({"LRANGE", key, "0", "-1"}).elements) list.push_back(element.text);
    return "[" + joined(list) + "]";
  }
  auto const now = now_ms();
  words members;
  for (auto const& element : command({"ZRANGE", key, "0", "-1"}).elements)
    members.push_back(element.text + ":" + rounded(score(key, element.text) - now));
  return "<" + joined(members) + ">";
}

words wire::keys() {
  words all;
  auto names = raw_.keys();
  std::ranges::sort(names);
  for (auto const& key : names) {
    auto const ttl = raw_.pttl(key);
    all.push_back(shortened(key + " " + value_of(key) + " " + (ttl == no_ttl ? "ttl -1" : rounded(ttl))));
  }
  return all;
}

words wire::messages() {
  auto list = all_.take();
  std::ranges::transform(list, list.begin(), shortened);
  return list;
}

}  // namespace holdfast::contract::redisson
