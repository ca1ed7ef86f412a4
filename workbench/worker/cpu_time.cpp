// SPDX-License-Identifier: MIT
#include "worker/cpu_time.hpp"

#include <fmt/format.h>
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

nanoseconds children_time(pid_t pid) {
  const auto text = RealFileSystem().read(fmt::format("/proc/{}/stat", pid), 4'096);
  const std::size_t after_name = text.ok() ? text->rfind(')') : std::string::npos;
  if (after_name == std::string::npos) return nanoseconds(0);
  std::istringstream words(text->substr(after_name + 1));
  // state, then 13 numbers, of which the last two are utime and stime; then cutime and cstime.
  std::string skipped;
  for (int i = 0; i < 13; ++i) words >> skipped;
  long long user = 0, system = 0;
  words >> user >> system;
  return words ? nanoseconds((user + system) * tick().count()) : nanoseconds(0);
}

std::optional<long long> busy_ticks(const std::string& stat, const std::vector<int>& cpus) {
  std::istringstream lines(stat);
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
    if (std::find(cpus.begin(), cpus.end(), cpu) == cpus.end()) continue;
    ++found;
    for (const std::size_t i : {0, 1, 2, 5, 6, 7}) ticks += spent[i];
  }
  if (found != cpus.size()) return std::nullopt;
  return ticks;
}

std::optional<nanoseconds> busy_time() {
  const auto text = RealFileSystem().read("/proc/stat", 1u << 20);
  if (!text.ok()) return std::nullopt;
  const auto ticks = busy_ticks(*text, device::allowed_cpus());
  if (!ticks) return std::nullopt;
  return *ticks * tick();
}

double mean_cpus(nanoseconds taken, nanoseconds passed, std::size_t cpus) {
  const auto doubt = k_doubtful_ticks * static_cast<long>(cpus) * tick();
  return std::max(
      0.0, std::chrono::duration<double>(taken - doubt) / std::chrono::duration<double>(passed));
}

ForeignCpus::ForeignCpus(pid_t subject, pid_t judge)
    : m_subject(subject),
      m_judge(judge),
      m_begin(std::chrono::steady_clock::now()),
      m_before(others()) {}

ForeignCpus::Account ForeignCpus::others() const {
  const auto all = busy_time(), subjects = cpu_time(m_subject);
  const auto own = read_clock(CLOCK_PROCESS_CPUTIME_ID);
  if (!all || !subjects || !own) return std::nullopt;
  const auto judges = m_judge > 0 ? cpu_time(m_judge) : std::optional(nanoseconds(0));
  if (!judges) return std::nullopt;
  return *all - *subjects - *own - *judges;
}

bool ForeignCpus::explain_less_than_half_of(double waited_us) const {
  const Account now = others();
  if (!now || !m_before) return false;
  const auto doubt = k_doubtful_ticks * static_cast<long>(device::allowed_cpus().size()) * tick();
  const nanoseconds at_most = *now - *m_before + doubt;
  return std::chrono::duration<double, std::micro>(at_most).count() < 0.5 * waited_us;
}

std::optional<double> ForeignCpus::mean() const {
  const Account now = others();
  const auto passed = std::chrono::steady_clock::now() - m_begin;
  if (!now || !m_before || !(passed.count() > 0)) return std::nullopt;
  return mean_cpus(*now - *m_before, passed, device::allowed_cpus().size());
}

}  // namespace wb::worker
