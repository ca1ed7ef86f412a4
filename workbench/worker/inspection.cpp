// SPDX-License-Identifier: MIT
#include "worker/inspection.hpp"

#include <fmt/format.h>
#include <linux/filter.h>

#include <algorithm>
#include <cstdio>
#include <system_error>
#include <utility>

#include "core/process.hpp"
#include "variant/builder.hpp"
#include "worker/confine.hpp"
#include "worker/cuda/cuda_subject.hpp"
#include "worker/failure.hpp"
#include "worker/forked.hpp"
#include "worker/roles.hpp"
#include "worker/tool_report.hpp"

namespace wb::worker {
namespace {

constexpr std::size_t k_most_launches = 8;  ///< of one call
constexpr std::uint64_t k_report_bytes = 4u << 20;
constexpr std::size_t k_csv_bytes = 128u << 10;      ///< kept of ncu's report: the log holds it
constexpr std::size_t k_untrusted_bytes = 4u << 10;  ///< of what tool and variant print
constexpr std::uint64_t k_open_files = 1'024;
constexpr int k_call_failed = 3;  ///< exit code of the role

bool is_ncu(const InspectionTask& task) {
  return task.tool == "ncu";
}

ProcessSpec spec_of(const InspectionTask& task, const fs::path& report) {
  ProcessSpec spec;
  spec.argv = inspection_command(task, report);
  spec.clear_env = true;
  const std::string folder = task.scratch.string();
  spec.env = {{"PATH", "/usr/local/bin:/usr/bin:/bin"},
              {"LANG", "C.UTF-8"},
              {"HOME", folder},
              {"TMPDIR", folder}};
  spec.env.merge(gpu_environment());
  spec.working_directory = task.scratch;
  spec.capture_bytes = k_untrusted_bytes;
  return spec;
}

protocol::ProfileResult not_available(std::string reason) {
  protocol::ProfileResult result;
  result.reason = std::move(reason);
  return result;
}

/// How the tool ended. Its report is in a file: it may be larger than a message.
struct Ended {
  bool well = false;         ///< exit code 0
  bool call_failed = false;  ///< the role's own exit code
  std::string words;         ///< what tool and variant printed
};

Outcome<Json> run_tool(const InspectionTask& task, const fs::path& report) {
  const Result<ProcessOutcome> outcome = run_process(spec_of(task, report));
  if (!outcome.ok()) return environment(outcome.error().message());
  return Json{{"well", outcome->success()},
              {"call_failed", outcome->exit_code == k_call_failed},
              {"words", printable(outcome->err + outcome->out, k_untrusted_bytes)}};
}

Failure failure_of(const InspectionTask& task, const Ended& ended) {
  return {Invalidity::runtime, fmt::format("the call failed under {}; its words follow", task.tool),
          ended.words};
}

/// The log holds text: what is none becomes a question mark.
std::string plain_text(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte >= 0x7f) c = '?';
  }
  return text;
}

Outcome<protocol::ProfileResult> read_profile(const InspectionTask& task, const std::string& text,
                                              const Ended& ended) {
  if (const auto why = why_ncu_is_blocked(text + ended.words)) return not_available(*why);
  if (ended.call_failed) return failure_of(task, ended);
  Result<Json> launches = read_ncu_report(text, k_most_launches);
  if (!launches.ok()) {
    return not_available(fmt::format("{}; ncu said: {}", launches.error().message(),
                                     text.empty() ? ended.words : printable(text, 400)));
  }
  if (launches->empty()) return not_available("ncu saw no kernel: the call launched none");
  protocol::ProfileResult result;
  result.available = true;
  result.records = {{"launches", *std::move(launches)}};
  // The whole of it or nothing: half a table says something else.
  if (text.size() <= k_csv_bytes) result.records["csv"] = plain_text(text);
  return result;
}

Outcome<protocol::ProfileResult> read_findings(const InspectionTask& task, const std::string& text,
                                               const Ended& ended) {
  const SanitizerReport report = read_sanitizer_report(text);
  if (!report.finished) {
    if (ended.call_failed) return failure_of(task, ended);
    return not_available(fmt::format("compute-sanitizer ended without its summary; it said: {}",
                                     text.empty() ? ended.words : printable(text, 400)));
  }
  const bool clean = report.errors == 0 && report.warnings == 0;
  // The tool found nothing, and yet the call did not end well.
  if (clean && !ended.well) return failure_of(task, ended);
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

std::vector<std::string> inspection_command(const InspectionTask& task, const fs::path& report) {
  std::vector<std::string> argv = {task.program.string(), "--log-file", report.string()};
  const auto add = [&argv](std::initializer_list<const char*> words) {
    argv.insert(argv.end(), words.begin(), words.end());
  };
  if (is_ncu(task)) {
    // Clocks stay as they are: fixing them needs rights, and others may be measuring.
    add({"--csv",
         "--page",
         "details",
         "--print-units",
         "base",
         "--clock-control",
         "none",
         "--cache-control",
         "none",
         "--profile-from-start",
         "off",
         "--section",
         "SpeedOfLight",
         "--section",
         "LaunchStats",
         "--section",
         "Occupancy",
         "--section",
         "MemoryWorkloadAnalysis",
         "--section",
         "ComputeWorkloadAnalysis",
         "--section",
         "SchedulerStats",
         "--section",
         "WarpStateStats"});
    argv.push_back("--launch-count");
    argv.push_back(std::to_string(k_most_launches));
  } else {
    argv.push_back("--tool");
    argv.push_back(task.tool);
  }
  const Json order = {{"library", task.library},
                      {"build_id", task.build_id},
                      {"problem", to_json(task.problem)},
                      {"scratch", task.scratch.string()}};
  argv.insert(argv.end(),
              {task.own_program, k_exercise_role, gpu_argument(task.gpu), order.dump()});
  return argv;
}

Result<fs::path> find_inspection_program(std::string_view tool) {
  const std::string name = tool == "ncu" ? "ncu" : "compute-sanitizer";
  if (const Result<fs::path> nvcc = find_nvcc(CudaPlaces{}); nvcc.ok()) {
    std::error_code error;
    const fs::path beside = nvcc->parent_path() / name;
    if (fs::is_regular_file(beside, error)) return beside;
  }
  return find_program(name);
}

Outcome<protocol::ProfileResult> inspect(Family& family, const InspectionTask& task,
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
  const fs::path report = task.scratch / "report.txt";
  const auto answer = run_forked(
      family, [&] { return run_tool(found, report); }, task.tool, deadline, cancel);
  if (!answer.ok()) return answer.error();
  const Ended ended{answer->value("well", false), answer->value("call_failed", false),
                    answer->value("words", "")};
  const Result<std::string> text = RealFileSystem().read(report, k_report_bytes);
  const std::string words = text.ok() ? *text : std::string();
  auto result = is_ncu(task) ? read_profile(task, words, ended) : read_findings(task, words, ended);
  if (result.ok()) {
    result->records["tool"] = task.tool;
    result->records["program"] = found.program.filename().string();
  }
  return result;
}

int run_exercise(int gpu, std::string_view order) {
  const auto say = [](const std::string& message) {
    std::fprintf(stderr, "%s\n", message.c_str());
    return k_call_failed;
  };
  const Result<Json> parsed = parse_json(order, "the order");
  if (!parsed.ok()) return say(parsed.error().message());
  ObjectReader reader(*parsed, "the order");
  LoadOrder load;
  load.path = reader.string("library");
  load.build_id = reader.string("build_id");
  Confinement confinement;
  confinement.writable_folder = reader.string("scratch");
  const Json* problem_json = reader.member("problem");
  if (!reader.finish(true).ok() || problem_json == nullptr) return say("the order is garbage");
  const Result<Problem> problem = problem_from_json(*problem_json, "the order");
  if (!problem.ok()) return say(problem.error().message());
  const auto subject = cuda::CudaSubject::create(gpu);
  if (!subject.ok()) return say(subject.error().message());
  // Only now: the tool has its channels open, and the variant is not here yet.
  confinement.gpu = true;
  confinement.open_files = k_open_files;
  const auto filter = make_system_call_filter({.unix_sockets = true});
  if (const char* failed = confine_this_process(confinement, landlock_version(), filter)) {
    return say(fmt::format("cannot confine the call: {}", failed));
  }
  if (auto loaded = (*subject)->load(load); !loaded.ok()) return say(loaded.error().message);
  if (auto called = (*subject)->exercise(*problem); !called.ok()) {
    return say(called.error().message);
  }
  return 0;
}

}  // namespace wb::worker
