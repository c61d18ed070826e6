// The parser of replies: in which pieces bytes arrive makes no difference, and what was read can be written
// and read again.

#include "fuzz/fuzz.hpp"
#include "resp/command.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::fuzzing;
using outcome = resp::parser::outcome;

struct result {
  std::vector<resp::reply> replies{};
  bool broken = false;

  friend bool operator==(result const&, result const&) = default;
};

/// `size_of`: of the next piece.
template <class SizeOf>
result parse(std::string_view bytes, SizeOf size_of) {
  resp::parser parser{small};
  result all;
  while (!bytes.empty() && !all.broken) {
    auto const size = std::min<std::size_t>(size_of(), bytes.size());
    auto const room = parser.prepare(size);
    require(room.size() >= size, "there is room");
    std::ranges::copy(bytes.substr(0, size), room.begin());
    parser.commit(size);
    bytes.remove_prefix(size);
    resp::reply next;
    outcome now{};
    while ((now = parser.next(next)) == outcome::reply) all.replies.push_back(next);
    all.broken = now == outcome::broken;
    require(parser.why().empty() != all.broken, "a reason stands there when it is broken");
  }
  require(parser.capacity() <= 4 * small.max_bytes, "memory is bounded");
  return all;
}

void write(resp::reply const& reply, std::string& to) {
  switch (reply.type) {
    case resp::kind::nil:
      to += "$-1\r\n";
      return;
    case resp::kind::integer:
      to += ":" + std::to_string(reply.integer) + "\r\n";
      return;
    case resp::kind::error:
      to += "-" + reply.text + "\r\n";
      return;
    case resp::kind::text:
      resp::append_bulk(to, reply.text);
      return;
    case resp::kind::array:
      resp::append_array_header(to, reply.size());
      for (auto const& element : reply.elements) write(element, to);
  }
}

/// An array of texts is a command.
void check_command(resp::reply const& reply) {
  std::vector<std::string_view> words;
  for (auto const& element : reply.elements) {
    if (!element.is_text()) return;
    words.push_back(element.text);
  }
  std::string bytes;
  resp::append_command(bytes, words);
  require(resp::arguments_of(bytes) == words, "a command is read as it was written");
  std::string_view left{bytes};
  std::vector<std::string_view> again;
  require(resp::take_whole_command(left, again) && again == words && left.empty(), "a server reads it, too");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const bytes = text_of(data, size);
  auto const whole = parse(bytes, [&] { return bytes.size(); });
  require(parse(bytes, [] { return 1; }) == whole, "single bytes give the same");
  std::size_t step = size;
  auto const some = [&step] { return 1 + (step = step * 13 + 7) % 31; };
  require(parse(bytes, some) == whole, "pieces give the same");

  std::string written;
  for (auto const& reply : whole.replies) {
    write(reply, written);
    if (reply.is_array()) check_command(reply);
  }
  auto const again = parse(written, [&] { return written.size(); });
  require(again.replies == whole.replies && !again.broken, "what is written is read again");
  return 0;
}
