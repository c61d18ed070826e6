// Loads the part of the library that speaks gRPC.

#include <dlfcn.h>

#include <cstdlib>
#include <holdfast/error.hpp>
#include <mutex>

#include "base/fork.hpp"
#include "etcd/channel.hpp"

namespace holdfast::etcd {
namespace {

constexpr auto usual_file = "libholdfast-etcd.so.0";

/// The file to load: one of that folder, for tests and programs that bring it along; else where the linker
/// looks.
std::string file_name() {
  auto const* const chosen = ::secure_getenv("HOLDFAST_ETCD_LIBRARY");
  return chosen != nullptr && *chosen != '\0' ? chosen : usual_file;
}

constinit open_channel loaded = nullptr;
constinit int loaded_by = 0;  ///< see fork_generation

open_channel load(std::string const& url) {
  auto const file = file_name();
  // It stays for the life of the process: gRPC has threads of its own.
  auto* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    throw error{errc::bad_url,
                url + ": the part of Holdfast that speaks to etcd can't be loaded (" +
                    std::string{::dlerror()} +
                    "); it is libholdfast-etcd.so.0 of a build with -DHOLDFAST_ETCD=ON, and has to be where "
                    "the linker "
                    "looks, or where the environment variable HOLDFAST_ETCD_LIBRARY says (docs/etcd.md)"};
  }
  auto* const entry = ::dlsym(library, channel_entry);
  if (entry == nullptr) {
    throw error{errc::bad_url,
                url + ": " + file + " is of another version of Holdfast: install the one of this version"};
  }
  return reinterpret_cast<open_channel>(entry);
}

}  // namespace

std::unique_ptr<channel> open(settings const& to, channel_events const& events, std::string const& url) {
  open_channel entry = nullptr;
  {
    std::lock_guard const hold{guard_across_fork(static_cast<void const*>(&loaded))};
    if (loaded == nullptr) {
      loaded = load(url);
      loaded_by = fork_generation();
    }
    if (loaded_by != fork_generation()) {
      throw error{errc::forked,
                  url +
                      ": this process was forked by one that has used etcd, and gRPC has no threads in "
                      "it; make the client before that one's first, or call exec()"};
    }
    entry = loaded;
  }
  return std::unique_ptr<channel>{entry(to, events)};
}

}  // namespace holdfast::etcd
