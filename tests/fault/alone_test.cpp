/// The short requests of a reader, and of a permit, that has its name alone, each disturbed in every way.
/// Where the machine is slow a full script goes out in the place of one, undisturbed.
#include "fault.hpp"

#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/shared_mutex.hpp>

#include "scripts/permits.hpp"
#include "scripts/shared.hpp"

namespace holdfast::test {
namespace {

class alone_fault : public fault {
 protected:
  template <class Take>
  void at_every_harm(std::string_view short_release, Take take) {
    for (auto const kind : {std::string_view{"EXEC"}, short_release}) {
      for (auto const& h : harms) {
        SCOPED_TRACE(std::string{kind} + ": " + h.title);
        ASSERT_TRUE(eventually([&] {  // until the next acquisition is a short one
          proxy_.forget();
          EXPECT_EQ(take().release(), release_result::released);
          return proxy_.count("EXEC") != 0;
        }));
        std::atomic<bool> met = false;
        auto const decision = proxy_.decide_by([&met, &h, kind](request const& r) {
          if (kind_of(r) != kind || met.exchange(true)) return fate::pass();
          return h.effect;
        });
        auto lease = take();
        EXPECT_TRUE(lease.valid());
        EXPECT_TRUE(raw_.exists("m"));
        std::atomic<int> outcome = -1;  // release() gives up waiting at about the reply time-out
        lease.async_release([&outcome](release_result r) { outcome = static_cast<int>(r); });
        ASSERT_TRUE(eventually([&outcome] { return outcome >= 0; }));
        EXPECT_EQ(release_result{outcome.load()}, release_result::released);
        EXPECT_TRUE(nothing_left_behind());
      }
    }
  }

  flaky_proxy proxy_{server_.socket_path()};
  client redis_{proxy_.url(), with_long_timeouts({.reply_timeout = 500ms})};
};

TEST_F(alone_fault, lets_a_reader_in_and_out_once) {
  shared_mutex mutex{redis_, "m"};
  std::int64_t last = 0;
  at_every_harm(scripts::shared::fast_release::source.sha1, [&] {
    auto lease = mutex.acquire_shared();
    EXPECT_GE(lease.token(), last);
    last = lease.token();
    return lease;
  });
}

TEST_F(alone_fault, gives_a_permit_and_takes_it_back_once) {
  expiring_semaphore slots{redis_, "m", 3};
  std::int64_t last = 0;
  at_every_harm(scripts::permits::fast_release::source.sha1, [&] {
    auto lease = slots.acquire();
    EXPECT_GT(lease.token(), last);
    last = lease.token();
    return lease;
  });
}

}  // namespace
}  // namespace holdfast::test
