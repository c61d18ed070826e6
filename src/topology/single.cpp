#include "topology/single.hpp"

#include <utility>

namespace holdfast::topology {

single::single(reactor::loop& on, net::settings const& how, client_stats& counts, refusal_handler refused)
    : on_{on},
      how_{how},
      counts_{counts},
      refused_{std::move(refused)},
      usual_{on, how, counts},
      messages_{on, how, counts} {
  watch(usual_);
}

void single::watch(net::connection& one) {
  if (!refused_) return;
  one.on_refusal([this, &one](net::pipeline::finished& what) { return refused_(one, what); });
}

void single::send(net::request what) {
  if (what.over == net::lane::usual) {
    usual_.send(std::move(what));
    return;
  }
  if (!acknowledged_) {
    acknowledged_ = std::make_unique<net::connection>(on_, how_, counts_);
    watch(*acknowledged_);
  }
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
