// SPDX-License-Identifier: MIT
// Groups calls by operator, arguments and kernels: each group is one row of sdpa_fwd_ops.csv with
// the statistics of its calls. Used by prepare and by the suite maker.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json_fwd.hpp"
#include "trace/op_sizes.hpp"
#include "trace/sdpa_calls.hpp"

namespace wb::trace {

/// `std` with n - 1, absent for one sample.
struct Statistics {
  double mean = 0, median = 0, min = 0, max = 0, sum = 0;
  std::optional<double> std;
};
Statistics statistics_of(std::vector<double> samples);

/// The kernels at one position of the calls' kernel sequences, over all calls (us). `std_us` with
/// n.
struct KernelLine {
  std::string name;
  std::int64_t stream = -1;
  std::size_t count = 0;
  double total_us = 0, mean_us = 0, median_us = 0, std_us = 0, min_us = 0, max_us = 0;
};

struct OpRow {
  std::vector<std::size_t> calls;  ///< indices of SdpaCalls::calls
  std::string name;
  bool backward = false;
  bool packed = false;  ///< sequences one after the other
  Attention attention = Attention::flash;
  CallKind kind = CallKind::attention;
  std::optional<AttentionSizes> sizes;
  std::optional<ServingStep> step;
  std::optional<CallWork> work;  ///< of one call
  std::string why_no_model;
  std::string compute_spec;  ///< "matrix_bf16", or empty
  Statistics duration_us, kernel_us;
  std::optional<Statistics> tflops, tb_per_s;  ///< of the calls' own rates
  std::vector<KernelLine> kernels;
  double percent = 0;  ///< of all GPU work launched by the profile's operators
};

/// By kernel time, the largest first.
std::vector<OpRow> rows_of(const Trace& trace, const SdpaCalls& calls);

/// How the GPU's time was spent, from the first start to the last end of work launched by the
/// profile's operators (ms); of all its events when none is linked.
struct GpuTime {
  double total_ms = 0, computation_ms = 0, exposed_communication_ms = 0, exposed_copy_ms = 0;
  double busy_ms = 0, idle_ms = 0;
};
GpuTime gpu_time(const Trace& trace);

/// The file names of a category in TraceLens' layout.
struct CategoryFiles {
  std::string name;     ///< "sdpa_fwd"
  std::string display;  ///< "SDPA_fwd"
  [[nodiscard]] fs::path ops() const { return "category_data/" + name + "_ops.csv"; }
  [[nodiscard]] fs::path tree() const { return "category_data/" + name + "_tree_data.json"; }
  [[nodiscard]] fs::path metadata() const { return "metadata/" + name + "_metadata.json"; }
  [[nodiscard]] fs::path metrics() const { return "category_data/" + name + "_metrics.json"; }
  [[nodiscard]] fs::path findings() const { return "category_findings/" + name + "_findings.md"; }
};
CategoryFiles category_files(bool backward);
inline constexpr std::string_view k_manifest_file = "category_data/category_manifest.json";

/// sdpa_fwd_ops.csv of the rows: the 41 columns of TraceLens.
std::string ops_csv(const Trace& trace, const SdpaCalls& calls, const std::vector<OpRow>& rows,
                    const CategoryFiles& category);
/// sdpa_fwd_tree_data.json: the call chain of every row's first call, innermost first.
Json tree_data(const Trace& trace, const SdpaCalls& calls, const std::vector<OpRow>& rows);
/// The recorded sizes of a row's first call in Python notation.
std::string dims_text(const Trace& trace, const SdpaCall& call);

}  // namespace wb::trace
