// SPDX-License-Identifier: MIT
#include "trace/prepare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "core/json.hpp"
#include "core/writing.hpp"
#include "trace/model_pattern.hpp"
#include "trace/op_rows.hpp"
#include "trace/trace.hpp"

namespace wb::trace {
namespace {

constexpr double k_gb_per_tb = 1e3;
/// Host time beyond this multiple of kernel time is waiting (TraceLens' rule).
constexpr double k_sync_factor = 5, k_sync_share = 0.1, k_sync_ms = 1;

struct Category {
  CategoryFiles files;
  std::vector<OpRow> rows;
  double percent_total = 0;
};

struct TimeBreakdown {
  double kernel_ms = 0, host_ms = 0, sync_ms = 0;
  std::int64_t sync_ops = 0;
  [[nodiscard]] bool bottleneck() const {
    return sync_ms > k_sync_share * kernel_ms && sync_ms > k_sync_ms;
  }
};

TimeBreakdown breakdown(const std::vector<OpRow>& rows) {
  TimeBreakdown time;
  for (const OpRow& row : rows) {
    const double kernel = row.kernel_us.sum / k_us_per_ms, host = row.duration_us.sum / k_us_per_ms;
    time.kernel_ms += kernel;
    time.host_ms += host;
    if (host > k_sync_factor * kernel) {
      time.sync_ms += host - kernel;
      time.sync_ops += 1;
    }
  }
  return time;
}

Json time_json(const TimeBreakdown& time) {
  return {{"gpu_kernel_time_ms", time.kernel_ms},
          {"cpu_duration_ms", time.host_ms},
          {"sync_time_ms", time.sync_ms},
          {"sync_ops_count", time.sync_ops},
          {"has_sync_bottleneck", time.bottleneck()}};
}

Json utilization_json(const GpuTime& time) {
  const auto percent = [&](double part) {
    return time.total_ms > 0 ? Json(100 * part / time.total_ms) : Json();
  };
  return {{"total_time_ms", time.total_ms},
          {"computation_time_percent", percent(time.computation_ms)},
          {"exposed_comm_time_percent", percent(time.exposed_communication_ms)},
          {"exposed_memcpy_time_percent", percent(time.exposed_copy_ms)},
          {"idle_time_percent", percent(time.idle_ms)}};
}

Json metadata_json(const PrepareRequest& request, const PlatformSpec& platform,
                   const Category& category, const GpuTime& gpu,
                   const std::vector<std::string>& gaps, const std::string& device,
                   const Json& pattern, const Json& ranks) {
  Json time = time_json(breakdown(category.rows));
  time["note"] = "rank by gpu_kernel_time_ms; sync_time_ms is host time beyond it";
  Json models = Json::array();
  for (const OpRow& row : category.rows) {
    const bool asked = !row.work && row.kind == CallKind::attention;
    if (asked) models.push_back(fmt::format("{}: {}", row.name, row.why_no_model));
  }
  return {{"platform", platform.name},
          {"peak_source", platform.source},
          {"peak_hbm_bw_tbs", platform.mem_bw_gbps / k_gb_per_tb},
          {"max_achievable_tflops", platform.max_achievable_tflops},
          {"memory_gb", platform.memory_gb},
          {"device_name", device},
          {"trace_path", request.trace.string()},
          {"output_dir", request.output_dir.string()},
          {"category", category.files.display},
          {"category_name", category.files.name},
          {"gpu_utilization", utilization_json(gpu)},
          {"model_pattern", pattern},
          {"trace_loading_policy", "DO_NOT_LOAD_TRACE_use_precomputed_tree_data"},
          {"gaps", gaps},
          {"without_model", models},
          {"ranks", ranks},
          {"time_breakdown", std::move(time)}};
}

std::string pretty(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

class Writer {
 public:
  Writer(FileSystem& file_system, fs::path root)
      : m_file_system(file_system), m_root(std::move(root)) {}

  Result<void> make_folders() {
    for (const char* folder : {"category_data", "metadata", "category_findings"}) {
      WB_TRY(m_file_system.make_directories(m_root / folder));
    }
    return {};
  }
  Result<void> remove_old() {
    for (const bool backward : {false, true}) {
      const CategoryFiles old = category_files(backward);
      for (const fs::path& path :
           {old.ops(), old.tree(), old.metadata(), old.metrics(), old.findings()}) {
        std::error_code error;
        fs::remove(m_root / path, error);
        if (error) return errno_error("remove the earlier", m_root / path, error.value());
      }
    }
    return {};
  }
  Result<void> write(const fs::path& path, const std::string& text) {
    WB_TRY(write_output(m_file_system, m_root / path, text, Durability::none));
    files.push_back(m_root / path);
    return {};
  }

  std::vector<fs::path> files;

 private:
  FileSystem& m_file_system;
  fs::path m_root;
};

Result<PlatformSpec> choose_platform(const FileSystem& file_system, const PrepareRequest& request,
                                     const std::string& device) {
  if (!request.platform.empty()) return read_platform(file_system, request.platform);
  if (auto known = known_platform(device)) return *std::move(known);
  return Error{ErrorCode::usage, "find the platform of", request.trace.string(),
               device.empty() ? "the profile does not name its GPU"
                              : fmt::format("the peaks of \"{}\" are not known", printable(device)),
               "give --platform NAME or --platform FILE.json"};
}

/// Checks names before a large profile is read, so that a typing error fails early.
Result<void> check_names(const FileSystem& file_system, const PrepareRequest& request) {
  if (!request.platform.empty()) WB_TRY(read_platform(file_system, request.platform));
  std::error_code ignored;
  if (fs::is_regular_file(request.trace, ignored) && std::ifstream(request.trace)) return {};
  WB_TRY(read_trace(request.trace));  // returns the reason if the file cannot be read
  return {};
}

Json manifest_entry(const Category& category, const fs::path& root) {
  Json entry = time_json(breakdown(category.rows));
  const CategoryFiles& files = category.files;
  entry.update({{"name", files.name},
                {"display_name", files.display},
                {"skill", "sdpa-analysis"},
                {"tier", "compute_kernel"},
                {"ops_count", category.rows.size()},
                {"csv_file", (root / files.ops()).string()},
                {"metadata_file", (root / files.metadata()).string()},
                {"tree_data_file", (root / files.tree()).string()}});
  return entry;
}

/// Notes whose peaks the efficiencies use if the profile's GPU is, or may be, another.
void add_device_gaps(const Trace& trace, const PlatformSpec& platform,
                     std::vector<std::string>& gaps) {
  const std::string& device = trace.device_name;
  const auto own = known_platform(device), named = known_platform(platform.name);
  const bool is_same =
      own ? own->name == platform.name || platform.name.starts_with(own->name) ||
                (named && named->max_achievable_tflops == own->max_achievable_tflops)
          : device.empty() || device.find(platform.name) != std::string::npos;
  if (!is_same) {
    gaps.push_back(fmt::format("The profile names its GPU {}{}; efficiencies are against {}.",
                               printable(device), own ? "" : ", whose peaks are not known here",
                               platform.name));
  }
  if (!trace.other_devices.empty()) {
    gaps.push_back(fmt::format(
        "The profile has GPUs of several kinds ({}, {}{}); all efficiencies are against {}.",
        printable(device), printable(trace.other_devices.front()),
        trace.other_devices.size() > 1 ? " …" : "", platform.name));
  }
}

Result<PrepareResult> run(FileSystem& file_system, Writer& writer, const PrepareRequest& request) {
  WB_TRY_ASSIGN(Trace trace, read_trace(request.trace));
  WB_TRY_ASSIGN(const PlatformSpec platform,
                choose_platform(file_system, request, trace.device_name));
  link_trace(trace);
  WB_TRY(check_ranks(trace));
  const SdpaCalls calls = find_sdpa_calls(trace);
  const GpuTime gpu = gpu_time(trace);
  PrepareResult result;
  result.platform = platform.name;
  result.text_bytes = trace.text_bytes;
  result.events = trace.events;
  result.gaps = gap_sentences(trace, calls);
  result.nothing_seen = why_nothing_seen(trace);
  for (const auto& rank : calls.ranks) {
    result.ranks.push_back(fmt::format("{}: {} attention {}, {:.3f} ms", printable(rank.name),
                                       rank.calls, rank.calls == 1 ? "call" : "calls",
                                       rank.kernel_us / k_us_per_ms));
  }
  add_device_gaps(trace, platform, result.gaps);
  const Json pattern = to_json(model_pattern(trace, calls)), ranks = result.ranks;
  Json categories = Json::array();
  std::vector<OpRow> rows = rows_of(trace, calls);
  for (const bool backward : {false, true}) {
    Category category{category_files(backward), {}};
    std::uint64_t count = 0;
    for (const OpRow& row : rows) {
      if (row.backward != backward) continue;
      category.rows.push_back(row);
      count += row.calls.size();
    }
    (backward ? result.backward_rows : result.forward_rows) = category.rows.size();
    (backward ? result.backward_calls : result.forward_calls) = count;
    if (category.rows.empty()) continue;
    const CategoryFiles& files = category.files;
    WB_TRY(writer.write(files.ops(), ops_csv(trace, calls, category.rows, files)));
    WB_TRY(writer.write(files.tree(), pretty(tree_data(trace, calls, category.rows))));
    WB_TRY(writer.write(files.metadata(),
                        pretty(metadata_json(request, platform, category, gpu, result.gaps,
                                             trace.device_name, pattern, ranks))));
    categories.push_back(manifest_entry(category, request.output_dir));
  }
  WB_TRY(writer.write(k_manifest_file,
                      pretty({{"status", "OK"},
                              {"platform", platform.name},
                              {"trace_path", request.trace.string()},
                              {"output_dir", request.output_dir.string()},
                              {"gpu_utilization", utilization_json(gpu)},
                              {"gaps", result.gaps},
                              {"ranks", ranks},
                              {"nothing_seen", result.nothing_seen},
                              {"attention_like_kernels", calls.unclaimed_kernels},
                              {"categories", categories},
                              {"time_metric_note",
                               "rank by gpu_kernel_time_ms; cpu_duration_ms has waiting in it"}})));
  result.files = writer.files;
  return result;
}

}  // namespace

Result<PrepareResult> prepare(FileSystem& file_system, const PrepareRequest& request) {
  const auto named = check_names(file_system, request);
  std::error_code ignored;
  if (!named && fs::exists(request.output_dir / k_manifest_file, ignored)) return named.error();
  Writer writer(file_system, request.output_dir);
  WB_TRY(writer.make_folders());
  WB_TRY(writer.remove_old());
  auto result = named ? run(file_system, writer, request) : Result<PrepareResult>(named.error());
  if (!result) {
    WB_TRY(writer.remove_old());
    WB_TRY(writer.write(k_manifest_file, pretty({{"status", "ERROR"},
                                                 {"trace_path", request.trace.string()},
                                                 {"error", result.error().message()},
                                                 {"categories", Json::array()}})));
  }
  return result;
}

}  // namespace wb::trace
