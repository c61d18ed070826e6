#include "engine/petitions.hpp"

#include "unit/engine_parts.hpp"

namespace holdfast::engine {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class a_release_request : public engine_parts {
 public:
  ~a_release_request() override { queue_->holder = nullptr; }

 protected:
  a_release_request() { queue_->holder = lease_.get(); }

  holders holders_;
  std::vector<std::uint64_t> lost_;
  petitions requests_{loop_, backend_, queues_, holders_,
                      [this](lease_state& lease) { lost_.push_back(lease.number()); }};
  lock_queue_ptr queue_{pin()};
  lease_state_ptr lease_{make_lease(queue_, 7)};
};

TEST_F(a_release_request, ends_a_lease_when_the_server_confirms_it) {
  requests_.on_hint(7);
  pass(0s);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("EXISTS"));
  EXPECT_THAT(lost_, IsEmpty());
  backend_.reply(resp::make_integer(1));
  EXPECT_THAT(lost_, ElementsAre(7u));
}

TEST_F(a_release_request, changes_nothing_when_it_is_a_hint_alone) {
  requests_.on_hint(7);
  pass(0s);
  backend_.reply(resp::make_integer(0));
  EXPECT_THAT(lost_, IsEmpty());
}

TEST_F(a_release_request, about_no_lease_of_this_client_asks_nothing) {
  requests_.on_hint(8);
  pass(0s);
  EXPECT_THAT(backend_.take_sent(), IsEmpty());
}

TEST_F(a_release_request, costs_little_however_often_it_comes) {
  requests_.on_hint(7);
  pass(0s);
  requests_.on_hint(7);
  requests_.on_hint(7);
  pass(0s);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("EXISTS")) << "the next look is later";
  pass(10ms);
  EXPECT_THAT(backend_.take_sent(), ElementsAre("EXISTS"));
}

TEST_F(a_release_request, for_a_lease_that_has_ended_meanwhile_changes_nothing) {
  requests_.on_hint(7);
  pass(0s);
  queue_->holder = nullptr;
  backend_.reply(resp::make_integer(1));
  EXPECT_THAT(lost_, IsEmpty());
}

}  // namespace
}  // namespace holdfast::engine
