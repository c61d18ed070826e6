#include "run/run_options.hpp"

namespace holdfast::cli {

std::vector<run_name> names_of(run_options const& options) {
  std::vector<run_name> all{{.name = options.name, .side = options.side, .slots = options.slots}};
  all.insert(all.end(), options.with.begin(), options.with.end());
  return all;
}

}  // namespace holdfast::cli
