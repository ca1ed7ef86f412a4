// SPDX-License-Identifier: MIT
// Separates files merged from several ranks' profiles. Merging tools keep each rank's ids and
// change its process numbers ("[TP01] 100" for the host, "[TP01] 0" for its GPU), or change
// nothing. A GPU's rank follows from this label, else from the process that made all its launches.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "core/ascii.hpp"
#include "trace/trace.hpp"

namespace wb::trace {
namespace {

/// A process number's label: the text without the digits at its end or start.
std::string label_of(std::string pid, bool at_end) {
  const auto digit = [](char c) { return ascii::is_digit(c); };
  if (at_end) {
    while (!pid.empty() && digit(pid.back())) pid.pop_back();
  } else {
    pid.erase(pid.begin(), std::find_if_not(pid.begin(), pid.end(), digit));
  }
  const auto edge = [](char c) { return c == ' ' || c == '_' || c == '-' || c == '/' || c == ':'; };
  while (!pid.empty() && edge(pid.back())) pid.pop_back();
  pid.erase(pid.begin(), std::find_if_not(pid.begin(), pid.end(), edge));
  return pid;
}

class RankFinder {
 public:
  explicit RankFinder(Trace& trace) : m_trace(trace) {
    for (const HostEvent& event : trace.host) {
      if (event.kind == HostKind::launch || event.kind == HostKind::cpu_op) {
        m_hosts.insert(pid(event.thread));
      }
    }
    for (const GpuEvent& event : trace.gpu) m_gpus.insert(pid(event.thread));
  }

  void run() {
    m_trace.rank_of_thread.assign(m_trace.threads.size(), 0);
    m_trace.ranks.assign(1, std::string());
    if (m_hosts.size() < 2) return check_one_process();
    if (m_gpus.empty()) return;
    if (!by_label(true) && !by_label(false)) by_ids();
  }

 private:
  [[nodiscard]] const std::string& pid(std::uint32_t thread) const {
    return m_trace.threads[thread].pid;
  }

  /// Assigns GPUs by label if each GPU has the label of a host process.
  bool by_label(bool at_end) {
    std::set<std::string> hosts, used;
    for (const std::string& host : m_hosts) hosts.insert(label_of(host, at_end));
    for (const std::string& gpu : m_gpus) {
      const std::string label = label_of(gpu, at_end);
      if (label.empty() || !hosts.contains(label)) return false;
      used.insert(label);
    }
    m_trace.ranks.assign(used.begin(), used.end());
    for (std::size_t i = 0; i < m_trace.threads.size(); ++i) {
      const auto found = used.find(label_of(m_trace.threads[i].pid, at_end));
      m_trace.rank_of_thread[i] =
          found == used.end() ? k_none
                              : static_cast<std::uint32_t>(std::distance(used.begin(), found));
    }
    return true;
  }

  void by_ids() {
    std::unordered_map<std::int64_t, std::set<std::string>> holders;
    for (const HostEvent& event : m_trace.host) {
      if (event.kind == HostKind::launch && event.id_is_correlation) {
        holders[event.id].insert(pid(event.thread));
      }
    }
    std::map<std::string, std::set<std::string>>
        owners;  // by GPU: the processes that made its launches
    std::set<std::string> doubtful;
    for (const GpuEvent& event : m_trace.gpu) {
      const auto found = holders.find(event.correlation);
      if (event.correlation < 0 || found == holders.end()) continue;
      const std::string& gpu = pid(event.thread);
      if (found->second.size() > 1) doubtful.insert(gpu);
      const auto [place, is_new] = owners.try_emplace(gpu, found->second);
      if (!is_new) {
        std::erase_if(place->second,
                      [&](const std::string& one) { return !found->second.contains(one); });
      }
    }
    std::set<std::string> used;
    for (const auto& [gpu, candidates] : owners) {
      if (candidates.size() == 1) {
        used.insert(*candidates.begin());
      } else if (doubtful.contains(gpu)) {
        return refuse();
      }
    }
    if (used.size() < 2 && doubtful.empty()) return;  // one process: ids are unique as they are
    m_trace.ranks.clear();
    for (const std::string& host : used) m_trace.ranks.push_back("process " + host);
    for (std::size_t i = 0; i < m_trace.threads.size(); ++i) {
      const std::string& own = m_trace.threads[i].pid;
      const auto gpu = owners.find(own);
      const bool is_gpu = gpu != owners.end() && !m_hosts.contains(own);
      const std::string& host = is_gpu && gpu->second.size() == 1 ? *gpu->second.begin() : own;
      const auto found = used.find(host);
      m_trace.rank_of_thread[i] =
          found == used.end() ? k_none
                              : static_cast<std::uint32_t>(std::distance(used.begin(), found));
    }
  }

  void refuse() {
    m_trace.rank_fault = fmt::format(
        "it holds the profiles of several processes ({}), which use the same ids: whose a kernel "
        "is cannot be told",
        fmt::join(m_hosts, ", "));
  }

  /// An id is unique within one process. Two launches and two kernels with the same id belong to
  /// two ranks with the same process number, as containers have.
  void check_one_process() {
    std::unordered_map<std::int64_t, std::uint32_t> launches;
    std::unordered_map<std::int64_t, int> asked;
    for (const GpuEvent& event : m_trace.gpu) {
      if (event.kind == GpuKind::kernel && event.correlation > 0) asked[event.correlation] += 1;
    }
    for (std::uint32_t i = 0; i < m_trace.host.size(); ++i) {
      const HostEvent& event = m_trace.host[i];
      if (event.kind != HostKind::launch || !event.id_is_correlation) continue;
      const auto found = asked.find(event.id);
      if (found == asked.end() || found->second < 2) continue;
      const auto [place, is_new] = launches.try_emplace(event.id, i);
      if (is_new || m_trace.text(m_trace.host[place->second].name) != m_trace.text(event.name)) {
        continue;
      }
      m_trace.rank_fault = fmt::format(
          "several ranks seem to be put together under one process number ({}): the id {} is given "
          "to two launches and to {} kernels, so whose a kernel is cannot be told",
          pid(event.thread), event.id, found->second);
      return;
    }
  }

  Trace& m_trace;
  std::set<std::string> m_hosts, m_gpus;
};

}  // namespace

void find_ranks(Trace& trace) {
  RankFinder(trace).run();
}

Result<void> check_ranks(const Trace& trace) {
  if (trace.rank_fault.empty()) return {};
  return Error{ErrorCode::invalid, "read the ranks of", trace.path.string(), trace.rank_fault,
               "analyze each rank's own file, or merge them with a label in each process number "
               "(\"[rank0] 100\")"};
}

}  // namespace wb::trace
