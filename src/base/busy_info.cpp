#include <holdfast/busy_info.hpp>

#include "base/printable.hpp"

namespace holdfast {
namespace {

/// A time in at most two units: "41 s", "3 min 20 s", "2 h 5 min".
std::string spoken(std::chrono::microseconds time) {
  using namespace std::chrono;
  auto const with = [](auto big, char const* unit, auto rest, char const* small) {
    auto text = std::to_string(big.count()) + unit;
    if (rest.count() > 0) text += " " + std::to_string(rest.count()) + small;
    return text;
  };
  if (time < 1s) return std::to_string(duration_cast<milliseconds>(time).count()) + " ms";
  if (time < 1min) return std::to_string(duration_cast<seconds>(time).count()) + " s";
  if (time < 1h) return with(floor<minutes>(time), " min", floor<seconds>(time) - floor<minutes>(time), " s");
  if (time < days{1})
    return with(floor<hours>(time), " h", floor<minutes>(time) - floor<hours>(time), " min");
  return with(floor<days>(time), " d", floor<hours>(time) - floor<days>(time), " h");
}

std::string some(std::int64_t permits) {
  return std::to_string(permits) + (permits == 1 ? " permit" : " permits");
}

/// How permits are taken, and by whom.
std::string taken_permits(busy_info const& busy) {
  if (busy.permits < 0) return "nobody has said how many permits there are";
  if (busy.wanted > busy.permits)
    return some(busy.wanted) + " can't be had before there are more than " + std::to_string(busy.permits);
  auto text = busy.taken < busy.permits
                  ? std::to_string(busy.taken) + " of " + some(busy.permits) + " are taken"
              : busy.permits == 1 ? std::string{"the only permit is taken"}
                                  : "all " + some(busy.permits) + " are taken";
  if (!busy.holder.owner.empty())
    text += ", by " + busy.holder.to_string() + (busy.taken > 1 ? " and perhaps others" : "");
  if (busy.wanted > 1) text += "; " + std::to_string(busy.wanted) + " are wanted";
  return text;
}

}  // namespace

std::string process_info::to_string() const {
  if (host.empty() && pid == 0) return owner.empty() ? "unknown" : "unknown (" + printable(owner) + ")";
  auto text = host.empty() ? std::string{"unknown host"} : printable(host);
  if (pid != 0) text += " pid " + std::to_string(pid);
  if (!label.empty()) {
    text += " '" + printable(label) + "'";
  } else if (!program.empty()) {
    text += " (" + printable(program) + ")";
  }
  return text;
}

std::string busy_info::to_string() const {
  if (wanted > 0)
    return taken_permits(*this) + (ahead > 0 ? "; " + std::to_string(ahead) + " ahead of you" : "");
  auto text = held_for ? "held for " + spoken(*held_for) + " by " : std::string{"held by "};
  text += holder.to_string();
  if (ahead > 0) text += ", " + std::to_string(ahead) + " ahead of you";
  if (never_expires) text += "; its key never expires";
  return text;
}

}  // namespace holdfast
