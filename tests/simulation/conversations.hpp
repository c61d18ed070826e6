/// Conversations with the server: what each is about, and who takes part.
#pragma once

#include <vector>

#include "simulation/stage.hpp"

namespace holdfast::simulation {

struct conversation {
  char const* title;
  void (*begin)(stage& scene, cast const& kinds);
  bool (*fits)(cast const& kinds);  ///< null: with all kinds
};

[[nodiscard]] std::vector<conversation> const& all_conversations();

}  // namespace holdfast::simulation
