#include "topology/single.hpp"

#include <utility>

namespace holdfast::topology {

single::single(reactor::loop& on, net::settings const& how, client_stats& counts)
    : on_{on}, how_{how}, counts_{counts}, usual_{on, how, counts}, messages_{on, how, counts} {}

void single::send(net::request what) {
  if (what.over == net::lane::usual) {
    usual_.send(std::move(what));
    return;
  }
  if (!acknowledged_) acknowledged_ = std::make_unique<net::connection>(on_, how_, counts_);
  acknowledged_->send(std::move(what));
}

void single::shut(std::shared_ptr<error const> const& why) {
  messages_.close();
  usual_.shut(why);
  if (acknowledged_) acknowledged_->shut(why);
}

void single::listen(std::string const& channel, channel_of /*whose*/, net::subscriber::listener& who) {
  messages_.listen(channel, who);
}

}  // namespace holdfast::topology
