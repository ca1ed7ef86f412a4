// SPDX-License-Identifier: MIT
#include "verbs/arguments.hpp"

#include <utility>

namespace wb::verbs {

using K = ArgumentKind;

ArgumentSpec string_argument(std::string_view name, std::string_view doc) {
  return {.name = name, .kind = K::string, .doc = doc};
}

ArgumentSpec text_argument(std::string_view name, std::string_view doc) {
  return {.name = name, .kind = K::text, .doc = doc};
}

ArgumentSpec integer_argument(std::string_view name, std::string_view doc) {
  return {.name = name, .kind = K::integer, .doc = doc};
}

ArgumentSpec real_argument(std::string_view name, std::string_view doc) {
  return {.name = name, .kind = K::real, .doc = doc};
}

ArgumentSpec flag_argument(std::string_view name, std::string_view doc) {
  return {.name = name, .kind = K::boolean, .doc = doc};
}

ArgumentSpec id_argument(std::string_view name, std::string_view doc) {
  return {.name = name, .kind = K::id, .doc = doc};
}

ArgumentSpec ids_argument(std::string_view name, std::string_view doc) {
  return {.name = name, .kind = K::id_list, .doc = doc};
}

ArgumentSpec files_argument(std::string_view name, std::string_view doc) {
  return {.name = name, .kind = K::file_map, .doc = doc};
}

ArgumentSpec edits_argument(std::string_view name, std::string_view doc) {
  return {.name = name, .kind = K::edit_list, .doc = doc};
}

ArgumentSpec choice_argument(std::string_view name, std::string_view doc,
                             std::vector<std::string_view> choices) {
  return {.name = name, .kind = K::enumeration, .doc = doc, .choices = std::move(choices)};
}

ArgumentSpec configuration_argument(std::string_view doc) {
  return {.name = "configuration", .kind = K::configuration, .doc = doc};
}

ArgumentSpec items_argument(std::string_view name, std::string_view doc, const VerbSpec& item) {
  return {.name = name, .kind = K::proposal_list, .doc = doc, .item = &item};
}

ArgumentSpec suite_argument() {
  return string_argument(
      "suite", "a suite name, or names joined by '+'; part of one: prefill:gqa_*,fa_D64_*");
}

ArgumentSpec problem_argument() {
  return string_argument(
      "problem",
      "one problem, such as 'B=1 Hq=8 Sq=512 D=64 f16 causal=none'; several joined by ';'");
}

ArgumentSpec variant_argument() {
  return id_argument("variant", "a kernel's name or a label").required().positional();
}

ArgumentSpec plan_argument() {
  return choice_argument("plan", "how to time", {"hot", "cold", "eager"});
}

ArgumentSpec regime_argument() {
  return choice_argument(
      "regime", "of hot turns: burst (default), or sustained, after up to two seconds of its calls",
      {"burst", "sustained"});
}

ArgumentSpec effort_argument() {
  return choice_argument("effort",
                         "how many processes, placements and rounds: quick, standard (5 processes "
                         "x 3 placements at confirmation) or thorough",
                         {"quick", "standard", "thorough"});
}

ArgumentSpec configuration_argument() {
  return configuration_argument(
      "tunable parameters, NAME=VALUE; the rest from the manifest's defaults");
}

ArgumentSpec target_argument() {
  return string_argument(
      "target",
      "of a CUDA variant the architecture, such as sm_90a (default: the device's, else the "
      "manifest's first), of a CPU variant such as x86-64-v3 (default native)");
}

ArgumentSpec start_argument() {
  return id_argument("start", "the kernel to start from");
}

ArgumentSpec after_argument() {
  return id_argument("after",
                     "the closed session to go on from: its incumbent is the start; suite, "
                     "objective, rivals, rates and effort are its own where none are given");
}

ArgumentSpec backend_argument() {
  return choice_argument("backend", "where to run (default: where the start runs)",
                         {"cpu", "cuda"});
}

ArgumentSpec rivals_argument() {
  return ids_argument("rivals",
                      "kernels to measure against, or none (default: the PyTorch rivals)");
}

ArgumentSpec title_argument() {
  return string_argument("title", "one line for the report's heading");
}

ArgumentSpec repo_argument() {
  return string_argument(
      "repo",
      "a git repository of yours to commit into, below sessions/, instead of the session's own");
}

ArgumentSpec branch_argument() {
  return string_argument("branch", "its branch, new or not checked out anywhere; with repo");
}

ArgumentSpec budget_evaluations_argument() {
  return integer_argument("evaluations", "budget: iterations after the baseline")
      .in("iterations")
      .between(0, 1e6);
}

ArgumentSpec budget_wall_argument() {
  return real_argument("wall_s", "budget: wall time since open").in("s").between(0, 1e8);
}

ArgumentSpec budget_usd_argument() {
  return real_argument("usd", "budget: money").in("USD").between(0, 1e9);
}

ArgumentSpec planned_minutes_argument() {
  return real_argument(
             "planned_minutes",
             "planned for opening and baseline; the report holds what they took against it")
      .in("min")
      .between(0, 1e6);
}

ArgumentSpec list_prices_argument() {
  return choice_argument("list_prices",
                         "public prices for hours that no rate of the session prices, marked as "
                         "such: those shipped (default), or none",
                         {"shipped", "none"});
}

ArgumentSpec goal_argument() {
  return string_argument(
      "goal",
      "what the session is to reach: 'geomean >= 1.2 over torch_default on fa_D64_*'; each for "
      "geomean, start or fastest for the rival, prefill:fa_D64_* for problems of another suite, "
      "which `compare` measures; several joined by ';'");
}

ArgumentSpec predicted_argument() {
  return real_argument("predicted_speedup", "predicted gain over the incumbent on the objective")
      .in("ratio")
      .between(0.001, 1000)
      .required();
}

ArgumentSpec search_seed_argument() {
  return integer_argument("seed", "of the strategy's order (default 1)").between(0, 4294967295.0);
}

ArgumentSpec search_evaluations_argument() {
  return integer_argument("evaluations",
                          "budget of the search: answers, failed ones and duplicates included")
      .in("evaluations")
      .between(1, 1e6);
}

ArgumentSpec search_seconds_argument() {
  return real_argument("seconds", "budget of the search: wall time; the confirmation comes on top")
      .in("s")
      .between(0.001, 1e8);
}

ArgumentSpec search_usd_argument() {
  return real_argument("usd", "budget of the search: money").in("USD").between(1e-06, 1e9);
}

ArgumentSpec ahead_argument() {
  return integer_argument("ahead",
                          "builds kept ahead of the one that is needed (default: two for each "
                          "builder; where builds and turns overlap one, and at least 4)")
      .in("builds")
      .between(0, 1000);
}

ArgumentSpec trace_argument() {
  return string_argument("trace", "a trace of the PyTorch profiler: Chrome JSON, plain or gzip")
      .required()
      .positional();
}

ArgumentSpec platform_argument() {
  return string_argument(
      "platform",
      "whose peaks efficiencies are against: L4, A100, H100, H200, B200, RTX 4000 Ada, MI300X, "
      "MI325X, MI355X or a JSON file (default: by the profile's GPU)");
}

ArgumentSpec analysis_folder_argument() {
  return string_argument("output_dir", "the analysis' folder").required();
}

ArgumentSpec node_argument() {
  return string_argument("node", "run this command there, through ssh");
}

ArgumentSpec container_argument() {
  return string_argument("container", "run this command inside it, through docker");
}

ArgumentSpec passed_variant_argument() {
  return id_argument("variant",
                     "a label of the session, or a kernel's name: then the best of it that passed")
      .required()
      .positional();
}

ArgumentSpec passed_configuration_argument() {
  return configuration_argument("which of several that passed: tunable parameters, NAME=VALUE");
}

std::vector<ArgumentSpec> findings_file_arguments() {
  return {string_argument("table",
                          "CSV or Markdown: problems with times, ours and a reference's "
                          "(docs/contracts/analyses.md)"),
          string_argument("device",
                          "of the files: a GPU of the table, such as H200, L4 or \"RTX 4000 Ada\""),
          string_argument("shape", "what the table leaves out of its problems, such as 'D=64 f16'"),
          string_argument("ours", "the header of our times' column"),
          string_argument("reference", "the header of the reference's"),
          choice_argument("plan", "how the table's times were taken (default hot)",
                          {"hot", "cold", "eager"}),
          string_argument("ncu",
                          "a report of `ncu --csv --page details --print-units base` of one call"),
          string_argument("problem", "the problem of that call"),
          string_argument("sass",
                          "a disassembly, as `show --sass` or `cuobjdump --dump-sass` prints it")};
}

std::vector<ArgumentSpec> joined(std::vector<ArgumentSpec> first,
                                 const std::vector<ArgumentSpec>& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

}  // namespace wb::verbs
