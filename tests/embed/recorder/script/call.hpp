// Replaces src/script/call.hpp, so that the generator is tested without the library.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

struct key {
  std::string_view text;
};
struct arg {
  std::string_view text;
};
struct script {
  std::string_view name;
  std::string_view sha1;
  std::string_view text;
};

struct call {
  call(script const& code, std::initializer_list<key> first_keys, std::initializer_list<arg> first_args,
       std::span<key const> more_keys = {}, std::span<arg const> more_args = {})
      : source{code} {
    for (auto const& each : first_keys) keys.emplace_back(each.text);
    for (auto const& each : more_keys) keys.emplace_back(each.text);
    for (auto const& each : first_args) args.emplace_back(each.text);
    for (auto const& each : more_args) args.emplace_back(each.text);
  }

  script source;
  std::vector<std::string> keys{};
  std::vector<std::string> args{};
};

}  // namespace holdfast
