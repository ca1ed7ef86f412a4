// SPDX-License-Identifier: MIT
#include "trace/op_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "trace/trace.hpp"

namespace wb::trace {
namespace {

constexpr double k_per_us_to_tera = 1e-6;  // flops or bytes each microsecond

/// The key of equal calls: operator, recorded arguments, serving step and kernels in order.
using RowKey =
    std::tuple<std::string, std::vector<std::uint32_t>, std::uint32_t, std::vector<std::uint32_t>>;

/// The operators that make up a call.
std::vector<std::uint32_t> parts_of(const SdpaCall& call) {
  return call.steps.empty() ? std::vector{call.host} : call.steps;
}

std::uint32_t annotation_of(const Trace& trace, const SdpaCall& call) {
  if (call.rule.attention != Attention::paged) return k_none;
  for (std::uint32_t at = trace.host[call.host].parent; at != k_none; at = trace.host[at].parent) {
    const HostEvent& event = trace.host[at];
    if (event.kind == HostKind::annotation && serving_step(trace.text(event.name)))
      return event.name;
  }
  return k_none;
}

RowKey key_of(const Trace& trace, const SdpaCall& call) {
  std::vector<std::uint32_t> kernels;
  for (const std::uint32_t i : call.kernels) kernels.push_back(trace.gpu[i].name);
  std::vector<std::uint32_t> arguments;
  for (const std::uint32_t part : parts_of(call)) {
    const std::uint32_t index = trace.host[part].args;
    const OpArgs args = index == k_none ? OpArgs{} : trace.args[index];
    arguments.insert(arguments.end(), {args.dims, args.types, args.strides, args.concrete});
  }
  arguments.push_back(call.masked ? 1 : 0);
  return {call.name, std::move(arguments), annotation_of(trace, call), std::move(kernels)};
}

KernelLine kernel_line(const Trace& trace, const SdpaCalls& calls, const OpRow& row,
                       std::size_t place) {
  std::vector<double> samples;
  KernelLine line;
  for (const std::size_t i : row.calls) {
    const GpuEvent& event = trace.gpu[calls.calls[i].kernels[place]];
    if (samples.empty()) {
      line.name = trace.text(event.name);
      line.stream = event.stream;
    }
    samples.push_back(event.dur_us);
  }
  const Statistics all = statistics_of(samples);
  line.count = samples.size();
  line.total_us = all.sum;
  line.mean_us = all.mean;
  line.median_us = all.median;
  line.min_us = all.min;
  line.max_us = all.max;
  const auto n = static_cast<double>(samples.size());
  line.std_us = all.std ? *all.std * std::sqrt((n - 1) / n) : 0;
  return line;
}

void fill(const Trace& trace, const SdpaCalls& calls, OpRow& row) {
  const SdpaCall& first = calls.calls[row.calls.front()];
  row.name = first.name;
  row.backward = first.rule.backward;
  row.packed = first.rule.sizes == Sizes::packed;
  row.attention = first.rule.attention;
  row.kind = first.kind;
  row.step = row.attention == Attention::paged ? serving_step_of(trace, first) : std::nullopt;
  SizesOrWhy sizes = sizes_of(trace, first);
  row.sizes = std::move(sizes.sizes);
  row.why_no_model = std::move(sizes.why);
  if (row.sizes) {
    if (!row.sizes->dtype.empty()) row.compute_spec = "matrix_" + row.sizes->dtype;
    WorkOrWhy work = work_of(first.rule, *row.sizes, row.step);
    row.work = work.work;
    row.why_no_model = std::move(work.why);
  }
  std::vector<double> durations, kernels, tflops, tb_per_s;
  for (const std::size_t i : row.calls) {
    const SdpaCall& call = calls.calls[i];
    double duration = 0;
    for (const std::uint32_t part : parts_of(call)) duration += trace.host[part].dur_us;
    durations.push_back(duration);
    kernels.push_back(call.kernel_us);
    if (!row.work || !(call.kernel_us > 0)) continue;
    tflops.push_back(row.work->flops / call.kernel_us * k_per_us_to_tera);
    if (row.work->bytes) tb_per_s.push_back(*row.work->bytes / call.kernel_us * k_per_us_to_tera);
  }
  row.duration_us = statistics_of(durations);
  row.kernel_us = statistics_of(kernels);
  if (tflops.size() == kernels.size()) row.tflops = statistics_of(tflops);
  if (tb_per_s.size() == kernels.size()) row.tb_per_s = statistics_of(tb_per_s);
  for (std::size_t place = 0; place < first.kernels.size(); ++place) {
    row.kernels.push_back(kernel_line(trace, calls, row, place));
  }
}

/// Union of [start, end) intervals, in order.
using Intervals = std::vector<std::pair<double, double>>;

Intervals united(Intervals intervals) {
  std::sort(intervals.begin(), intervals.end());
  Intervals result;
  for (const auto& [start, end] : intervals) {
    if (result.empty() || start > result.back().second) {
      result.emplace_back(start, end);
    } else {
      result.back().second = std::max(result.back().second, end);
    }
  }
  return result;
}

double length_of(const Intervals& intervals) {
  double sum = 0;
  for (const auto& [start, end] : intervals) sum += end - start;
  return sum;
}

/// The time of `more` outside of `covered`.
double exposed(const Intervals& covered, const Intervals& more) {
  Intervals both = covered;
  both.insert(both.end(), more.begin(), more.end());
  return length_of(united(std::move(both))) - length_of(covered);
}

bool is_communication(const std::string& name) {
  return name.starts_with("nccl") || name.starts_with("rccl") ||
         name.find("ncclDevKernel") != std::string::npos ||
         name.find("ncclKernel") != std::string::npos;
}

/// Adds where the time of one rank's GPU events went.
void add_time(const Trace& trace, const std::vector<std::uint32_t>& events, GpuTime& time) {
  Intervals computation, communication, copies;
  const double zero = trace.gpu[events.front()].ts_us;  // near values keep more digits
  double first = std::numeric_limits<double>::infinity(), last = -first;
  for (const std::uint32_t i : events) {
    const GpuEvent& event = trace.gpu[i];
    const double start = event.ts_us - zero, end = start + std::max(event.dur_us, 0.0);
    first = std::min(first, start);
    last = std::max(last, end);
    Intervals& kind = event.kind == GpuKind::copy ? copies
                      : event.kind == GpuKind::kernel && is_communication(trace.text(event.name))
                          ? communication
                          : computation;
    kind.emplace_back(start, end);
  }
  computation = united(std::move(computation));
  communication = united(std::move(communication));
  copies = united(std::move(copies));
  time.total_ms += (last - first) / k_us_per_ms;
  time.computation_ms += length_of(computation) / k_us_per_ms;
  time.exposed_communication_ms += exposed(computation, communication) / k_us_per_ms;
  Intervals covered = computation;
  covered.insert(covered.end(), communication.begin(), communication.end());
  covered = united(std::move(covered));
  time.exposed_copy_ms += exposed(covered, copies) / k_us_per_ms;
}

}  // namespace

Statistics statistics_of(std::vector<double> samples) {
  Statistics result;
  if (samples.empty()) return result;
  const auto n = static_cast<double>(samples.size());
  result.sum = std::accumulate(samples.begin(), samples.end(), 0.0);
  result.mean = result.sum / n;
  if (samples.size() > 1) {
    double squares = 0;
    for (const double x : samples) squares += (x - result.mean) * (x - result.mean);
    result.std = std::sqrt(squares / (n - 1));
  }
  std::sort(samples.begin(), samples.end());
  const std::size_t half = samples.size() / 2;
  result.median = samples.size() % 2 == 1 ? samples[half] : (samples[half - 1] + samples[half]) / 2;
  result.min = samples.front();
  result.max = samples.back();
  return result;
}

std::vector<OpRow> rows_of(const Trace& trace, const SdpaCalls& calls) {
  std::map<RowKey, std::size_t> places;
  std::vector<OpRow> rows;
  for (std::size_t i = 0; i < calls.calls.size(); ++i) {
    const auto [place, is_new] = places.try_emplace(key_of(trace, calls.calls[i]), rows.size());
    if (is_new) rows.emplace_back();
    rows[place->second].calls.push_back(i);
  }
  double all_us = 0;
  for (const GpuEvent& event : trace.gpu) {
    if (event.host != k_none) all_us += std::max(event.dur_us, 0.0);
  }
  for (OpRow& row : rows) {
    fill(trace, calls, row);
    row.percent = all_us > 0 ? 100 * row.kernel_us.sum / all_us : 0;
  }
  std::stable_sort(rows.begin(), rows.end(), [](const OpRow& a, const OpRow& b) {
    return a.kernel_us.sum > b.kernel_us.sum;
  });
  return rows;
}

GpuTime gpu_time(const Trace& trace) {
  // Ranks have separate GPUs and clocks, so each is analyzed alone.
  std::map<std::uint32_t, std::vector<std::uint32_t>> of_ranks;
  const auto is_linked = [](const GpuEvent& event) { return event.host != k_none; };
  // GPU events without an operator were mostly launched before the profile began.
  const bool linked = std::any_of(trace.gpu.begin(), trace.gpu.end(), is_linked);
  for (std::uint32_t i = 0; i < trace.gpu.size(); ++i) {
    const GpuEvent& event = trace.gpu[i];
    if (!linked || is_linked(event)) of_ranks[trace.rank_of(event)].push_back(i);
  }
  GpuTime time;
  for (const auto& [rank, events] : of_ranks) add_time(trace, events, time);
  time.busy_ms = time.computation_ms + time.exposed_communication_ms + time.exposed_copy_ms;
  time.idle_ms = std::max(time.total_ms - time.busy_ms, 0.0);
  return time;
}

CategoryFiles category_files(bool backward) {
  return backward ? CategoryFiles{"sdpa_bwd", "SDPA_bwd"} : CategoryFiles{"sdpa_fwd", "SDPA_fwd"};
}

}  // namespace wb::trace
