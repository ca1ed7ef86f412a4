// SPDX-License-Identifier: MIT
#include "worker/inspection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

#include "core/ascii.hpp"
#include "core/json.hpp"
#include "core/process.hpp"
#include "measure/ncu_report.hpp"
#include "variant/builder.hpp"
#include "worker/failure.hpp"
#include "worker/forked.hpp"
#include "worker/roles.hpp"

namespace wb::worker {
namespace {

constexpr std::string_view k_sanitizer_mark =
    "=========";  // before every line of compute-sanitizer

/// The first integer after `before` in the line.
std::optional<std::int64_t> number_behind(std::string_view line, std::string_view before) {
  const auto found = line.find(before);
  if (found == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(found + before.size());
  const auto digit = rest.find_first_of("0123456789");
  if (digit == std::string_view::npos) return std::nullopt;
  std::int64_t number = 0;
  const auto read = std::from_chars(rest.data() + digit, rest.data() + rest.size(), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

/// Reads one summary line. A count is used only if it can be read completely; of several summaries
/// (of processes, for example) the largest.
void read_summary(std::string_view words, SanitizerReport& report) {
  const bool is_race = words.find("hazard") != std::string_view::npos;
  // racecheck: "2 hazards displayed (1 error, 1 warning)"
  const auto errors = number_behind(words, is_race ? "(" : "SUMMARY:");
  const auto warnings = is_race ? number_behind(words, "error") : std::optional<std::int64_t>(0);
  if (!errors || !warnings) return;
  report.finished = true;
  report.errors = std::max(report.errors, *errors);
  report.warnings = std::max(report.warnings, *warnings);
}

}  // namespace

std::optional<std::string> why_ncu_is_blocked(std::string_view text) {
  if (text.find("ERR_NVGPUCTRPERM") != std::string_view::npos) {
    return "the driver lets only an administrator read performance counters (ERR_NVGPUCTRPERM); "
           "run as root, or load the driver with NVreg_RestrictProfilingToAdminUsers=0";
  }
  if (text.find("Failed to initialize the profiler") != std::string_view::npos) {
    return "ncu could not start its profiler here; virtual machines and sandboxes may hide the "
           "performance counters";
  }
  return std::nullopt;
}

SanitizerReport read_sanitizer_report(std::string_view text) {
  SanitizerReport report;
  bool is_inside = false;  // inside a message, whose further lines are indented more
  for (std::size_t at = 0; at < text.size();) {
    const auto line_end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, line_end - at);
    at = line_end + 1;
    if (!line.starts_with(k_sanitizer_mark)) continue;
    const std::string_view words = line.substr(k_sanitizer_mark.size());
    if (words.find("SUMMARY:") != std::string_view::npos) {
      read_summary(words, report);
      continue;
    }
    const std::string_view said = ascii::trimmed(words);
    if (said.empty() || said.starts_with("COMPUTE-SANITIZER")) {
      is_inside = false;
      continue;
    }
    const bool is_first = !is_inside && words.starts_with(" ") && !words.starts_with("  ");
    is_inside = true;
    if (is_first && report.messages.size() < k_most_messages) report.messages.emplace_back(said);
  }
  return report;
}

namespace {

constexpr std::size_t k_most_launches = 8;  ///< per call
constexpr std::uint64_t k_report_bytes = 4u << 20;
constexpr std::size_t k_csv_bytes = 128u << 10;    ///< kept of ncu's report in the log
constexpr std::size_t k_printed_bytes = 8u << 10;  ///< of the output of tool and variant, twice
constexpr std::size_t k_words_bytes = 400;
constexpr std::array k_sections = {"SpeedOfLight",
                                   "LaunchStats",
                                   "Occupancy",
                                   "MemoryWorkloadAnalysis",
                                   "ComputeWorkloadAnalysis",
                                   "SchedulerStats",
                                   "WarpStateStats"};

bool is_ncu(const InspectionTask& task) {
  return task.tool == "ncu";
}

ProcessSpec spec_of(const InspectionTask& task) {
  ProcessSpec spec;
  spec.argv = inspection_command(task);
  spec.clear_env = true;
  const std::string folder = task.order.folder.string();
  spec.env = {{"PATH", "/usr/local/bin:/usr/bin:/bin"},
              {"LANG", "C.UTF-8"},
              {"HOME", folder},
              {"TMPDIR", folder}};
  spec.env.merge(gpu_environment());
  spec.working_directory = task.order.folder;
  spec.capture_bytes = k_printed_bytes;
  return spec;
}

protocol::ProfileResult not_available(std::string reason) {
  protocol::ProfileResult result;
  result.reason = std::move(reason);
  return result;
}

/// The result of a run. The tool's report is in a file, since it may exceed a message.
struct Run {
  std::string report, printed;
  std::optional<ExerciseEnd> end;  ///< of the call itself
};

Outcome<Json> run_tool(const InspectionTask& task) {
  const Result<ProcessOutcome> outcome = run_process(spec_of(task));
  if (!outcome.ok()) return environment(outcome.error().message());
  return Json{{"printed", outcome->err + outcome->out}};
}

/// The explanation when the report has none: output of the tool or of the call.
std::string words_of(const Run& run) {
  return printable(run.report.empty() ? run.printed : run.report, k_words_bytes);
}

/// The log holds text: other bytes become question marks.
std::string plain_text(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte >= 0x7f) c = '?';
  }
  return text;
}

/// For a call that did not report its end; tools report on a partial run as if it were complete.
Failure ended_early() {
  return {Invalidity::runtime, "the variant ended the process before the call was over", {}};
}

Outcome<protocol::ProfileResult> read_profile(const Run& run) {
  if (const auto why = why_ncu_is_blocked(run.report + run.printed)) return not_available(*why);
  // Before "no kernel was profiled", since a failed call launches none.
  if (run.end && run.end->failure) return *run.end->failure;
  Result<Json> launches = measure::read_ncu_report(run.report, k_most_launches);
  if (!launches.ok()) {
    return not_available(
        fmt::format("{}; ncu said: {}", launches.error().message(), words_of(run)));
  }
  if (launches->empty()) return not_available("ncu saw no kernel: the call launched none");
  if (!run.end) return ended_early();
  protocol::ProfileResult result;
  result.available = true;
  result.records = {{"launches", *std::move(launches)}};
  // All or nothing, since half a table would mislead.
  if (run.report.size() <= k_csv_bytes) result.records["csv"] = plain_text(run.report);
  return result;
}

Outcome<protocol::ProfileResult> read_findings(const Run& run) {
  const SanitizerReport report = read_sanitizer_report(run.report);
  const bool clean = report.finished && report.errors == 0 && report.warnings == 0;
  const bool found = report.finished && !clean;
  if (!found && run.end && run.end->failure) return *run.end->failure;
  if (!report.finished) {
    return not_available(
        fmt::format("compute-sanitizer ended without its summary; it said: {}", words_of(run)));
  }
  if (clean && !run.end) return ended_early();
  Json messages = Json::array();
  for (const std::string& message : report.messages) messages.push_back(printable(message, 300));
  protocol::ProfileResult result;
  result.available = true;
  result.records = {{"clean", clean},
                    {"errors", report.errors},
                    {"warnings", report.warnings},
                    {"messages", std::move(messages)}};
  return result;
}

}  // namespace

fs::path report_path(const InspectionTask& task) {
  return task.folder / "report.txt";
}

std::vector<std::string> inspection_command(const InspectionTask& task) {
  std::vector<std::string> argv = {task.program.string(), "--log-file", report_path(task).string()};
  const auto add = [&argv](std::initializer_list<std::string> words) {
    argv.insert(argv.end(), words);
  };
  if (is_ncu(task)) {
    add({"--csv", "--page", "details", "--print-units", "base"});
    // Clocks are not fixed: that needs rights, and others may be measuring.
    add({"--clock-control", "none", "--cache-control", "none"});
    add({"--profile-from-start", "off", "--launch-count", fmt::to_string(k_most_launches)});
    for (const char* section : k_sections) add({"--section", section});
  } else {
    add({"--tool", task.tool});
  }
  add({task.own_program, k_exercise_role, to_json(task.order).dump()});
  return argv;
}

Result<fs::path> find_inspection_program(std::string_view tool) {
  const std::string name = tool == "ncu" ? "ncu" : "compute-sanitizer";
  if (const Result<fs::path> nvcc = variant::find_nvcc(variant::CudaPlaces{}); nvcc.ok()) {
    std::error_code error;
    const fs::path beside = nvcc->parent_path() / name;
    if (fs::is_regular_file(beside, error)) return beside;
  }
  return find_program(name);
}

Outcome<protocol::ProfileResult> inspect(ChildRegistry& registry, const InspectionTask& task,
                                         Deadline deadline, CancelSource cancel) {
  InspectionTask found = task;
  if (found.program.empty()) {
    if (Result<fs::path> program = find_inspection_program(task.tool); program.ok()) {
      found.program = *std::move(program);
    }
  }
  if (found.program.empty()) {
    return not_available(fmt::format(
        "{} is not here: it is part of the CUDA toolkit, looked for beside nvcc and in PATH",
        is_ncu(task) ? "ncu" : "compute-sanitizer"));
  }
  std::error_code error;
  fs::create_directory(task.order.folder, error);
  if (error) return environment("cannot make a folder for the call: " + error.message());
  const auto answer = run_forked(
      registry, [&] { return run_tool(found); }, task.tool, deadline, cancel);
  if (!answer.ok()) return answer.error();
  Run run;
  run.printed = answer->value("printed", "");
  run.end = read_exercise_end(run.printed);
  if (auto report = RealFileSystem().read(report_path(found), k_report_bytes); report.ok()) {
    run.report = *std::move(report);
  }
  auto result = is_ncu(task) ? read_profile(run) : read_findings(run);
  if (result.ok()) {
    result->records["tool"] = task.tool;
    result->records["program"] = found.program.filename().string();
  }
  return result;
}

}  // namespace wb::worker
