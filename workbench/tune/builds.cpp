// SPDX-License-Identifier: MIT
#include "tune/builds.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "core/hash.hpp"
#include "engine/subject.hpp"

namespace wb::tune {

using engine::Subject;
using variant::Configuration;

namespace {

/// CPUs left free on a machine whose GPU is measured: for the subject, and for supervisor or judge.
/// If one of them waits for a CPU, the turn has foreign load.
constexpr std::size_t k_measuring_cpus = 2;

/// Restricts this thread and its children to these CPUs. If that fails, builders run anywhere, and
/// turns that they disturb are flagged and repeated.
void keep_to(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) {
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(cpu), &set);
  }
  if (!cpus.empty()) (void)::sched_setaffinity(0, sizeof set, &set);
}

}  // namespace

BuildCpus choose_build_cpus(const device::Device& device, std::string_view transport,
                            const std::vector<int>& allowed) {
  const std::size_t all = std::max<std::size_t>(allowed.size(), 1);
  if (transport.starts_with("ssh ")) return {true, all, {}, {}};
  if (device.backend != "cpu") {
    return {true, std::max(all, k_measuring_cpus + 1) - k_measuring_cpus, {}, {}};
  }
  const std::size_t colon = device.id.rfind(':');
  const auto measured =
      device::parse_cpu_set(colon == std::string::npos ? "" : device.id.substr(colon + 1));
  if (!measured) return {false, all, {}, {}};
  BuildCpus place{true, 0, {}, {}};
  std::partition_copy(allowed.begin(), allowed.end(), std::back_inserter(place.lent_cpus),
                      std::back_inserter(place.cpus), [&](int cpu) {
                        return std::find(measured->begin(), measured->end(), cpu) !=
                               measured->end();
                      });
  if (place.cpus.empty()) return {false, all, {}, {}};
  place.builders = place.cpus.size();
  return place;
}

BuildQueue::BuildQueue(Build build, const BuildCpus& place) : m_build(std::move(build)) {
  for (std::size_t i = 0; i < std::max<std::size_t>(place.builders, 1); ++i) {
    m_threads.emplace_back([this, cpus = place.cpus] { work(cpus, false); });
  }
  for (const int cpu : place.lent_cpus) {
    m_threads.emplace_back([this, cpu] { work({cpu}, true); });
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

void BuildQueue::lend(bool is_lent) {
  {
    const std::lock_guard lock(m_mutex);
    m_is_lent = is_lent;
  }
  m_wanted.notify_all();
}

bool BuildQueue::is_returned() const {
  const std::lock_guard lock(m_mutex);
  return !m_is_lent && m_guests_running == 0;
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

void BuildQueue::work(const std::vector<int>& cpus, bool is_guest) {
  keep_to(cpus);
  std::unique_lock lock(m_mutex);
  while (true) {
    m_wanted.wait(lock,
                  [&] { return m_closing || (!m_waiting.empty() && (m_is_lent || !is_guest)); });
    if (m_closing) return;
    if (is_guest) ++m_guests_running;
    const Configuration configuration = m_waiting.front();
    m_waiting.erase(m_waiting.begin());
    m_running.insert(configuration);
    lock.unlock();
    const auto started = std::chrono::steady_clock::now();
    Outcome<Subject> subject = [&]() -> Outcome<Subject> {
      try {
        return m_build(configuration);
      } catch (
          const std::exception& fault) {  // out of memory, for example; the thread must survive
        return Failure{Invalidity::environment, std::string("the builder failed: ") + fault.what(),
                       ""};
      }
    }();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - started;
    lock.lock();
    m_running.erase(configuration);
    if (is_guest) --m_guests_running;
    m_built.push_back({configuration, std::move(subject), wall.count()});
    m_ended.notify_all();
  }
}

namespace {

constexpr std::uint32_t k_digest_max_bytes = 64;

/// Notes are {name size 4, digest size, type 3 (NT_GNU_BUILD_ID), "GNU\0", digest}, with sizes as
/// 32-bit words in host byte order.
void blank_linker_ids(std::string& bytes) {
  constexpr std::uint32_t k_name_bytes = 4, k_build_id_type = 3;
  constexpr std::size_t k_head_bytes = 12;
  static constexpr std::string_view k_name("GNU\0", 4);
  for (std::size_t at = bytes.find(k_name); at != std::string::npos;
       at = bytes.find(k_name, at + 1)) {
    if (at < k_head_bytes) continue;
    std::uint32_t head[3];
    std::memcpy(head, bytes.data() + at - k_head_bytes, sizeof head);
    const std::size_t digest = at + k_name.size();
    if (head[0] != k_name_bytes || head[2] != k_build_id_type) continue;
    if (head[1] > k_digest_max_bytes || digest + head[1] > bytes.size()) continue;
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(digest), head[1], '\0');
  }
}

}  // namespace

std::string code_hash(std::string_view library, std::string_view build_id) {
  std::string bytes(library);
  for (std::size_t at = build_id.empty() ? std::string::npos : bytes.find(build_id);
       at != std::string::npos; at = bytes.find(build_id, at + build_id.size())) {
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), build_id.size(), '\0');
  }
  blank_linker_ids(bytes);
  return sha256_hex(bytes);
}

}  // namespace wb::tune
