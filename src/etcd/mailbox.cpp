#include "etcd/mailbox.hpp"

#include <utility>

#include "reactor/outer.hpp"

namespace holdfast::etcd {

bool mailbox::put(letter&& f) {
  std::lock_guard const hold{guard_};
  if (loop_ == nullptr) return false;
  letters_.push_back(std::move(f));
  if (!std::exchange(posted_, true))
    reactor::post(loop_->io(), [self = shared_from_this()] { self->deliver(); });
  return true;
}

void mailbox::put_or_call(letter f) {
  // NOLINTNEXTLINE(bugprone-use-after-move): what isn't put is left as it was
  if (!put(std::move(f))) f();
}

void mailbox::close() {
  for (;;) {
    std::vector<letter> all;
    {
      std::lock_guard const hold{guard_};
      all.swap(letters_);
      if (all.empty()) {
        loop_ = nullptr;
        return;
      }
    }
    for (auto& each : all) each();
  }
}

void mailbox::deliver() {
  reactor::loop* loop = nullptr;
  {
    std::lock_guard const hold{guard_};
    posted_ = false;
    loop = loop_;
  }
  if (loop == nullptr) return;
  reactor::handling const hold{*loop};
  std::vector<letter> all;
  {
    std::lock_guard const still{guard_};
    all.swap(letters_);
  }
  for (auto& each : all) each();
}

}  // namespace holdfast::etcd
