#include "script/runner.hpp"

#include <memory>
#include <utility>

namespace holdfast::scripting {
namespace {

std::string encode(call const& what, std::string_view verb, std::string_view script) {
  std::string bytes;
  bytes.reserve(script.size() + what.tail.size() + 48);
  resp::append_array_header(bytes, what.parts);
  resp::append_bulk(bytes, verb);
  resp::append_bulk(bytes, script);
  bytes += what.tail;
  return bytes;
}

}  // namespace

void run(net::connection& on, call what, std::function<void(net::answer&&)> done, waiting how) {
  auto bytes = encode(what, "EVALSHA", what.source->sha1);
  on.send({.bytes = std::move(bytes),
           .done =
               [&on, what = std::move(what), done = std::move(done), how](net::answer&& how_it_went) mutable {
                 if (!how_it_went.reply.is_error("NOSCRIPT")) {
                   if (done) done(std::move(how_it_went));
                   return;
                 }
                 auto again = encode(what, "EVAL", what.source->text);
                 on.send({.bytes = std::move(again),
                          .done = std::move(done),
                          .while_down = how.while_down,
                          .give_up = how.give_up});
               },
           .while_down = how.while_down,
           .give_up = how.give_up});
}

}  // namespace holdfast::scripting
