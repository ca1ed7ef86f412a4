// SPDX-License-Identifier: MIT
#include "engine/tune_builds.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <iterator>

namespace wb {
namespace {

constexpr int k_max_cpu = 4'095;

/// Children inherit it. Where it cannot be had the builders run anywhere, and a turn that they
/// disturb is flagged and taken again.
void keep_to(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) {
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(cpu), &set);
  }
  if (!cpus.empty()) (void)::sched_setaffinity(0, sizeof set, &set);
}

}  // namespace

std::optional<std::vector<int>> cpus_of(std::string_view text) {
  std::vector<int> cpus;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (at != end) {
    int first = -1;
    const auto read_first = std::from_chars(at, end, first);
    if (read_first.ec != std::errc()) return std::nullopt;
    at = read_first.ptr;
    int last = first;
    if (at != end && *at == '-') {
      const auto read_last = std::from_chars(at + 1, end, last);
      if (read_last.ec != std::errc()) return std::nullopt;
      at = read_last.ptr;
    }
    if (first < 0 || last < first || last > k_max_cpu) return std::nullopt;
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (at == end) return cpus;
    if (*at++ != ',') return std::nullopt;
  }
  return std::nullopt;
}

BuildPlace place_of_builds(const Device& device, std::string_view transport,
                           const std::vector<int>& allowed) {
  const std::size_t all = std::max<std::size_t>(allowed.size(), 1);
  if (device.backend != "cpu" || transport.starts_with("ssh ")) return {true, all, {}};
  const std::size_t colon = device.id.rfind(':');
  const auto measured =
      colon == std::string::npos ? std::nullopt : cpus_of(device.id.substr(colon + 1));
  if (!measured) return {false, all, {}};
  BuildPlace place{true, 0, {}};
  std::copy_if(allowed.begin(), allowed.end(), std::back_inserter(place.cpus), [&](int cpu) {
    return std::find(measured->begin(), measured->end(), cpu) == measured->end();
  });
  if (place.cpus.empty()) return {false, all, {}};
  place.builders = place.cpus.size();
  return place;
}

BuildQueue::BuildQueue(Build build, const BuildPlace& place) : m_build(std::move(build)) {
  for (std::size_t i = 0; i < std::max<std::size_t>(place.builders, 1); ++i) {
    m_threads.emplace_back([this, cpus = place.cpus] { work(cpus); });
  }
}

BuildQueue::~BuildQueue() {
  {
    const std::lock_guard lock(m_mutex);
    m_closing = true;
    m_waiting.clear();
  }
  m_wanted.notify_all();
  for (std::thread& thread : m_threads) thread.join();
}

void BuildQueue::want(const std::vector<Configuration>& soonest_first) {
  {
    const std::lock_guard lock(m_mutex);
    m_waiting.clear();
    for (const Configuration& configuration : soonest_first) {
      const bool is_built = std::any_of(m_built.begin(), m_built.end(), [&](const Built& built) {
        return built.configuration == configuration;
      });
      if (!is_built && !m_running.contains(configuration)) m_waiting.push_back(configuration);
    }
  }
  m_wanted.notify_all();
}

std::vector<BuildQueue::Built> BuildQueue::take(std::chrono::milliseconds patience) {
  std::unique_lock lock(m_mutex);
  m_ended.wait_for(lock, patience, [&] { return !m_built.empty(); });
  return std::exchange(m_built, {});
}

bool BuildQueue::is_idle() const {
  const std::lock_guard lock(m_mutex);
  return m_waiting.empty() && m_running.empty() && m_built.empty();
}

void BuildQueue::work(const std::vector<int>& cpus) {
  keep_to(cpus);
  std::unique_lock lock(m_mutex);
  while (true) {
    m_wanted.wait(lock, [&] { return m_closing || !m_waiting.empty(); });
    if (m_closing) return;
    const Configuration configuration = m_waiting.front();
    m_waiting.erase(m_waiting.begin());
    m_running.insert(configuration);
    lock.unlock();
    const auto started = std::chrono::steady_clock::now();
    Outcome<Subject> subject = [&]() -> Outcome<Subject> {
      try {
        return m_build(configuration);
      } catch (const std::exception& fault) {  // out of memory, say; the thread must not die of it
        return Failure{Invalidity::environment, std::string("the builder failed: ") + fault.what(),
                       ""};
      }
    }();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - started;
    lock.lock();
    m_running.erase(configuration);
    m_built.push_back({configuration, std::move(subject), wall.count()});
    m_ended.notify_all();
  }
}

}  // namespace wb
