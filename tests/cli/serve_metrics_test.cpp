// The metrics of `holdfast serve` are those that docs/serve.md explains.
#include "serve_fixture.hpp"

#include <gmock/gmock.h>

#include <iterator>
#include <regex>
#include <set>
#include <string>

namespace {

using namespace holdfast::test;

class serve_metrics : public serve_fixture {};

/// The first groups of all matches.
std::set<std::string> found_in(std::string const& text, std::string const& pattern) {
  std::set<std::string> found;
  std::regex const wanted{pattern};
  for (std::sregex_iterator match{text.begin(), text.end(), wanted}, end; match != end; ++match)
    found.insert((*match)[1]);
  return found;
}

TEST_F(serve_metrics, are_all_explained_and_no_other) {
  open();
  list_of(0);
  auto const page_text = content_of(HOLDFAST_SOURCE_DIR "/docs/serve.md");
  auto const section = page_text.substr(page_text.find("\n## Metrics"));
  auto explained = found_in(section, "`(holdfast_serve_[a-z_]+)`");
  for (auto const& name : found_in(section, "`_([a-z_]+)`")) explained.insert("holdfast_serve_" + name);
  EXPECT_EQ(found_in(get("/metrics").body, "# TYPE ([a-z_]+) "), explained);
}

}  // namespace
