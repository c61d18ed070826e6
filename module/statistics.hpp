/// What the commands did since the module was loaded, for INFO. docs/module.md says what each number counts.
#pragma once

#include "abi.hpp"

namespace holdfast::server {

struct statistics {
  unsigned long long taken = 0;
  unsigned long long busy = 0;
  unsigned long long queued = 0;
  unsigned long long released = 0;
  unsigned long long passed = 0;
  unsigned long long granted = 0;
  unsigned long long woken = 0;
  unsigned long long unreachable = 0;
  unsigned long long renewed = 0;
  unsigned long long lost = 0;
};

inline constinit statistics counts{};

void add_statistics(abi::info_context*, int for_crash_report);

}  // namespace holdfast::server
