#include "statistics.hpp"

#include "audience.hpp"

#include <initializer_list>

namespace holdfast::server {

void add_statistics(abi::info_context* const info, int /*for_crash_report*/) {
  if (abi::redis.info_add_section(info, "") != abi::ok) return;
  struct field {
    char const* name;
    unsigned long long value;
  };
  for (auto const& [name, value] :
       {field{"taken", counts.taken}, field{"busy", counts.busy}, field{"queued", counts.queued},
        field{"released", counts.released}, field{"passed", counts.passed}, field{"granted", counts.granted},
        field{"woken", counts.woken}, field{"unreachable", counts.unreachable},
        field{"renewed", counts.renewed}, field{"lost", counts.lost},
        field{"replicates", listeners.possible ? 1U : 0U}})
    abi::redis.info_add_field(info, name, value);
}

}  // namespace holdfast::server
