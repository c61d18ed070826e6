// What the sentinels say, for errors and warnings.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "topology/sentinel_locator.hpp"

namespace holdfast::topology {

std::string sentinel_locator::describe_views() const {
  std::string all;
  for (auto const& link : links_) {
    auto const name = net::host_and_port(link->endpoint().host, link->endpoint().port);
    all += all.empty() ? "" : "; ";
    if (link->asking()) {
      all += name + " doesn't answer";
    } else if (link->view() == nullptr) {
      all += link->trouble() ? link->trouble()->what() : name + " wasn't asked";
    } else if (auto const& master = link->view()->master; master) {
      all += name + " says " + net::host_and_port(master->host, master->port);
    } else {
      all += name + " knows no such master";
    }
  }
  return all;
}

/// Called when no sentinel names a master.
void sentinel_locator::fail_waiting() {
  std::vector<std::string> names;
  auto answered = false;
  auto code = errc::unreachable;
  for (auto const& link : links_) {
    if (link->asking()) continue;
    answered = answered || link->view() != nullptr;
    for (auto const& name : link->names()) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    if (link->trouble() && link->trouble()->code() != errc::unreachable)
      code = static_cast<errc>(link->trouble()->code().value());
  }
  std::string text;
  if (answered) {
    std::string known;
    for (auto const& name : names) known += (known.empty() ? "\"" : ", \"") + name + '"';
    code = errc::bad_url;
    text = "the sentinels know no master \"" + url_.master + "\"" +
           (known.empty() ? ", nor any other: look at their configuration (sentinel monitor)"
                          : "; they know " + known) +
           " (" + describe_views() + ")";
  } else {
    text = "no sentinel can say where the master is: " + describe_views();
  }
  if (code != errc::unreachable) text = config_.server.display + ": " + text;  // else the session adds it
  auto const ending = code == errc::unauthorized ? net::session::end::final : net::session::end::broken;
  for (std::size_t i = 0; i != sessions_.size(); ++i) {
    if (std::exchange(sessions_[i].waiting, false)) sessions_[i].session->not_found(code, text, ending);
  }
}

}  // namespace holdfast::topology
