// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "trace/trace.hpp"

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

/// Finds for each event the innermost enclosing event in its thread. An event that crosses the end
/// of another is not its child.
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

}  // namespace wb::trace
