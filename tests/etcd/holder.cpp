#include "holder.hpp"

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string_view>

namespace holdfast::test {

void hold_if_requested(int argc, char** argv) {
  if (argc != 5 || std::string_view{argv[1]} != "hold") return;
  try {
    client etcd{argv[2], {.patience = std::chrono::seconds{20}}};
    mutex lock{etcd, argv[3], {.ttl = std::chrono::milliseconds{std::stoi(argv[4])}}};
    auto held = lock.acquire();
    std::cout << "held " << held.token() << std::endl;
    std::string line;
    std::getline(std::cin, line);
    std::cout << to_string(held.release()) << std::endl;
  } catch (std::exception const& failure) {
    std::cout << "failed: " << failure.what() << std::endl;
  }
  std::exit(0);
}

holder::holder(std::string const& url, std::string const& name, std::chrono::milliseconds ttl)
    : line_process{{std::filesystem::read_symlink("/proc/self/exe").string(), "hold", url, name,
                    std::to_string(ttl.count())}} {}

}  // namespace holdfast::test
