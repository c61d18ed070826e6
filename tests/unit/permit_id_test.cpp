#include "wire/redisson/permit_id.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace {

using namespace holdfast::recipes::redisson;

constexpr std::string_view client_uuid = "00112233-4455-4677-8899-aabbccddeeff";

std::string shown_id(std::string_view number) {
  return shown(permit_id(std::string{client_uuid} + ":" + std::string{number}));
}

TEST(permit_id, is_the_uuid_of_the_client_plus_the_number_of_the_owner) {
  EXPECT_EQ(shown_id("0"), "00112233445546778899aabbccddeeff");
  EXPECT_EQ(shown_id("1"), "00112233445546778899aabbccddef00");
  EXPECT_EQ(shown_id("4660"), "00112233445546778899aabbccde0133");
  EXPECT_EQ(permit_id(std::string{client_uuid} + ":7").size(), 16u);
}

TEST(permit_id, starts_again_at_the_end_of_its_last_eight_bytes) {
  EXPECT_EQ(shown_id("18446744073709551615"), "00112233445546778899aabbccddeefe");
}

TEST(permit_id, is_another_one_for_each_owner_of_a_client) {
  std::set<std::string> known;
  for (auto n = 0; n < 1'000; ++n) EXPECT_TRUE(known.insert(shown_id(std::to_string(n))).second) << n;
}

TEST(permit_id, is_read_as_it_is_shown) {
  auto const id = permit_id(std::string{client_uuid} + ":99");
  EXPECT_EQ(read_permit_id(shown(id)), id);
  EXPECT_EQ(read_permit_id("00112233445546778899AABBCCDDEEFF"), permit_id(std::string{client_uuid} + ":0"));
}

TEST(permit_id, is_nothing_but_32_hexadecimal_digits) {
  EXPECT_FALSE(read_permit_id(""));
  EXPECT_FALSE(read_permit_id("00112233445546778899aabbccddeef"));
  EXPECT_FALSE(read_permit_id("00112233445546778899aabbccddeeff0"));
  EXPECT_FALSE(read_permit_id("00112233445546778899aabbccddeefg"));
  EXPECT_FALSE(read_permit_id("-0112233445546778899aabbccddeeff"));
  EXPECT_FALSE(read_permit_id("00112233-4455-4677-8899-aabbccddee"));
}

}  // namespace
