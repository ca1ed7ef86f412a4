// SPDX-License-Identifier: MIT
// reports/session.md: the order of its sections, and those that only restate what was set up
// (objective, environment, baseline).
#include <fmt/format.h>

#include <algorithm>

#include "report/report.hpp"
#include "report/sections.hpp"

namespace wb::page {
namespace {

constexpr std::size_t k_max_rows = 60;  ///< the latest are shown

std::string limit_words(const Json& budget) {
  std::vector<std::string> parts;
  if (const auto limit = integer(budget, "evaluations"))
    parts.push_back(count(*limit, "evaluation"));
  if (const auto limit = number(budget, "wall_s")) parts.push_back(duration(*limit) + " wall time");
  if (const auto limit = number(budget, "usd")) parts.push_back("$" + fixed(*limit, 2));
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out.empty() ? "none set" : out;
}

std::string stop_words(const Json& stop) {
  std::string out;
  if (const auto n = integer(stop, "plateau")) {
    out += fmt::format("{} without a win in a row", count(*n, "iteration"));
  }
  if (const auto n = integer(stop, "equal_failures")) {
    out += fmt::format("{}{} in a row", out.empty() ? "" : ", ", count(*n, "equal failure"));
  }
  return out.empty() ? "none set" : out;
}

std::string rule_words(const Facts& facts) {
  if (facts.rule == "geomean_speedup") return "geometric mean of the problems' speedups, by weight";
  if (facts.rule == "weighted_time") return "ratio of the weighted sums of times";
  if (facts.rule == "one_problem") {
    return "the speedup on " +
           inline_text(text(field(facts.view.opened.payload, "objective"), "problem"), 80);
  }
  return facts.rule.empty() ? "not recorded" : inline_text(facts.rule, 60);
}

/// The facts of a device that carry their source, as the worker wrote them.
void add_device_rows(Table& table, const Json& device) {
  struct Row {
    const char *key, *name, *unit;
  };
  static constexpr Row k_rows[] = {{"f32_flops_per_s", "peak f32", "FLOP/s"},
                                   {"f16_flops_per_s", "peak f16", "FLOP/s"},
                                   {"bf16_flops_per_s", "peak bf16", "FLOP/s"},
                                   {"memory_bytes_per_s", "memory bandwidth", "B/s"},
                                   {"l3_bytes", "L3", "B"},
                                   {"l2_bytes", "L2 per unit", "B"},
                                   {"memory_bytes", "memory", "B"}};
  for (const Row& row : k_rows) {
    const Json& entry = field(device, row.key);
    const auto value = entry.is_number() ? number(device, row.key) : number(entry, "value");
    if (!value) continue;
    const std::string source = text(entry, "source");
    const bool is_size = std::string_view(row.unit) == "B";
    table.row({row.name, (is_size ? bytes(*value) : with_prefix(*value) + row.unit) +
                             (source.empty() ? "" : " (" + inline_text(source, 60) + ")")});
  }
}

void add_text_row(Table& table, const std::string& name, const std::string& value) {
  if (!value.empty()) table.row({name, inline_text(value, 160)});
}

/// "5 fresh processes, 2 rounds" and the like, of the noise floor.
std::string floor_table(const Facts& facts) {
  if (facts.view.noise_floors.empty()) {
    return "The A/A noise floor was not measured: small differences cannot be told from noise.\n\n";
  }
  Table table(
      {"problem", "plan", "noise floor>", "within one process>", "processes>", "turns>", "event"});
  const std::size_t n = facts.view.noise_floors.size();
  for (std::size_t i = n > k_max_rows ? n - k_max_rows : 0; i < n; ++i) {
    const Fact& fact = facts.view.noise_floors[i];
    const auto integer_text = [&](const char* key) {
      const auto value = integer(fact.payload, key);
      return value ? fmt::format("{}", *value) : std::string("not recorded");
    };
    const std::string problem = text(fact.payload, "problem");
    table.row({problem.empty() ? "every" : inline_text(facts.title(problem), 60),
               inline_text(facts.plan_label(text(fact.payload, "plan")), 40),
               percent(number(fact.payload, "floor_frac")),
               percent(number(fact.payload, "within_frac")), integer_text("instances"),
               integer_text("turns"), ref(fact.seq)});
  }
  return "Noise floor: the same code against itself in fresh processes. A difference below it is "
         "noise.\n\n" +
         table.str() + "\n";
}

std::string resume_list(const SessionView& view) {
  std::string out;
  const std::size_t n = view.resumes.size();
  for (std::size_t i = n > k_max_rows ? n - k_max_rows : 0; i < n; ++i) {
    const Fact& resume = view.resumes[i];
    std::string list;
    for (const std::string& item : strings(resume.payload, "environment_changed")) {
      list += (list.empty() ? "" : ", ") + inline_text(item, 80);
    }
    out += fmt::format("- resumed{}: {}\n", cite(resume.seq),
                       list.empty() ? "same environment" : "changed since: " + list);
  }
  return out.empty() ? out : out + "\n";
}

/// Rivals that may not be compared with, and why.
std::string rival_list(const Facts& facts) {
  if (facts.rivals.empty()) {
    return "No rival was measured: nothing here says how the start or the incumbent stands against "
           "PyTorch's SDPA.\n\n";
  }
  std::string out;
  for (const auto& [name, rival] : facts.rivals) {
    out += "- rival " + rival_name(rival) + cite(rival.built_seq) + ": ";
    if (!rival.built) {
      out += "**failed** to build: " + inline_text(rival.failure, 200) + cite(rival.failure_seq) +
             "; it stands in no comparison.";
    } else if (!rival.failed.empty()) {
      out +=
          fmt::format("**failed** its verdict on {}: {}{}; its times there stand in no comparison.",
                      count(static_cast<std::int64_t>(rival.failed.size()), "problem"),
                      inline_text(rival.failure, 200), cite(rival.failure_seq));
    } else if (rival.passed.empty()) {
      out += "no verdict recorded; it stands in no comparison.";
    } else {
      out += fmt::format("passed its verdict on {}.",
                         count(static_cast<std::int64_t>(rival.passed.size()), "problem"));
    }
    out += "\n";
  }
  return out + "\n";
}

/// What the analyses say about the start's own times, when nothing was compared with it.
std::string start_times(const Facts& facts) {
  Table table({"problem", "plan", "start us>", "event"});
  for (const Fact& finding : facts.baseline->findings) {
    const Json& figures = field(finding.payload, "figures");
    const auto time_us = number(figures, "time_us");
    if (!time_us || !text(finding.payload, "analysis").starts_with("roofline")) continue;
    table.row({inline_text(facts.title(text(finding.payload, "problem")), 60),
               inline_text(facts.plan_label(text(figures, "plan")), 40), microseconds(time_us),
               ref(finding.seq)});
  }
  return table.empty() ? std::string() : table.str() + "\n";
}

}  // namespace

std::string objective_section(const Page& page) {
  const Facts& facts = page.facts;
  const Json& opened = facts.view.opened.payload;
  const Json& objective = field(opened, "objective");
  std::string out = "## Objective\n\n";
  out += fmt::format("Make {} faster{}. Rule: {}, plan {}; ", code(facts.start, 60),
                     cite(facts.view.opened.seq), rule_words(facts),
                     inline_text(facts.plan_label(facts.plan), 40));
  const auto guard = number(objective, "min_speedup");
  out += guard && *guard > 0 ? fmt::format("no problem may fall below {}. ", speedup(guard))
                             : std::string("no guard on single problems. ");
  out +=
      "A speedup is the other's time divided by the candidate's: above 1 the candidate is faster. "
      "The incumbent changes only when the interval's lower end lies above 1 + noise floor in "
      "fresh "
      "processes.\n\n";
  out += fmt::format(
      "Budget: {}. Stops: {}. Effort: {}.\n\n", limit_words(field(opened, "budget")),
      stop_words(field(opened, "stop")),
      text(opened, "effort").empty() ? "not recorded" : inline_text(text(opened, "effort"), 40));
  const std::string suite = text(field(opened, "suite"), "name");
  out += fmt::format("Suite {}: {}.\n\n", suite.empty() ? "without a name" : code(suite, 60),
                     count(static_cast<std::int64_t>(facts.suite.size()), "problem"));
  if (facts.suite.empty()) return out;
  Table table({"problem", "shape", "weight>", "held out"});
  for (const SuiteEntry& entry : facts.suite) {
    const bool hidden = entry.held_out && facts.hide_held_out;
    const std::string title = facts.title(entry.problem);
    table.row({title == entry.problem ? "unnamed" : inline_text(title, 60),
               hidden ? "shown once the session is closed" : code(entry.problem, 160),
               fmt::format("{:g}", entry.weight), entry.held_out ? "yes" : "no"});
  }
  return out + table.str() + "\n";
}

std::string environment_section(const Page& page) {
  const SessionView& view = page.facts.view;
  std::string out = "## Environment\n\n";
  if (!view.environment) return out + "Not recorded.\n\n" + resume_list(view);
  const Json& payload = view.environment->payload;
  const Json& device = field(payload, "device");
  const Json& worker = field(payload, "worker");
  Table table({"fact" + cite(view.environment->seq), "value"});
  add_text_row(table, "device", text(device, "name"));
  add_text_row(table, "architecture", text(device, "architecture"));
  if (const auto units = integer(device, "units")) {
    table.row({text(device, "backend") == "cuda" ? "SMs" : "cores", fmt::format("{}", *units)});
  }
  if (const auto threads = integer(worker, "threads")) {
    table.row({"threads of a subject", fmt::format("{}", *threads)});
  }
  add_device_rows(table, device);
  const Json& toolchain = field(payload, "toolchain");
  add_text_row(table, "compiler", text(toolchain, "compiler"));
  add_text_row(table, "target", text(toolchain, "target"));
  add_text_row(table, "worker", text(worker, "version"));
  add_text_row(table, "transport", text(worker, "transport"));
  add_text_row(table, "isolation", text(worker, "isolation"));
  add_text_row(table, "python", text(worker, "python"));
  if (const auto overhead = number(payload, "call_overhead_us")) {
    table.row({"empty call", microseconds(*overhead) + " us"});
  }
  const Json& host = field(payload, "host");
  add_text_row(table, "system", text(host, "os") + " " + text(host, "kernel"));
  add_text_row(table, "workbench", text(view.opened.payload, "workbench_version"));
  return out + table.str() + "\n" + resume_list(view);
}

std::string baseline_section(const Page& page) {
  const Facts& facts = page.facts;
  std::string out = "## Baseline\n\n";
  if (facts.baseline == nullptr) return out + "Not measured.\n\n";
  const ComparisonIndex index(*facts.baseline);
  const std::string table = comparison_table(facts, index, "start");
  if (table.empty()) {
    out += start_times(facts) + "The start " + code(facts.start, 60) +
           " was compared with nothing; its turns:" +
           (facts.baseline->turns.empty() ? std::string(" none") : cite(facts.baseline->turns)) +
           ".\n\n";
  } else {
    out += "The start " + code(facts.start, 60) + " against each rival, before any change.\n\n" +
           table + "\n";
  }
  return out + rival_list(facts) + floor_table(facts);
}

}  // namespace wb::page

namespace wb {

std::string render_session(const SessionView& view) {
  const page::Page page(view);
  std::string out = page::first_screen(page);
  out += page::objective_section(page);
  out += page::result_section(page);
  out += page::baseline_section(page);
  out += page::iterations_section(page);
  out += page::hypotheses_section(page);
  out += page::findings_section(page);
  out += page::correctness_section(page);
  out += page::cost_section(page.facts, page.costs);
  out += page::next_steps_section(page);
  out += page::decision_section(page);
  out += page::checklist_section(page);
  out += page::unseen_section(page);
  out += page::notes_section(page);
  out += page::environment_section(page);
  out += fmt::format(
      "---\n\nMade from {} of the session's log, head `{}`. `sdpa-wb show eN` prints the event "
      "behind "
      "[eN], with all samples where it is a turn.\n",
      page::count(view.events, "event"), page::plain(view.log_head.substr(0, 12)));
  return out;
}

}  // namespace wb
