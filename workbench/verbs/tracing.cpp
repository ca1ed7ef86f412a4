// SPDX-License-Identifier: MIT
#include "verbs/tracing.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/ascii.hpp"
#include "core/json.hpp"
#include "core/process.hpp"
#include "core/writing.hpp"
#include "engine/services.hpp"
#include "trace/analyze.hpp"
#include "trace/prepare.hpp"
#include "trace/suite_maker.hpp"

namespace wb::verbs {

using engine::Services;

namespace {

constexpr std::size_t k_capture_bytes = 8u << 20;

Json prepare_json(const trace::PrepareResult& result) {
  Json files = Json::array();
  for (const fs::path& path : result.files) files.push_back(path.string());
  std::string text = fmt::format(
      "{} events, {:.1f} MB of text; platform {}\nforward: {} calls in {} rows; backward: {} calls "
      "in {} rows\n",
      result.events, static_cast<double>(result.text_bytes) / 1e6, result.platform,
      result.forward_calls, result.forward_rows, result.backward_calls, result.backward_rows);
  if (!result.nothing_seen.empty()) {
    text += "nothing could be looked at: " + result.nothing_seen + "\n";
  }
  for (const std::string& rank : result.ranks) text += "rank " + rank + "\n";
  for (const std::string& gap : result.gaps) text += "gap: " + gap + "\n";
  for (const fs::path& path : result.files) text += path.string() + "\n";
  return {{"platform", result.platform},
          {"forward_calls", result.forward_calls},
          {"forward_rows", result.forward_rows},
          {"backward_calls", result.backward_calls},
          {"backward_rows", result.backward_rows},
          {"gaps", result.gaps},
          {"ranks", result.ranks},
          {"nothing_seen", result.nothing_seen},
          {"files", std::move(files)},
          {"events", result.events},
          {"text_bytes", result.text_bytes},
          {"text", std::move(text)}};
}

trace::PrepareRequest request_of(const Json& args) {
  return {fs::path(args.value("trace", "")), args.value("platform", ""),
          fs::path(args.value("output_dir", ""))};
}

Json analyze_json(const trace::AnalyzeResult& result) {
  Json files = Json::array(), categories = Json::array();
  for (const fs::path& path : result.files) files.push_back(path.string());
  std::string text;
  for (const auto& category : result.categories) {
    categories.push_back(
        {{"name", category.name}, {"status", category.status}, {"metrics", category.metrics}});
    text += category.findings + "\n";
  }
  return {{"categories", std::move(categories)},
          {"files", std::move(files)},
          {"text", std::move(text)}};
}

Result<Json> suite_here(FileSystem& files, const Json& args) {
  const fs::path file = fs::path(args.value("output_dir", "")) / "kernels" / "suites.json";
  std::error_code ignored;
  if (fs::exists(file, ignored)) {
    return Error{ErrorCode::invalid, "write the suite", file.string(), "there is a file already",
                 "name another folder, or remove it"};
  }
  const std::string name = args.value("name", "profile");
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return ascii::is_alnum(c) || c == '_' || c == '-' || c == '.';
  });
  if (name.empty() || !plain) {
    return Error{ErrorCode::usage,
                 "name the suite",
                 printable(name),
                 "a name has letters, digits, '_', '-' and '.'",
                 {}};
  }
  WB_TRY_ASSIGN(const auto made, trace::make_suite(args.value("trace", ""), name));
  WB_TRY(files.make_directories(file.parent_path()));
  WB_TRY(write_output(files, file, trace::suite_file(made.suite), Durability::none));
  Json problems = Json::array(), left_out = Json::array();
  std::string text = fmt::format("suite {}, of a GPU span of {:.3f} ms\n", name, made.gpu_span_ms);
  for (const problem::SuiteProblem& entry : made.suite.problems) {
    problems.push_back({{"name", entry.problem.name},
                        {"problem", to_text(entry.problem)},
                        {"weight", entry.weight},
                        {"share_frac", entry.share_frac.value_or(0)}});
    text += fmt::format("{:.2f} %  {:g} calls  {}\n", 100 * entry.share_frac.value_or(0),
                        entry.weight, to_text(entry.problem));
  }
  for (const auto& entry : made.left_out) {
    left_out.push_back({{"name", entry.name},
                        {"why", entry.why},
                        {"share_frac", entry.share_frac},
                        {"calls", entry.calls},
                        {"kernel_ms", entry.kernel_ms}});
    text += fmt::format("left out: {:.2f} %  {} calls  {}: {}\n", 100 * entry.share_frac,
                        entry.calls, printable(entry.name), entry.why);
  }
  text +=
      fmt::format("sdpa-wb open --path {} --suite {} --objective weighted_time --start KERNEL\n",
                  args.value("output_dir", ""), name);
  return Json{{"suite", name},
              {"file", file.string()},
              {"gpu_span_ms", made.gpu_span_ms},
              {"problems", std::move(problems)},
              {"left_out", std::move(left_out)},
              {"text", std::move(text)}};
}

Result<Json> run_here(const Services& services, std::string_view verb, const Json& args) {
  FileSystem& files = services.file_system;
  const trace::PrepareRequest request = request_of(args);
  if (verb == "trace_prepare") {
    WB_TRY_ASSIGN(const auto prepared, trace::prepare(files, request));
    return prepare_json(prepared);
  }
  if (verb == "trace_suite") return suite_here(files, args);
  const bool whole = verb == "trace_report";
  Result<trace::PrepareResult> prepared = trace::PrepareResult{};
  if (whole) prepared = trace::prepare(files, request);
  // Analyzed nevertheless: the page then says that the preparation failed.
  auto analyzed = trace::analyze(files, request.output_dir);
  WB_TRY(prepared);
  WB_TRY(analyzed);
  Json result = analyze_json(*analyzed);
  if (whole) result["prepared"] = prepare_json(*prepared);
  return result;
}

/// This call's command line, for a machine with the workbench installed.
std::vector<std::string> words_of(std::string_view verb, const Json& args) {
  std::vector<std::string> words{"sdpa-wb", "--json", "trace",
                                 std::string(verb.substr(verb.find('_') + 1))};
  for (const auto& [name, value] : args.items()) {
    if (name == "node" || name == "container") continue;
    std::string option = "--" + name;
    std::replace(option.begin(), option.end(), '_', '-');
    words.push_back(std::move(option));
    words.push_back(value.is_string() ? value.get<std::string>() : value.dump());
  }
  return words;
}

Result<Json> run_there(std::string_view verb, const Json& args) {
  const std::string node = args.value("node", ""), container = args.value("container", "");
  ProcessSpec spec;
  WB_TRY_ASSIGN(spec.argv, remote_command(node, container, words_of(verb, args)));
  spec.capture_bytes = k_capture_bytes;
  WB_TRY_ASSIGN(const ProcessOutcome outcome, run_process(spec));
  const std::string where = node.empty()        ? container
                            : container.empty() ? node
                                                : node + ", " + container;
  if (!outcome.success()) {
    const std::string said = outcome.err.empty() ? outcome.out : outcome.err;
    return Error{ErrorCode::environment, "run the analysis on", where,
                 fmt::format("{} ended with {}{}", spec.argv.front(),
                             outcome.exit_code ? fmt::format("exit code {}", *outcome.exit_code)
                                               : std::string("a signal"),
                             said.empty() ? "" : "; it said: " + printable(said, 400)),
                 "the workbench must be installed there"};
  }
  auto parsed = parse_json(outcome.out, "the answer of " + where);
  if (!parsed && outcome.out.size() >= k_capture_bytes) {
    return Error{ErrorCode::limit, "read the answer of", where,
                 fmt::format("it is larger than {} MiB", k_capture_bytes >> 20),
                 "the files are written there: read them there"};
  }
  WB_TRY_ASSIGN(Json result, std::move(parsed));
  if (!result.is_object()) {
    return Error{ErrorCode::parse, "read the answer of", where, "it is no JSON object", {}};
  }
  return result;
}

/// For the node's shell: in single quotes, where only a quote is special.
std::string shell_quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

Result<void> check_host_name(std::string_view option, const std::string& name) {
  const bool good =
      !name.empty() && name.front() != '-' && std::all_of(name.begin(), name.end(), [](char c) {
        return ascii::is_alnum(c) || c == '.' || c == '-' || c == '_' || c == '@' || c == ':';
      });
  if (good) return {};
  return Error{ErrorCode::usage,
               "use",
               std::string(option),
               fmt::format("\"{}\" is no name of a machine or container", printable(name)),
               {}};
}

}  // namespace

Result<std::vector<std::string>> remote_command(const std::string& node,
                                                const std::string& container,
                                                std::vector<std::string> words) {
  if (!container.empty()) {
    WB_TRY(check_host_name("--container", container));
    words.insert(words.begin(), {"docker", "exec", container});
  }
  if (node.empty()) return words;
  WB_TRY(check_host_name("--node", node));
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_quoted(word);
  return std::vector<std::string>{"ssh", node, "--", line};
}

Result<Json> run_trace_verb(const Services& services, std::string_view verb, const Json& args) {
  const bool elsewhere = args.contains("node") || args.contains("container");
  return elsewhere ? run_there(verb, args) : run_here(services, verb, args);
}

}  // namespace wb::verbs
