#include "reactor/interruption.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace holdfast::reactor {

void interruption::want(boost::asio::io_context& io) noexcept {
  if (std::exchange(wanted_, true)) return;
  // A post that the driver hasn't run yet makes it return, too; and there is room for one only.
  if (posted_.exchange(true)) return;
  boost::asio::post(io, in_room{&room_, [this] {
                                  posted_ = false;
                                  told_ = true;
                                }});
}

}  // namespace holdfast::reactor
