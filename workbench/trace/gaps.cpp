// SPDX-License-Identifier: MIT
// The parts of a profile that could not be analyzed or used, in sentences.
#include <fmt/format.h>

#include <algorithm>

#include "trace/prepare.hpp"
#include "trace/trace.hpp"

namespace wb::trace {
namespace {

/// The kernels that belong to no call, with time and share; the longest with its name and operator.
std::string nobodys_sentence(const SdpaCalls& calls) {
  constexpr std::size_t k_most_named = 4, k_name_bytes = 100;
  std::string text = fmt::format(
      "{} {} named like attention ({:.3f} ms, {:.1f} % of the kernels' time) {} to no known call: ",
      calls.unclaimed_kernels, calls.unclaimed_kernels == 1 ? "kernel" : "kernels",
      calls.unclaimed_us / k_us_per_ms, calls.unclaimed_percent,
      calls.unclaimed_kernels == 1 ? "belongs" : "belong");
  for (std::size_t i = 0; i < std::min(calls.unclaimed.size(), k_most_named); ++i) {
    const SdpaCalls::Unclaimed& one = calls.unclaimed[i];
    text += fmt::format(
        "{}{} ({} {}, {:.3f} ms{})", i > 0 ? "; " : "", printable(one.name, k_name_bytes),
        one.count, one.count == 1 ? "time" : "times", one.us / k_us_per_ms,
        one.launched_by.empty() ? std::string()
                                : ", launched by " + printable(one.launched_by, k_name_bytes));
  }
  const bool more = calls.unclaimed.size() > k_most_named;
  return text +
         (more ? fmt::format("; {} other names.", calls.unclaimed.size() - k_most_named) : ".");
}

}  // namespace

std::string why_nothing_seen(const Trace& trace) {
  std::uint64_t kernels = 0, timed = 0, linked = 0;
  const auto operators = std::count_if(trace.host.begin(), trace.host.end(), [](const auto& event) {
    return event.kind == HostKind::cpu_op;
  });
  for (const GpuEvent& event : trace.gpu) {
    if (event.kind != GpuKind::kernel) continue;
    kernels += 1;
    timed += event.dur_us >= 0 ? 1 : 0;
    std::uint32_t at = event.host;
    while (at != k_none && trace.host[at].kind != HostKind::cpu_op) at = trace.host[at].parent;
    linked += at != k_none ? 1 : 0;
  }
  if (trace.events == 0) return "the profile has no events";
  if (kernels == 0) {
    return fmt::format(
        "the profile has no GPU kernels, only {} operators of the host. Record it with the GPU's "
        "activities (ProfilerActivity.CUDA, which is also AMD's), while the GPU works",
        operators);
  }
  if (timed == 0) return "none of the profile's GPU kernels has a duration";
  if (operators == 0) {
    return fmt::format(
        "the profile has {} GPU kernels and no operators that could own them. Record "
        "it with the host's activities, too (ProfilerActivity.CPU)",
        kernels);
  }
  if (linked > 0) return {};
  return fmt::format(
      "none of the profile's {} GPU kernels belongs to an operator: their ids lead to none, or to "
      "launches outside of any, as those of a replayed graph do. Record a step without graphs",
      kernels);
}

std::vector<std::string> gap_sentences(const Trace& trace, const SdpaCalls& calls) {
  const TraceGaps& gaps = trace.gaps;
  std::vector<std::string> sentences;
  const auto say = [&](std::uint64_t count, std::string_view what) {
    if (count > 0) sentences.push_back(fmt::format("{} {}", count, what));
  };
  say(calls.without_kernels, "attention calls have no GPU kernel in the profile and are left out.");
  say(calls.without_time, "attention calls have a kernel without a duration and are left out.");
  if (calls.unclaimed_kernels > 0) sentences.push_back(nobodys_sentence(calls));
  say(gaps.ambiguous_links,
      "GPU events have an id that several operators claim; they belong to none of them.");
  say(gaps.unlinked_kernels, "GPU kernels belong to no operator of the profile.");
  say(gaps.kernels_without_duration, "GPU kernels have no duration.");
  say(gaps.host_without_duration, "host events have no duration and are left out.");
  say(gaps.without_timestamp, "events have no time stamp and are left out.");
  say(gaps.not_events, "entries of traceEvents are no events and are left out.");
  say(gaps.begin_end_events, "events are begin/end pairs, which are not read.");
  say(gaps.overlapping, "host events cross each other in one thread: their parents may be wrong.");
  return sentences;
}

}  // namespace wb::trace
