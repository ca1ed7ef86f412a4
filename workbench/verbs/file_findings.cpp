// SPDX-License-Identifier: MIT
#include "verbs/file_findings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "analyze/analysis.hpp"
#include "analyze/disassembly.hpp"
#include "analyze/evidence.hpp"
#include "analyze/measured_table.hpp"
#include "core/ascii.hpp"
#include "core/json.hpp"
#include "core/text.hpp"
#include "engine/parts.hpp"
#include "measure/ncu_report.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using device::Device;
using measure::Evidence;
using measure::Finding;
using measure::Observation;

namespace {

constexpr std::uint64_t k_table_bytes = 8u << 20, k_report_bytes = 32u << 20,
                        k_listing_bytes = 64u << 20;
constexpr std::size_t k_most_launches = 64;
constexpr std::array<const char*, 3> k_files{"table", "ncu", "sass"};

std::string small(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), ascii::lower);
  return result;
}

/// True when `name` contains `words` as whole words: "H20" is not in "H200".
bool holds_words(const std::string& name, const std::string& words) {
  const auto is_word = ascii::is_alnum;
  for (std::size_t at = name.find(words); at != std::string::npos; at = name.find(words, at + 1)) {
    const std::size_t end = at + words.size();
    if ((at == 0 || !is_word(name[at - 1])) && (end == name.size() || !is_word(name[end]))) {
      return true;
    }
  }
  return false;
}

/// A GPU of the table by words in its name. Errors: usage (no match, or an ambiguous part of a
/// name).
Result<Device> device_of(const std::string& asked) {
  if (auto device = device::known_gpu(asked)) return *std::move(device);
  std::vector<std::string> names, like;
  for (const Device& device : device::known_gpus()) {
    names.push_back(device.name);
    if (!asked.empty() && holds_words(small(device.name), small(asked))) {
      like.push_back(device.name);
    }
  }
  if (like.size() == 1) {
    return Error{ErrorCode::usage, "find the device", printable(asked),
                 "it is no whole name, though one GPU of the table has it in its name",
                 fmt::format("name it whole, where it is meant: {}", like.front())};
  }
  return Error{ErrorCode::usage, "find the device", printable(asked),
               like.empty() ? "it is not in the table of GPUs, so its peaks are not known"
                            : "there is more than one of that name",
               fmt::format("name one of: {}", fmt::join(like.empty() ? names : like, "; "))};
}

Result<void> add_table(const FileSystem& files, const Json& args, Evidence& evidence,
                       std::vector<std::string>& gaps) {
  const std::string path = args.value("table", "");
  WB_TRY_ASSIGN(const std::string text,
                read_plain_text(files, path, k_table_bytes, "read the table"));
  analyze::TableReading reading;
  reading.ours = args.value("ours", "");
  reading.reference = args.value("reference", "");
  reading.shape = args.value("shape", "");
  if (const auto plan = measure::parse_plan_kind(args.value("plan", ""))) {
    reading.plan = *plan;
  } else {
    gaps.emplace_back(
        "how the times were taken: read as hot (warm caches, no cost of the host); --plan says "
        "otherwise");
  }
  WB_TRY_ASSIGN(analyze::TableEvidence table, analyze::read_measured_table(text, path, reading));
  evidence.observations = std::move(table.evidence.observations);
  evidence.beside = std::move(table.evidence.beside);
  gaps.insert(gaps.end(), table.gaps.begin(), table.gaps.end());
  return {};
}

/// One call's launches, assigned to ours if a table has our time on that problem.
Result<void> add_ncu(const FileSystem& files, const Json& args, Evidence& evidence) {
  const std::string path = args.value("ncu", "");
  if (!args.contains("problem")) {
    return Error{ErrorCode::usage, "read the profile", path, "which problem it ran is not said",
                 "give it with --problem \"B=1 Hq=8 Sq=512 D=64 f16\""};
  }
  WB_TRY_ASSIGN(const problem::Problem problem,
                problem::parse_problem(args["problem"].get<std::string>()));
  WB_TRY_ASSIGN(const std::string text,
                read_plain_text(files, path, k_report_bytes, "read the profile"));
  WB_TRY_ASSIGN(const Json launches, measure::read_ncu_report(text, k_most_launches));
  std::string subject = "profiled";
  for (const Observation& observation : evidence.observations) {
    const bool is_reference =
        std::any_of(evidence.beside.begin(), evidence.beside.end(),
                    [&](const Observation& other) { return other.subject == observation.subject; });
    if (!is_reference && to_text(observation.problem) == to_text(problem)) {
      subject = observation.subject;
    }
  }
  analyze::add_launches(evidence, launches, subject, problem, "ncu", {});
  return {};
}

/// Sets the explained subject and its problems: the timed subject that is no reference, or the
/// profiled one.
void name_ours(const Evidence& evidence, FileFindings& result) {
  std::set<std::string> seen;
  const auto add = [&](const std::string& subject, const problem::Problem& problem) {
    const bool is_reference =
        std::any_of(evidence.beside.begin(), evidence.beside.end(),
                    [&](const Observation& other) { return other.subject == subject; });
    if (is_reference) return;
    if (result.subject.empty()) result.subject = subject;
    if (subject == result.subject && seen.insert(to_text(problem)).second) {
      result.problems.push_back(problem);
    }
  };
  for (const Observation& one : evidence.observations) add(one.subject, one.problem);
  for (const measure::KernelFacts& kernel : evidence.kernels) {
    if (kernel.problem) add(kernel.subject, *kernel.problem);
  }
}

}  // namespace

namespace {

bool asks_for_files(const Json& args) {
  return std::any_of(k_files.begin(), k_files.end(),
                     [&](const char* file) { return args.contains(file); });
}

}  // namespace

Result<void> check_analyze_arguments(const Json& args, bool has_session) {
  constexpr std::array<std::pair<const char*, const char*>, 5> k_options_of{{{"shape", "table"},
                                                                             {"ours", "table"},
                                                                             {"reference", "table"},
                                                                             {"plan", "table"},
                                                                             {"problem", "ncu"}}};
  for (const auto& [option, file] : k_options_of) {
    if (!args.contains(option) || args.contains(file)) continue;
    return Error{ErrorCode::usage, "analyze", fmt::format("--{}", option),
                 fmt::format("it is of --{}, which is not named", file),
                 "name the file, or leave it out"};
  }
  if (args.contains("device") && !asks_for_files(args)) {
    return Error{ErrorCode::usage, "analyze", "--device", "a session names its own device",
                 "leave it out"};
  }
  if (has_session && asks_for_files(args)) {
    return Error{ErrorCode::usage, "analyze", "a session and files",
                 "they are explained one at a time", "leave one of them out"};
  }
  return {};
}

Result<FileFindings> findings_of_files(const FileSystem& files, const Json& args) {
  Evidence evidence;
  FileFindings result;
  if (args.contains("device")) {
    WB_TRY_ASSIGN(evidence.device, device_of(args["device"].get<std::string>()));
  } else if (!args.contains("sass") || args.contains("table") || args.contains("ncu")) {
    result.gaps.emplace_back("peaks, caches and SMs: no --device is named");
  }
  if (args.contains("table")) WB_TRY(add_table(files, args, evidence, result.gaps));
  if (args.contains("ncu")) WB_TRY(add_ncu(files, args, evidence));
  result.findings = analyze::analyze(evidence);
  name_ours(evidence, result);
  if (args.contains("sass")) {
    WB_TRY_ASSIGN(const std::string text, read_plain_text(files, args["sass"].get<std::string>(),
                                                          k_listing_bytes, "read the listing"));
    WB_TRY_ASSIGN(const std::vector<analyze::SassKernel> kernels, analyze::read_sass(text));
    std::vector<Finding> found = analyze::sass_findings(kernels);
    std::move(found.begin(), found.end(), std::back_inserter(result.findings));
  }
  result.device = std::move(evidence.device);
  return result;
}

Result<bool> reads_files(const Call& call) {
  const bool has_session = session_of(call.context) != nullptr || !call.folder.empty();
  WB_TRY(check_analyze_arguments(call.args, has_session));
  if (!asks_for_files(call.args)) return false;
  if (call.in_playbook) {
    return Error{ErrorCode::usage, "read", "files", "a playbook reads none",
                 "diagnose the session that it runs in"};
  }
  if (call.args.contains("iteration")) {
    return Error{ErrorCode::usage, "diagnose", "an iteration", "files have none",
                 "leave out the files or --iteration"};
  }
  return true;
}

}  // namespace wb::verbs
