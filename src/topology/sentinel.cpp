#include "topology/sentinel.hpp"

#include <string_view>
#include <utility>

namespace holdfast::topology {
namespace {

net::settings located_by(net::locator& where, net::settings how) {
  how.locator = &where;
  return how;
}

/// What a refusal says of the server that we take for the master.
enum class meaning {
  nothing,
  doubtful,           ///< it may have been replaced, or be cut off from the others
  demoted,            ///< it is the master no more, and hasn't done what it was asked to
  demoted_meanwhile,  ///< the same, and what was done before the request may be lost: it was about that
};

meaning meaning_of(resp::reply const& refusal) {
  auto const has = [&refusal](std::string_view words) {
    return refusal.text.find(words) != std::string::npos;
  };
  auto const code = refusal.error_code();
  // Redis before 7 puts the words of what a script met into its own.
  if (code == "READONLY" || code == "MASTERDOWN" || has("-READONLY ")) return meaning::demoted;
  if (code == "UNBLOCKED" || has("WAIT cannot be used with replica") ||
      has("WAITAOF cannot be used with replica")) {
    return meaning::demoted_meanwhile;
  }
  return code == "LOADING" || code == "NOREPLICAS" ? meaning::doubtful : meaning::nothing;
}

}  // namespace

sentinel::sentinel(reactor::loop& on, net::deployment_url const& where, net::settings const& how,
                   client_stats& counts, events tell)
    : which_{on, where, how, counts, tell},
      how_{located_by(which_, how)},
      master_{on,
              how_,
              counts,
              {.refused = [this](net::connection_role over,
                                 net::pipeline::batch& what) { return on_refusal(over, what); },
               .troubled = {},
               .broken = std::move(tell.broken)}} {}

bool sentinel::on_refusal(net::connection_role over, net::pipeline::batch& what) {
  auto& one = what.front();
  auto const says = meaning_of(one.response.reply);
  switch (says) {
    case meaning::nothing:
      return false;
    case meaning::doubtful:
      which_.look_again();
      return false;
    case meaning::demoted:
      one.response.sent = one.response.resent;  // this time nothing was done
      break;
    case meaning::demoted_meanwhile:
      one.response.resent = true;
      break;
  }
  auto const why = "this is the master no more: " + one.response.reply.text;
  master_.over(over).start_over(std::move(what), why);
  return true;
}

void sentinel::shut(std::shared_ptr<error const> const& why) noexcept {
  which_.shut();
  master_.shut(why);
}

}  // namespace holdfast::topology
