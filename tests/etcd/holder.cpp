#include "holder.hpp"

#include <holdfast/barrier.hpp>
#include <holdfast/client.hpp>
#include <holdfast/election.hpp>
#include <holdfast/error.hpp>
#include <holdfast/expiring_semaphore.hpp>
#include <holdfast/multi_mutex.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/shared_mutex.hpp>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <string_view>

namespace holdfast::test {

namespace {

void lead(std::string const& url, std::string const& name, std::string const& value,
          std::chrono::milliseconds ttl) {
  client etcd{url, {.patience = std::chrono::seconds{20}}};
  election contested{etcd, name, {.ttl = ttl}};
  auto leading = contested.campaign(value);
  std::cout << "leads " << leading.token() << std::endl;
  std::string line;
  std::getline(std::cin, line);
  std::cout << to_string(leading.release()) << std::endl;
}

void read(std::string const& url, std::string const& name, std::chrono::milliseconds ttl) {
  client etcd{url, {.patience = std::chrono::seconds{20}}};
  shared_mutex lock{etcd, name, {.ttl = ttl}};
  auto reading = lock.acquire_shared();
  std::cout << "reads " << reading.token() << std::endl;
  std::string line;
  std::getline(std::cin, line);
  std::cout << to_string(reading.release()) << std::endl;
}

void hold_slot(std::string const& url, std::string const& name, int size, std::chrono::milliseconds ttl) {
  client etcd{url, {.patience = std::chrono::seconds{20}}};
  expiring_semaphore slots{etcd, name, size, {.ttl = ttl}};
  auto held = slots.acquire();
  std::cout << "holds " << held.token() << std::endl;
  std::string line;
  std::getline(std::cin, line);
  std::cout << to_string(held.release()) << std::endl;
}

/// `names`: with commas between them.
void hold_several(std::string const& url, std::string const& names, std::chrono::milliseconds ttl) {
  client etcd{url, {.patience = std::chrono::seconds{20}}};
  std::vector<std::string> all;
  std::istringstream text{names};
  for (std::string each; std::getline(text, each, ',');) all.push_back(each);
  multi_mutex lock{etcd, all, {.ttl = ttl}};
  auto held = lock.acquire();
  std::cout << "held " << held.token(all.front()) << std::endl;
  std::string line;
  std::getline(std::cin, line);
  std::cout << to_string(held.release()) << std::endl;
}

void arrive(std::string const& url, std::string const& name, int parties, std::chrono::milliseconds ttl) {
  try {
    client etcd{url, {.patience = std::chrono::seconds{20}}};
    barrier step{etcd, name, parties, {.ttl = ttl}};
    std::cout << "passed " << step.arrive_and_wait() << std::endl;
  } catch (error const& failure) {
    std::cout << failure.what() << std::endl;
  }
}

}  // namespace

void hold_if_requested(int argc, char** argv) {
  if (argc == 6 && std::string_view{argv[1]} == "slot") {
    hold_slot(argv[2], argv[3], std::stoi(argv[4]), std::chrono::milliseconds{std::stoi(argv[5])});
    std::exit(0);
  }
  if (argc == 5 && std::string_view{argv[1]} == "several") {
    hold_several(argv[2], argv[3], std::chrono::milliseconds{std::stoi(argv[4])});
    std::exit(0);
  }
  if (argc == 6 && std::string_view{argv[1]} == "arrive") {
    arrive(argv[2], argv[3], std::stoi(argv[4]), std::chrono::milliseconds{std::stoi(argv[5])});
    std::exit(0);
  }
  if (argc == 5 && std::string_view{argv[1]} == "read") {
    read(argv[2], argv[3], std::chrono::milliseconds{std::stoi(argv[4])});
    std::exit(0);
  }
  if (argc == 6 && std::string_view{argv[1]} == "lead") {
    lead(argv[2], argv[3], argv[4], std::chrono::milliseconds{std::stoi(argv[5])});
    std::exit(0);
  }
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

several_process::several_process(std::string const& url, std::string const& names,
                                 std::chrono::milliseconds ttl)
    : line_process{{std::filesystem::read_symlink("/proc/self/exe").string(), "several", url, names,
                    std::to_string(ttl.count())}} {}

reader_process::reader_process(std::string const& url, std::string const& name, std::chrono::milliseconds ttl)
    : line_process{{std::filesystem::read_symlink("/proc/self/exe").string(), "read", url, name,
                    std::to_string(ttl.count())}} {}

slot_process::slot_process(std::string const& url, std::string const& name, int size,
                           std::chrono::milliseconds ttl)
    : line_process{{std::filesystem::read_symlink("/proc/self/exe").string(), "slot", url, name,
                    std::to_string(size), std::to_string(ttl.count())}} {}

arriver_process::arriver_process(std::string const& url, std::string const& name, int parties,
                                 std::chrono::milliseconds ttl)
    : line_process{{std::filesystem::read_symlink("/proc/self/exe").string(), "arrive", url, name,
                    std::to_string(parties), std::to_string(ttl.count())}} {}

leader_process::leader_process(std::string const& url, std::string const& name, std::string const& value,
                               std::chrono::milliseconds ttl)
    : line_process{{std::filesystem::read_symlink("/proc/self/exe").string(), "lead", url, name, value,
                    std::to_string(ttl.count())}} {}

}  // namespace holdfast::test
