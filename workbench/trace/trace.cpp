// SPDX-License-Identifier: MIT
#include "trace/trace.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "core/ascii.hpp"

namespace wb::trace {

namespace {

/// How far a child may exceed its parent in time, because profilers round both ends.
constexpr double k_rounding_us = 0.002;

double end_of(const HostEvent& event) {
  return event.ts_us + event.dur_us;
}

void order(std::vector<HostEvent>& host) {
  std::sort(host.begin(), host.end(), [](const HostEvent& a, const HostEvent& b) {
    if (a.thread != b.thread) return a.thread < b.thread;
    if (a.ts_us != b.ts_us) return a.ts_us < b.ts_us;
    if (a.dur_us != b.dur_us) return a.dur_us > b.dur_us;
    return a.uid < b.uid;
  });
}

/// Finds for each event the innermost enclosing event in its thread. An event that crosses the
/// end of another is not its child.
void find_parents(Trace& trace) {
  std::vector<std::uint32_t> open;
  for (std::uint32_t i = 0; i < trace.host.size(); ++i) {
    HostEvent& event = trace.host[i];
    if (!open.empty() && trace.host[open.front()].thread != event.thread) open.clear();
    while (!open.empty()) {
      const HostEvent& outer = trace.host[open.back()];
      if (event.ts_us < end_of(outer) && end_of(event) <= end_of(outer) + k_rounding_us) break;
      if (event.ts_us < end_of(outer) - k_rounding_us) trace.gaps.overlapping += 1;
      open.pop_back();
    }
    event.parent = open.empty() ? k_none : open.back();
    open.push_back(i);
  }
}

/// The operator that contains the event, or the event itself.
std::uint32_t operator_of(const Trace& trace, std::uint32_t host) {
  while (host != k_none && trace.host[host].kind != HostKind::cpu_op)
    host = trace.host[host].parent;
  return host;
}

/// Maps ids to events. Several events with one id are acceptable if all are in one operator.
class Ids {
 public:
  void add(const Trace& trace, std::int64_t id, std::uint32_t host) {
    const auto [place, is_new] = m_holders.try_emplace(id, host);
    if (is_new) return;
    if (operator_of(trace, place->second) != operator_of(trace, host))
      m_ambiguous.insert_or_assign(id, true);
  }
  [[nodiscard]] std::uint32_t find(std::int64_t id) const {
    const auto found = m_holders.find(id);
    return found == m_holders.end() ? k_none : found->second;
  }
  [[nodiscard]] bool ambiguous(std::int64_t id) const { return m_ambiguous.contains(id); }

 private:
  std::unordered_map<std::int64_t, std::uint32_t> m_holders;
  std::unordered_map<std::int64_t, bool> m_ambiguous;
};

/// The three ways to a GPU event's origin, best first: by correlation id at a launch, by external
/// id at a launch without a correlation id, by external id at an operator.
struct Origins {
  Ids correlations, launches, operators;
};

/// The index of a thread's rank; ids of threads without a known rank are searched in all.
std::size_t place_of(const Trace& trace, std::uint32_t thread) {
  const std::uint32_t rank = trace.rank_of_thread.empty() ? 0 : trace.rank_of_thread[thread];
  return rank == k_none ? trace.ranks.size() : rank;
}

void link_gpu(Trace& trace, const std::vector<Origins>& of_ranks) {
  for (GpuEvent& event : trace.gpu) {
    const Origins& origins = of_ranks[place_of(trace, event.thread)];
    const std::pair<const Ids*, std::int64_t> ways[] = {{&origins.correlations, event.correlation},
                                                        {&origins.launches, event.external_id},
                                                        {&origins.operators, event.external_id}};
    for (const auto& [ids, id] : ways) {
      // Profilers write 0 if there is no id.
      if (id < 0 || (id == 0 && ids != &origins.correlations)) continue;
      const std::uint32_t host = ids->find(id);
      if (host == k_none) continue;
      if (ids->ambiguous(id)) {
        trace.gaps.ambiguous_links += 1;
      } else {
        event.host = host;
      }
      break;
    }
    // A launch outside any operator (of a graph, for example) has no operator.
    if (operator_of(trace, event.host) == k_none && event.kind == GpuKind::kernel)
      trace.gaps.unlinked_kernels += 1;
  }
}

}  // namespace

void link_trace(Trace& trace) {
  order(trace.host);
  find_parents(trace);
  find_ranks(trace);
  std::vector<Origins> of_ranks(trace.ranks.size() + 1);
  // Only ids that a GPU event refers to are stored.
  std::unordered_map<std::int64_t, bool> asked_correlation, asked_external;
  for (const GpuEvent& event : trace.gpu) {
    if (event.correlation >= 0) asked_correlation.emplace(event.correlation, true);
    if (event.external_id > 0) asked_external.emplace(event.external_id, true);
  }
  const auto add = [&](Origins& origins, const HostEvent& event, std::uint32_t i) {
    if (event.kind == HostKind::launch) {
      if (event.id_is_correlation) {
        if (asked_correlation.contains(event.id)) origins.correlations.add(trace, event.id, i);
      } else if (event.id > 0 && asked_external.contains(event.id)) {
        origins.launches.add(trace, event.id, i);
      }
    } else if (event.kind == HostKind::cpu_op && event.id > 0 &&
               asked_external.contains(event.id)) {
      origins.operators.add(trace, event.id, i);
    }
  };
  const bool some_untold = std::any_of(
      trace.gpu.begin(), trace.gpu.end(),
      [&](const GpuEvent& event) { return place_of(trace, event.thread) == trace.ranks.size(); });
  for (std::uint32_t i = 0; i < trace.host.size(); ++i) {
    const HostEvent& event = trace.host[i];
    const std::size_t place = place_of(trace, event.thread);
    add(of_ranks[place], event, i);
    if (some_untold && place != trace.ranks.size()) add(of_ranks.back(), event, i);
  }
  link_gpu(trace, of_ranks);
}

std::vector<std::uint32_t> parents_of(const Trace& trace, std::uint32_t host) {
  std::vector<std::uint32_t> names;
  for (std::uint32_t at = trace.host[host].parent; at != k_none; at = trace.host[at].parent) {
    names.push_back(trace.host[at].name);
  }
  return names;
}

// Separates files merged from several ranks' profiles. Merging tools keep each rank's ids and
// change its process numbers ("[TP01] 100" for the host, "[TP01] 0" for its GPU), or change
// nothing. A GPU's rank follows from this label, else from the process that made all its launches.

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
          "several ranks seem to be put together under one process number ({}): the id {} is "
          "given "
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
