#include "handlers.hpp"

#include <algorithm>
#include <string_view>

namespace holdfast::server::compare {
namespace {

enum class comparison { equal, different, absent, refused };

comparison compare(request& call, stored_key const& key, std::string_view const expected) {
  if (key.is_absent()) return comparison::absent;
  auto const text = key.text();
  if (!text) {
    call.refuse(abi::wrong_type);
    return comparison::refused;
  }
  return *text == expected ? comparison::equal : comparison::different;
}

long long answer(comparison const found) { return found == comparison::absent ? -1 : 0; }

struct new_expiry {
  bool keep = false;
  unix_ms when = abi::no_expiry;
};

bool is_word(std::string_view const text, std::string_view const word) {
  return text.size() == word.size() && std::equal(text.begin(), text.end(), word.begin(), [](char a, char b) {
           return (a >= 'a' && a <= 'z' ? a - 'a' + 'A' : a) == b;
         });
}

new_expiry expiry_in(request& call) {
  struct unit {
    std::string_view word;
    unix_ms milliseconds;
    unix_ms since;
  };
  auto const words = call.rest();
  if (words.empty()) return {};
  auto const option = text_of(words[0]);
  if (words.size() == 1 && is_word(option, "KEEPTTL")) return {.keep = true};
  auto const now = call.now_ms();
  for (auto const& [word, milliseconds, since] :
       {unit{"EX", 1000, now}, unit{"PX", 1, now}, unit{"EXAT", 1000, 0}, unit{"PXAT", 1, 0}}) {
    if (words.size() != 2 || !is_word(option, word)) continue;
    auto const number = parse_number(text_of(words[1]));
    if (!number || *number < 1 || *number > largest_number / 1000) {
      call.refuse("ERR the time to live must be a whole number greater than 0");
      return {};
    }
    return {.when = since + *number * milliseconds};
  }
  call.refuse("ERR syntax error");
  return {};
}

}  // namespace

void and_set(request& call) {
  auto const expected = call.text();
  auto* const text = call.string();
  auto const wanted = expiry_in(call);
  if (call.refused()) return;
  stored_key key{call.context(), call.keys()[0]};
  auto const found = compare(call, key, expected);
  if (found == comparison::refused) return;
  if (found != comparison::equal) return call.reply(answer(found));
  // A renewal takes no memory, so it works where SET doesn't.
  if (text_of(text) != expected && call.is_out_of_memory()) return call.refuse(abi::out_of_memory);
  auto const when = wanted.keep ? key.expires_at() : wanted.when;
  auto const done = when == abi::no_expiry ? key.set_without_expiry(text) : key.set(text, expiry{when});
  if (!done) return call.refuse("ERR this server can't write the key");
  call.reply(1);
}

void and_delete(request& call) {
  auto const expected = call.text();
  stored_key key{call.context(), call.keys()[0]};
  auto const found = compare(call, key, expected);
  if (found == comparison::refused) return;
  if (found != comparison::equal) return call.reply(answer(found));
  key.remove();
  call.reply(1);
}

}  // namespace holdfast::server::compare
