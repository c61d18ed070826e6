#include "etcd/mailbox.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <utility>

namespace holdfast::etcd {

void mailbox::put(letter f) {
  std::lock_guard const hold{guard_};
  if (loop_ == nullptr) return;
  letters_.push_back(std::move(f));
  if (!std::exchange(posted_, true))
    boost::asio::post(loop_->io(), [self = shared_from_this()] { self->deliver(); });
}

void mailbox::close() noexcept {
  std::lock_guard const hold{guard_};
  loop_ = nullptr;
}

void mailbox::deliver() {
  std::vector<letter> all;
  reactor::loop* loop = nullptr;
  {
    std::lock_guard const hold{guard_};
    posted_ = false;
    all.swap(letters_);
    loop = loop_;
  }
  if (loop == nullptr) return;
  reactor::handling const hold{*loop};
  for (auto& each : all) {
    {
      std::lock_guard const still{guard_};
      if (loop_ == nullptr) return;
    }
    each();
  }
}

}  // namespace holdfast::etcd
