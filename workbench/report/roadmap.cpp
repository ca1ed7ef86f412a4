// SPDX-License-Identifier: MIT
// The roadmap of a session, from its event: what to try, in stages, and the basis for it. Ranges
// are the catalogue's, with their source; the rest comes from the log.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/json.hpp"
#include "report/report.hpp"
#include "report/session_sections.hpp"

namespace wb::report {
namespace {

constexpr std::size_t k_rows = 8;

std::vector<std::int64_t> events_of(const Json& row) {
  std::vector<std::int64_t> events;
  for (const Json& event : field(row, "events")) {
    if (event.is_number_integer()) events.push_back(event.get<std::int64_t>());
  }
  return events;
}

std::string factor(const Json& row, std::string_view key) {
  const auto value = number(row, key);
  return value ? fmt::format("{}x", fixed(*value, *value < 10 ? 2 : 1)) : "-";
}

/// "1.40x (1.10x to 1.80x)"
std::string range(const Json& row) {
  return fmt::format("{} ({} to {})", factor(row, "expected"), factor(row, "low"),
                     factor(row, "high"));
}

std::string words_of(const Json& row, std::string_view key) {
  std::string out;
  for (const std::string& word : strings(row, key)) {
    out += (out.empty() ? "" : ", ") + code(word, 40);
  }
  return out;
}

std::string calibration_line(const Json& roadmap) {
  const Json& calibration = field(roadmap, "calibration");
  const auto count_of = integer(calibration, "count").value_or(0);
  const auto share = number(calibration, "share").value_or(1);
  if (field(calibration, "families").is_object()) {
    std::string families;
    for (const auto& [family, one] : field(calibration, "families").items()) {
      families += fmt::format("{}{} {} of {}", families.empty() ? "" : "; ",
                              inline_text(family, 40), fixed(number(one, "share").value_or(1), 2),
                              count(integer(one, "count").value_or(0), "prediction"));
    }
    const std::string all = count_of == 0
                                ? std::string("No prediction was decided yet")
                                : fmt::format("All {}: {}{}", count(count_of, "decided prediction"),
                                              fixed(share, 2), cite(events_of(calibration)));
    return fmt::format(
        "Expected: the geometric middle of each range to a power, and isolated trials beside it. "
        "The power is the share of their logarithm that predictions of its kind came to, drawn "
        "towards 1 as if 3 more had come true{}. {}.\n\n",
        families.empty() ? std::string() : " (" + families + ")", all);
  }
  if (count_of < 3) {  // of older logs

    return fmt::format("Expected: the geometric middle of each range, as {} decided here.\n\n",
                       count_of == 0 ? std::string("no prediction was")
                                     : fmt::format("only {} {}", count(count_of, "prediction"),
                                                   count_of == 1 ? "was" : "were"));
  }
  return fmt::format(
      "Expected: the geometric middle of each range, to the power of {} but within it: the median "
      "share of their logarithm that {} came to here{}.\n\n",
      fixed(share, 2), count(count_of, "decided prediction"), cite(events_of(calibration)));
}

/// How to turn it on, the ideas behind it, and what trials of it alone measured.
std::string register_words(const Json& row) {
  std::string out;
  if (const std::string how = text(row, "how"); !how.empty()) {
    out += "; by " + inline_text(how, 80);
  }
  std::string ideas;
  for (const std::string& id : strings(row, "ideas")) {
    if (id != text(row, "technique")) ideas += (ideas.empty() ? "" : ", ") + code(id, 64);
  }
  if (!ideas.empty()) out += "; ideas " + ideas;
  if (is_true(row, "foreign")) out += "; an idea of another's file";
  const Json& effect = field(row, "effect");
  const auto figure = number(effect, "speedup");
  if (!figure) return out;
  out += fmt::format("; alone {}x", fixed(*figure, 2));
  for (const Json& trial : list_of(effect, "trials")) {
    out +=
        fmt::format(", {} iteration {} (its event {})", inline_text(text(trial, "session"), 40),
                    integer(trial, "iteration").value_or(0), integer(trial, "event").value_or(0));
  }
  return out;
}

std::string entries_table(const Json& roadmap) {
  Table table({"technique", "expected, over the suite>", "evidence", "effort", "range from"});
  std::size_t shown = 0;
  for (const Json& row : list_of(roadmap, "entries")) {
    if (++shown > k_rows) break;
    const std::string needs = words_of(row, "needs"), causes = words_of(row, "causes");
    table.row(
        {fmt::format("{}: {}{}", code(text(row, "technique"), 64),
                     inline_text(text(row, "title"), 80), register_words(row)),
         range(row),
         fmt::format("{}: {}{}{}", inline_text(text(row, "strength"), 10),
                     inline_text(text(row, "why"), 120), cite(events_of(row)),
                     causes.empty() ? "" : "; remedies " + causes),
         fmt::format("{}, complexity {}, risk {}{}", hours_words(row),
                     inline_text(text(row, "complexity"), 10), inline_text(text(row, "risk"), 10),
                     needs.empty() ? "" : ", after " + needs),
         inline_text(text(row, "source"), 200)});
  }
  if (table.empty()) {
    if (!list_of(roadmap, "room").empty()) return "";  // which says what is left and what is needed
    return "The catalogue has no technique left that speaks for itself here.\n\n";
  }
  std::string out = table.str() + "\n";
  const std::size_t all = list_of(roadmap, "entries").size();
  if (all > k_rows) {
    out += fmt::format("{} more: `sdpa-wb advise --json`.\n\n", all - k_rows);
  }
  return out;
}

std::string stages_table(const Json& roadmap) {
  Table table({"stage>", "techniques", "over the incumbent then", "over the fastest rival then"});
  std::int64_t number_of_stage = 0;
  for (const Json& row : list_of(roadmap, "stages")) {
    const bool has_rival = number(row, "rival_expected").has_value();
    table.row({fmt::format("{}", ++number_of_stage), words_of(row, "techniques"), range(row),
               has_rival ? fmt::format("{} (low: {})", factor(row, "rival_expected"),
                                       factor(row, "rival_low"))
                         : "no rival stands"});
  }
  return table.empty() ? "" : table.str() + "\n";
}

/// Whether and where the target is reached.
std::string target_line(const Json& roadmap) {
  if (!number(roadmap, "rival_ratio")) return "Without a rival there is no target.";
  const std::string now = factor(roadmap, "rival_ratio");
  const std::string target = factor(roadmap, "target_ratio") + " the fastest rival";
  const auto at = integer(roadmap, "reached_at_stage");
  if (!at) return fmt::format("The target, {}, is reached by none of these; {} now.", target, now);
  if (*at == 0) return fmt::format("The target, {}, is reached: {} now.", target, now);
  return fmt::format("The target, {} ({} now), should be reached at stage {}.", target, now, *at);
}

std::string forecast(const Json& roadmap) {
  if (list_of(roadmap, "stages").empty()) return "";
  std::string out = target_line(roadmap);
  out += fmt::format(" Work: {} by the catalogue's guesses", hours_words(roadmap));
  if (const auto seconds = number(roadmap, "measuring_s")) {
    const auto usd = number(roadmap, "measuring_usd");
    out += fmt::format(
        "; measuring: {}, as an iteration took here, {}", duration(*seconds),
        usd ? fmt::format("${:.2f}{}", *usd, list_mark(is_true(roadmap, "measuring_by_list_price")))
            : "rate not given");
  }
  return out + ".\n\n";
}

/// What is left, and what could work against it.
std::string room_words(const Json& roadmap) {
  std::string out;
  for (const Json& row : list_of(roadmap, "room")) {
    constexpr std::size_t k_most = 4;
    const std::vector<std::string> names = strings(row, "problems");
    std::string problems;
    for (std::size_t i = 0; i < std::min(names.size(), k_most); ++i) {
      problems += (i == 0 ? "" : ", ") + code(short_name(names[i]), 80);
    }
    if (names.size() > k_most) problems += fmt::format(" and {} more", names.size() - k_most);
    out += fmt::format("- {} ({}){}.\n", inline_text(text(row, "says"), 400), problems,
                       cite(events_of(row)));
  }
  return out.empty() ? "" : "Room:\n\n" + out + "\n";
}

/// Techniques that are not advised, by reason.
std::string left_out(const Json& roadmap) {
  std::map<std::string, std::string> by_reason;
  for (const Json& row : list_of(roadmap, "not_advised")) {
    const std::string reason = text(row, "reason");
    if (reason == "the incumbent has it") continue;
    std::string& names = by_reason[reason];
    names += (names.empty() ? "" : ", ") + code(text(row, "technique"), 40);
    if (const auto event = integer(row, "event")) names += cite(*event);
  }
  std::string out;
  for (const auto& [reason, names] : by_reason) {
    out += fmt::format("- {}: {}\n", names, inline_text(reason, 300));
  }
  return out.empty() ? "" : "Not advised:\n\n" + out + "\n";
}

}  // namespace

std::string roadmap_section(const Page& page) {
  if (!page.facts.view.roadmap) return "";
  const session::Fact& made = *page.facts.view.roadmap;
  return fmt::format("## Roadmap\n\nWhat {} lacks of the technique catalogue{}. ",
                     code(text(made.payload, "incumbent"), 60), cite(made.seq)) +
         render_roadmap(made.payload);
}

}  // namespace wb::report

namespace wb::report {

std::string render_roadmap(const Json& roadmap) {
  std::string out = calibration_line(roadmap) + entries_table(roadmap) + room_words(roadmap) +
                    stages_table(roadmap) + forecast(roadmap) + left_out(roadmap);
  std::string unseen;
  for (const std::string& what : strings(roadmap, "unseen")) {
    unseen += (unseen.empty() ? "" : "; ") + inline_text(what, 120);
  }
  if (!unseen.empty()) out += "Not seen: " + unseen + ".\n\n";
  return out;
}

}  // namespace wb::report
