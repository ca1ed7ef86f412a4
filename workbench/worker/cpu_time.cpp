// SPDX-License-Identifier: MIT
#include "worker/cpu_time.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "core/ascii.hpp"
#include "core/files.hpp"
#include "device/device.hpp"

namespace wb::worker {
namespace {

using std::chrono::nanoseconds;

constexpr int k_doubtful_ticks = 2;  ///< for each CPU: one at either end
/// Below this number of foreign CPUs on cores of the subject's, a turn is hardly affected.
constexpr double k_most_shared_cpus = 0.25;

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
  // state, then 12 numbers, of which the last two are utime and stime; then cutime and cstime.
  constexpr std::size_t k_cutime = 13;
  const auto words = ascii::words(std::string_view(*text).substr(after_name + 1));
  if (words.size() < k_cutime + 2) return nanoseconds(0);
  const auto user = ascii::number<long long>(words[k_cutime]);
  const auto system = ascii::number<long long>(words[k_cutime + 1]);
  return user && system ? nanoseconds((*user + *system) * tick().count()) : nanoseconds(0);
}

std::optional<long long> busy_ticks(const std::string& stat, const std::vector<int>& cpus) {
  long long ticks = 0;
  std::size_t found = 0;
  for (const std::string_view line : ascii::parts(stat, '\n')) {
    if (!line.starts_with("cpu")) continue;
    const auto words = ascii::words(line);
    const auto cpu = ascii::number<int>(words.front().substr(3));
    if (!cpu) continue;  // the sum over all CPUs
    // user nice system idle iowait irq softirq steal
    if (words.size() < 9) return std::nullopt;
    if (std::find(cpus.begin(), cpus.end(), *cpu) == cpus.end()) continue;
    ++found;
    for (const std::size_t i : {1, 2, 3, 6, 7, 8}) {
      const auto spent = ascii::number<long long>(words[i]);
      if (!spent) return std::nullopt;
      ticks += *spent;
    }
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

QuotaWatch::QuotaWatch(const std::filesystem::path& root) {
  device::CpuGroups groups(root);
  if (groups.quota()) m_groups.emplace(std::move(groups));
}

void QuotaWatch::begin() {
  if (m_groups) m_before = m_groups->stops();
}

void QuotaWatch::end() {
  if (m_groups && m_groups->stops() != m_before) m_was_stopped = true;
}

SiblingWatch::SiblingWatch(const WorkerCpus& place)
    : m_place(place), m_begin(std::chrono::steady_clock::now()), m_before(busy()) {}

std::optional<nanoseconds> SiblingWatch::busy() const {
  if (m_place.siblings.empty()) return std::nullopt;
  const auto text = RealFileSystem().read(m_place.root / "proc/stat", 1u << 20);
  if (!text.ok()) return std::nullopt;
  const auto ticks = busy_ticks(*text, m_place.siblings);
  if (!ticks) return std::nullopt;
  return *ticks * tick();
}

double SiblingWatch::mean() const {
  const auto now = busy();
  const auto passed = std::chrono::steady_clock::now() - m_begin;
  if (!now || !m_before || !(passed.count() > 0)) return 0;
  return mean_cpus(*now - *m_before, passed, m_place.siblings.size());
}

bool shares_cores(const WorkerCpus& place, int threads, double sibling_cpus,
                  std::optional<double> foreign_cpus) {
  if (sibling_cpus > k_most_shared_cpus) return true;
  const bool has_threads_of_a_core =
      place.cores > 0 && place.cores < static_cast<std::int64_t>(place.allowed.size());
  if (!has_threads_of_a_core || threads > place.cores || !foreign_cpus) return false;
  return *foreign_cpus > k_most_shared_cpus &&
         threads + *foreign_cpus > static_cast<double>(place.cores) + k_most_shared_cpus;
}

}  // namespace wb::worker
