// SPDX-License-Identifier: MIT
// `report --kind root-cause`: which cause determines the time and the evidence for it, how time
// scales beside the reference, what was fixed and its gain, what the next fix should bring, and how
// to verify it. It uses only the log.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "analyze/scaling.hpp"
#include "core/json.hpp"
#include "outcome/siblings.hpp"
#include "problem/problem.hpp"
#include "report/causes.hpp"
#include "report/evidence.hpp"
#include "report/fixes.hpp"
#include "report/report.hpp"

namespace wb::report {

using session::SessionView;

namespace {

constexpr std::size_t k_most_families = 12;

/// Which problems of the suite the causes are about, where the subject is one of a dispatch.
std::string dispatched_words(const Page& page, const std::string& subject) {
  const outcome::Recommendation& made = page.conclusion.recommendation;
  if (made.advice != outcome::Advice::dispatch) return {};
  for (const outcome::Part& part : made.parts) {
    if (part.variant != subject) continue;
    return fmt::format(" {} is dispatched to {}; its causes are of those alone.", code(subject, 60),
                       count(static_cast<std::int64_t>(part.problems.size()), "problem"));
  }
  return {};
}

std::string header(const Page& page, const Json& decided) {
  const SessionView& view = page.facts.view;
  const std::string title = text(view.opened.payload, "title");
  const auto supported = causes_of(decided, "supported").size(),
             undecided = causes_of(decided, "undecided").size();
  std::string out = fmt::format(
      "# Root cause: {}\n\nDate: {}. Method: the causes of the registry, each with its test, held "
      "against what was measured in this session; nothing is inferred from names. ",
      title.empty() ? code(text(view.opened.payload, "session"), 60) : inline_text(title, 120),
      plain(view.last_t.substr(0, 10)));
  if (!decided.is_object()) {
    return out +
           "Status: no causes were decided in this log (`sdpa-wb diagnose` decides them).\n\n";
  }
  const auto refuted = causes_of(decided, "refuted");
  const auto is_elsewhere = [](const Json* cause) {
    return !text(*cause, "not_applicable").empty();
  };
  const auto cannot =
      static_cast<std::size_t>(std::count_if(refuted.begin(), refuted.end(), is_elsewhere));
  return out + fmt::format(
                   "Status: {} supported, {} refuted, {} undecided{}.{}\n\n",
                   count(static_cast<std::int64_t>(supported), "cause"), refuted.size() - cannot,
                   undecided,
                   cannot == 0 ? std::string() : fmt::format("; {} cannot be at work here", cannot),
                   dispatched_words(page, text(decided, "subject")));
}

std::string first_evidence(const Facts& facts, const Json& cause) {
  const Json& list = field(cause, "evidence");
  if (!list.is_array() || list.empty()) return "none";
  return evidence_sentence(&facts, list.front(), 400);
}

std::string remedy_words(const Json& cause) {
  std::string out;
  for (const std::string& word : strings(cause, "remedies")) {
    out += (out.empty() ? "" : ", ") + code(word, 40);
  }
  return out.empty() ? "the catalogue has no technique left for it" : out;
}

std::string impact_words(const Page& page) {
  std::string out = told(outcome::headline(page.conclusion));
  const auto rooms = rooms_now(page);
  if (!rooms.empty()) {
    const Room& most = rooms.front();
    out += fmt::format("; up to {}x of room on {} (bound: {}){}",
                       fixed(most.factor, most.factor < 10 ? 1 : 0), inline_text(most.problem, 60),
                       inline_text(most.bound, 100), cite(most.events));
  }
  return out;
}

/// "under utilisation on P1 and P2: SENTENCE (derived)"
std::string cause_and_proof(const Page& page, const Json& cause) {
  std::string out = inline_text(text(cause, "title"), 100);
  const auto where = strings(cause, "where");
  const auto share = number(cause, "share_frac");
  if (!where.empty() && share && *share < 0.995) {
    out += " on " + count(static_cast<std::int64_t>(where.size()), "problem");
  }
  const std::string groups = group_words(cause);
  if (!groups.empty()) out += " [" + groups + "]";
  return out + fmt::format(" ({} evidence): {}", inline_text(text(cause, "strength"), 10),
                           first_evidence(page.facts, cause));
}

/// The causes of a state that can be at work here, by title.
std::string titles_of(const std::vector<const Json*>& causes, std::size_t most) {
  std::string out;
  std::size_t left = 0, shown = 0;
  for (const Json* cause : causes) {
    if (!text(*cause, "not_applicable").empty()) continue;
    if (shown == most) {
      ++left;
      continue;
    }
    out += (out.empty() ? "" : ", ") + inline_text(text(*cause, "title"), 100);
    ++shown;
  }
  if (left > 0) out += fmt::format(" and {} more", left);
  return out;
}

/// "; iteration 5 removed it by `query_tiling` (2.10x) [e90]".
std::string removal_words(const Json& cause) {
  const Json& by = field(cause, "removed_by");
  const auto iteration = integer(by, "iteration"), event = integer(by, "event");
  if (!iteration || !event) return {};
  std::string techniques;
  for (const std::string& word : strings(by, "techniques")) {
    techniques += (techniques.empty() ? "" : ", ") + code(word, 40);
  }
  return fmt::format("; iteration {} removed it by {} ({}){}", *iteration, techniques,
                     speedup(number(by, "speedup")), cite(*event));
}

/// One paragraph: cause, proof, what it is not; then impact and fix.
std::string summary(const Page& page, const Json& decided) {
  std::string out = "## Summary\n\n";
  const auto supported = causes_of(decided, "supported");
  const auto removed = held_up_causes(decided);
  for (const Json* cause : removed) {
    out += fmt::format("Root cause of the start {}, which {} no longer has: {}{}. ",
                       code(text(field(decided, "start"), "subject"), 60),
                       code(text(decided, "subject"), 60), cause_and_proof(page, *cause),
                       removal_words(*cause));
  }
  if (!supported.empty()) {
    out += fmt::format("Root cause now: {}. ", cause_and_proof(page, *supported.front()));
  } else if (decided.is_object()) {
    out += "Nothing that the log holds supports a cause of the present kernel. ";
  } else {
    out += "No causes were decided in this log. ";
  }
  const std::string refuted = titles_of(causes_of(decided, "refuted"), 6);
  if (!refuted.empty()) out += fmt::format("It is not: {}. ", refuted);
  const auto undecided = causes_of(decided, "undecided");
  const std::string open = titles_of(undecided, 4);
  if (!open.empty()) {
    out += "Open: " + open;
    if (field(*undecided.front(), "decided_by").is_object()) {
      out += "; the first is decided by " + decided_by_words(*undecided.front(), "", "");
    }
    out += ". ";
  }
  // The one on most problems; `diagnose` has the others.
  const auto siblings = outcome::contrasts_of(page.conclusion);
  if (!siblings.empty()) {
    out += fmt::format("Siblings: {}. ", inline_text(siblings.front().words(), 200));
  }
  out += fmt::format("\n\n- Impact: {}\n", impact_words(page));
  if (supported.empty()) return out + "\n";
  const Json& first = *supported.front();
  out += fmt::format("- Fix: {}\n", remedy_words(first));
  const std::string gain = gain_words(first);
  if (gain != "-") out += fmt::format("- Expected of the best fix: {} over the suite\n", gain);
  return out + "\n";
}

/// One row per size: the time, and how time and work grew from the smallest size.
void add_family(Table& table, const Facts& facts, const analyze::ScalingFamily& family) {
  const analyze::ScalingPoint& first = family.points.front();
  for (const analyze::ScalingPoint& point : family.points) {
    const double work = point.work_flops / first.work_flops, time = point.time_us / first.time_us;
    const auto& events = point.observation->events;
    table.row({code(family.subject, 60), fmt::format("{} = {}", family.axis, point.size),
               inline_text(facts.title(problem::to_text(point.observation->problem)), 60),
               microseconds(point.time_us) + (events.empty() ? "" : cite(events.front())),
               fmt::format("{:.3g}x", work), fmt::format("{:.3g}x", time),
               fmt::format("{:.2g}", time / work)});
  }
}

/// Times of both sides, over one size at a time: by work and not by batch.
std::string scaling_tables(const Facts& facts, const SessionView& view) {
  const LogEvidence log = log_evidence(view);
  Table table({"subject", "size>", "problem", "time us>", "work>", "time>", "time per work>"});
  std::size_t shown = 0;
  for (const analyze::ScalingFamily& family :
       analyze::scaling_families(log.evidence.observations)) {
    if (family.points.size() < 2 || analyze::work_range(family) < 2) continue;
    if (++shown <= k_most_families) add_family(table, facts, family);
  }
  std::string out = "## How time scales\n\n";
  if (table.empty()) return out + "No two problems of the suite differ in one size only.\n\n";
  out +=
      "Work and time over those of the smallest; time per work 1 is linear, below it room was "
      "left at the small end.\n\n" +
      table.str() + "\n";
  if (shown > k_most_families) {
    out += fmt::format("{} more are in `sdpa-wb analyze`.\n\n", shown - k_most_families);
  }
  return out;
}

std::string cause_details(const Facts& facts, const Json& cause) {
  std::string out = fmt::format(
      "### {}\n\n- Theory: {}\n- Test: {}\n- State: {}\n- Prediction: {}\n- Remedies: {}; gain "
      "{}\n",
      inline_text(text(cause, "title"), 100), inline_text(text(cause, "theory"), 400),
      inline_text(text(cause, "test"), 400), inline_text(text(cause, "state"), 20),
      inline_text(text(cause, "prediction"), 400), remedy_words(cause), gain_words(cause));
  return out + "- Evidence: " + first_evidence(facts, cause) + "\n\n";
}

std::string hypotheses(const Page& page, const Json& decided) {
  const Facts& facts = page.facts;
  const auto all = causes_of(decided);
  std::string out = "## Hypotheses\n\n";
  if (all.empty()) return out + "None was decided in this log.\n\n";
  out += causes_table(facts, all);
  for (const Json* cause : causes_of(decided, "supported")) out += cause_details(facts, *cause);
  const std::string needs =
      needs_list(causes_of(decided, "undecided"), text(decided, "subject"), example_problem(page));
  if (!needs.empty()) out += "### What would decide the undecided\n\n" + needs;
  const auto before = causes_of(field(decided, "start"), "supported");
  if (!before.empty()) {
    out += fmt::format("### Supported of the start {}\n\n",
                       code(text(field(decided, "start"), "subject"), 60)) +
           causes_table(facts, before);
  }
  return out;
}

/// The step that shows whether the device is idle beside a problem: the smallest one of the suite,
/// and the same with a larger batch that fits into half of the memory.
std::string batch_step(const Facts& facts) {
  const Json none;
  const Json& device =
      facts.view.environment ? field(facts.view.environment->payload, "device") : none;
  const auto memory = number(field(device, "memory_bytes"), "value"),
             units = number(device, "units");
  std::optional<problem::Problem> least;
  double least_bytes = 0;
  for (const SuiteEntry& entry : facts.suite) {
    const auto parsed = problem::parse_problem(entry.problem);
    if (entry.held_out || !parsed.ok()) continue;
    const double size = problem::work(*parsed).min_bytes;
    if (least && size >= least_bytes) continue;
    least = *parsed;
    least_bytes = size;
  }
  if (!least) return "no problem of the suite is known, so none can be measured with more batch.";
  constexpr std::int64_t k_tile_rows = 64;
  const std::int64_t blocks = least->B * least->Hq * ((least->Sq + k_tile_rows - 1) / k_tile_rows);
  if (units && static_cast<double>(blocks) >= *units) {
    return "a larger batch shows nothing here: already the smallest problem has a block for each "
           "unit of the device.";
  }
  std::int64_t times = 8;
  while (times > 1 && memory && least_bytes * static_cast<double>(times) > 0.5 * *memory) {
    times /= 2;
  }
  if (times == 1) return "a larger batch does not fit into the memory.";
  problem::Problem more = *least;
  more.B *= times;
  return fmt::format(
      "`sdpa-wb measure VARIANT --problem '{};{}'`, {} times the batch: less than {} times the "
      "time while the device is not full.",
      plain(to_text(*least), 200), plain(to_text(more), 200), times, times);
}

std::string validation(const Page& page, const Json& decided) {
  const std::string problem = example_problem(page);
  std::string out = "## Validation\n\n";
  out += fmt::format(
      "1. `sdpa-wb check VARIANT --problem '{}'`: the fixed variant passes its verdict.\n",
      plain(problem, 200));
  out += "2. " + batch_step(page.facts) + "\n";
  out +=
      "3. `sdpa-wb iterate` with the prediction above: the interval must hold it; "
      "`sdpa-wb diagnose` then refutes the cause.\n\n";
  const Json& suite = field(page.facts.view.opened.payload, "suite");
  out += fmt::format(
      "Baseline again: `sdpa-wb open --start {}{}`.\n\n",
      plain(std::string(base_name(text(decided, "subject").empty() ? page.facts.start
                                                                   : text(decided, "subject"))),
            80),
      text(suite, "name").empty() ? "" : " --suite " + plain(text(suite, "name"), 80));
  return out;
}

std::string conclusion(const Page& page, const Json& decided) {
  const auto supported = causes_of(decided, "supported");
  const SessionView& view = page.facts.view;
  std::string out = "## Conclusion\n\n";
  if (supported.empty()) {
    out +=
        "No cause is supported: confidence in any fix is low until the measurements named above "
        "are taken.\n\n";
  } else {
    const Json& first = *supported.front();
    const bool is_strong = text(first, "strength") == "strong";
    std::size_t pieces = 0;
    std::set<std::int64_t> events;
    for (const Json& one : list_of(first, "evidence")) {
      if (text(one, "says") == "refuted") continue;
      ++pieces;
      for (const Json& event : list_of(one, "events")) {
        if (event.is_number_integer()) events.insert(event.get<std::int64_t>());
      }
    }
    out += fmt::format(
        "The most important supported cause is {}. Confidence: {}, from {} ({} evidence, "
        "{}{}).\n\n",
        inline_text(text(first, "title"), 100), is_strong ? "high" : "medium",
        count(static_cast<std::int64_t>(pieces), "finding"),
        inline_text(text(first, "strength"), 10),
        count(static_cast<std::int64_t>(events.size()), "event"),
        supported.size() > 1
            ? fmt::format("; {} more are supported, and gains overlap", supported.size() - 1)
            : std::string());
  }
  return out + fmt::format("---\n\nMade by sdpa-wb {} from {} up to {}, log head `{}`.\n",
                           inline_text(text(view.opened.payload, "workbench_version"), 40),
                           count(view.events, "event"), plain(view.last_t),
                           plain(view.log_head.substr(0, 12)));
}

std::string follow_up(const SessionView& view) {
  if (!view.roadmap) return "";
  return fmt::format("## What else\n\nFrom the roadmap of this session{}. ",
                     cite(view.roadmap->seq)) +
         render_roadmap(view.roadmap->payload);
}

}  // namespace
}  // namespace wb::report

namespace wb::report {

std::string render_root_cause(const SessionView& view, const SourceChanges* changes) {
  const Page page(view);
  const Json none;
  const Json& decided = view.causes ? view.causes->payload : none;
  const std::vector<session::Fact> findings = findings_now(view);
  return header(page, decided) + summary(page, decided) + scaling_tables(page.facts, view) +
         symptoms_section(page.facts, findings) + hypotheses(page, decided) +
         fixes_section(page, changes) + after_fix_section(page, decided) +
         validation(page, decided) + follow_up(view) + "## Not seen\n\n" +
         unseen_list(view, findings) + conclusion(page, decided);
}

}  // namespace wb::report
