// How the record of a client reads.

#include "engine/record.hpp"

#include <gtest/gtest.h>

#include "resp/make_reply.hpp"

namespace holdfast::engine {
namespace {

using resp::make_array;
using resp::make_text;

constexpr auto first_trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
constexpr auto second_trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

class a_record : public testing::Test {
 protected:
  [[nodiscard]] std::string trace_of(std::string const& id) const {
    auto const reply = make_array({make_text("host"), make_text("web-3"), make_text("traces"),
                                   make_text(std::string{"1="} + first_trace + " 23=" + second_trace +
                                             " 4=\x1b]0;owned 5 =6 7=" + first_trace + "x")});
    return read_record(client + ':' + id, reply).trace;
  }

  std::string client{"0f0e0d0c-0b0a-4908-8706-050403020100"};
};

TEST_F(a_record, says_which_work_has_the_lease_of_a_number) {
  EXPECT_EQ(trace_of("1"), first_trace);
  EXPECT_EQ(trace_of("23"), second_trace);
  EXPECT_EQ(trace_of("23:w"), second_trace) << "it waited as a reader";
}

TEST_F(a_record, says_nothing_of_other_leases) {
  EXPECT_EQ(trace_of("2"), "");
  EXPECT_EQ(trace_of("3"), "");
  EXPECT_EQ(trace_of("230"), "");
}

TEST_F(a_record, is_believed_where_it_has_a_traceparent_alone) {
  EXPECT_EQ(trace_of("4"), "");
  EXPECT_EQ(trace_of("5"), "");
  EXPECT_EQ(trace_of("7"), "");
}

TEST_F(a_record, says_no_trace_of_what_another_library_wrote) {
  auto const reply = make_array({make_text("traces"), make_text(std::string{"1="} + first_trace)});
  EXPECT_EQ(read_record("somebody", reply).trace, "");
}

TEST_F(a_record, tells_a_client_that_says_traces_from_one_that_never_does) {
  EXPECT_FALSE(read_record(make_array({make_text("host"), make_text("web-3")})).traces);
  EXPECT_TRUE(read_record(make_array({make_text("traces"), make_text("-")})).traces);
}

}  // namespace
}  // namespace holdfast::engine
