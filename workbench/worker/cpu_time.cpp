// SPDX-License-Identifier: MIT
#include "worker/cpu_time.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <sstream>

#include "core/files.hpp"
#include "device/device.hpp"

namespace wb::worker {
namespace {

using std::chrono::nanoseconds;

constexpr int k_doubtful_ticks = 2;  ///< of each CPU: one at either end

nanoseconds tick() {
  return nanoseconds(std::chrono::seconds(1)) / std::max<long>(::sysconf(_SC_CLK_TCK), 1);
}

std::optional<nanoseconds> read_clock(clockid_t clock) {
  timespec time{};
  if (::clock_gettime(clock, &time) != 0) return std::nullopt;
  return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

}  // namespace

std::optional<nanoseconds> cpu_time(pid_t pid) {
  clockid_t clock{};
  if (::clock_getcpuclockid(pid, &clock) != 0) return std::nullopt;
  return read_clock(clock);
}

std::optional<nanoseconds> busy_time() {
  const auto text = RealFileSystem().read("/proc/stat", 1u << 20);
  if (!text.ok()) return std::nullopt;
  const std::vector<int> own = allowed_cpus();
  std::istringstream lines(*text);
  long long ticks = 0;
  std::size_t found = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    // user nice system idle iowait irq softirq steal
    std::array<long long, 8> spent{};
    words >> name;
    if (!name.starts_with("cpu") || name == "cpu") continue;
    for (long long& value : spent) words >> value;
    if (!words) return std::nullopt;
    const int cpu = std::stoi(name.substr(3));
    if (std::find(own.begin(), own.end(), cpu) == own.end()) continue;
    ++found;
    for (const std::size_t i : {0, 1, 2, 5, 6, 7}) ticks += spent[i];
  }
  if (found != own.size()) return std::nullopt;
  return ticks * tick();
}

ForeignCpus::ForeignCpus(pid_t subject)
    : m_subject(subject), m_begin(std::chrono::steady_clock::now()), m_before(others()) {}

ForeignCpus::Account ForeignCpus::others() const {
  const auto all = busy_time(), subjects = cpu_time(m_subject);
  const auto own = read_clock(CLOCK_PROCESS_CPUTIME_ID);
  if (!all || !subjects || !own) return std::nullopt;
  return *all - *subjects - *own;
}

std::optional<double> ForeignCpus::mean() const {
  const Account now = others();
  const auto passed = std::chrono::steady_clock::now() - m_begin;
  if (!now || !m_before || !(passed.count() > 0)) return std::nullopt;
  const auto doubt = k_doubtful_ticks * static_cast<long>(allowed_cpus().size()) * tick();
  const nanoseconds taken = *now - *m_before - doubt;
  return std::max(0.0,
                  std::chrono::duration<double>(taken) / std::chrono::duration<double>(passed));
}

}  // namespace wb::worker
