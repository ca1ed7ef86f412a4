// SPDX-License-Identifier: MIT
#include "report/fixes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "report/causes.hpp"

namespace wb::report {

using session::IterationView;

namespace {

constexpr std::size_t k_most_files = 6, k_most_ranges = 6;

/// "`kernel.cu` lines 40 to 52, 80 (14 added, 3 removed)".
std::string file_words(const FileChange& file) {
  if (file.is_new || file.is_gone) {
    return fmt::format("{} ({}, {})", code(file.path, 80), file.is_new ? "new" : "gone",
                       count(file.added + file.removed, "line"));
  }
  std::string lines;
  for (std::size_t i = 0; i < std::min(file.lines.size(), k_most_ranges); ++i) {
    const auto [first, last] = file.lines[i];
    lines += fmt::format("{}{}", lines.empty() ? "" : ", ", first);
    if (last > first) lines += fmt::format(" to {}", last);
  }
  if (file.lines.size() > k_most_ranges) {
    lines += fmt::format(" and {} more places", file.lines.size() - k_most_ranges);
  }
  const bool is_one = file.lines.size() == 1 && file.lines[0].first == file.lines[0].second;
  return fmt::format("{} {} {} ({} added, {} removed)", code(file.path, 80),
                     is_one ? "line" : "lines", lines, file.added, file.removed);
}

/// "`TILE_M` 16 to 32" for each shared parameter that differs.
std::string parameter_words(const Json& before, const Json& after) {
  std::string out;
  if (!before.is_object() || !after.is_object()) return out;
  for (const auto& [name, value] : after.items()) {
    const Json& was = field(before, name);
    if (was == value || was.is_null()) continue;
    out += fmt::format("{}{} {} to {}", out.empty() ? "" : ", ", code(name, 40),
                       inline_text(was.dump(), 40), inline_text(value.dump(), 40));
  }
  return out;
}

/// The configuration in which a label was built; null if no build event has it.
const Json& configuration_of(const session::SessionView& view, const std::string& label) {
  static const Json k_none;
  for (const IterationView& iteration : view.iterations) {
    for (const session::Fact& built : iteration.built) {
      if (text(built.payload, "subject") == label) return field(built.payload, "configuration");
    }
  }
  return k_none;
}

}  // namespace

std::string changed_place(const session::SessionView& view, const IterationView& win,
                          const SourceChanges* changes) {
  const Json& change = win.incumbent_changed->payload;
  const std::string parameters = parameter_words(configuration_of(view, text(change, "from")),
                                                 configuration_of(view, text(change, "to")));
  const std::string with = parameters.empty() ? parameters : "; parameters: " + parameters;
  const auto found =
      changes == nullptr ? SourceChanges::const_iterator() : changes->find(win.number);
  if (changes == nullptr || found == changes->end()) return "the sources are not at hand" + with;
  const SourceChange& sources = found->second;
  if (!sources.unknown.empty()) return inline_text(sources.unknown, 160) + with;
  if (sources.files.empty()) {
    return parameters.empty() ? "the same sources" : "the same sources; parameters: " + parameters;
  }
  std::string out;
  for (std::size_t i = 0; i < std::min(sources.files.size(), k_most_files); ++i) {
    out += (out.empty() ? "" : "; ") + file_words(sources.files[i]);
  }
  if (sources.files.size() > k_most_files) {
    out += fmt::format("; and {} more files", sources.files.size() - k_most_files);
  }
  return out + with;
}

namespace {

std::string places(const Page& page, const SourceChanges* changes) {
  std::string out = "Where (lines of the file after the change):\n\n";
  for (const IterationView* win : page.facts.wins) {
    const std::string oid = win->committed ? text(win->committed->payload, "oid") : std::string();
    out += fmt::format("- iteration {}, {}: {}\n", win->number,
                       oid.empty()
                           ? std::string("not committed")
                           : "commit " + code(oid.substr(0, 10), 40) + cite(win->committed->seq),
                       changed_place(page.facts.view, *win, changes));
  }
  return out + "\n`git show` of a commit prints the change itself.\n\n";
}

/// Each prediction in times per problem, beside the measured times.
std::string times(const Page& page) {
  Table table({"#>", "problem", "before us>", "predicted us>", "measured us>", "prediction"});
  for (const IterationView* win : page.facts.wins) {
    const ComparisonIndex index(*win);
    const auto predicted = number(field(win->opened.payload, "hypothesis"), "predicted_speedup");
    for (const SuiteEntry& entry : page.facts.suite) {
      if (entry.held_out && page.facts.hide_held_out) continue;
      const Compared* one = index.find("", entry.problem, page.facts.plan);
      if (one == nullptr || !one->against_us || !one->candidate_us) continue;
      const bool is_known = predicted && *predicted > 0;
      const double expected_us = is_known ? *one->against_us / *predicted : 0;
      const double off = is_known ? *one->candidate_us / expected_us : 0;
      table.row({fmt::format("{}", win->number), inline_text(page.facts.title(entry.problem), 60),
                 microseconds(one->against_us),
                 is_known ? microseconds(expected_us) : std::string("none"),
                 microseconds(one->candidate_us) + cite(one->seq),
                 !is_known  ? std::string("none")
                 : off <= 1 ? std::string("reached")
                            : fmt::format("missed, {:.2f}x the time", off)});
    }
  }
  if (table.empty()) return {};
  return "Times, if each problem had gained what was predicted over the suite:\n\n" + table.str() +
         "\n";
}

}  // namespace

std::string fixes_section(const Page& page, const SourceChanges* changes) {
  std::string out = "## Fixes made\n\n";
  if (page.facts.wins.empty()) return out + "None: the start still holds its place.\n\n";
  Table table({"#>", "from", "to", "what changed", "predicted>", "measured>"});
  for (const IterationView* win : page.facts.wins) {
    const Json& change = win->incumbent_changed->payload;
    const Json& hypothesis = field(win->opened.payload, "hypothesis");
    table.row({fmt::format("{}", win->number), code(text(change, "from"), 60),
               code(text(change, "to"), 60),
               brief(text(hypothesis, "theory"), 200) + cite(win->opened.seq),
               speedup(number(hypothesis, "predicted_speedup")),
               speedup(ratio(change)) + cite(win->incumbent_changed->seq)});
  }
  return out + table.str() + "\n" + places(page, changes) + times(page);
}

namespace {

constexpr double k_within = 4;  ///< multiple of the rival's time that is the second mark

/// The expected gain of a fix on a problem where its cause applies; above 1 is faster.
struct Factors {
  double low = 1, expected = 1, high = 1;
  void limit(double room) {
    low = std::min(low, room);
    expected = std::min(expected, room);
    high = std::min(high, room);
  }
};

/// The remedy's gain on the problems where the cause is at work. Nothing if the cause has none, or
/// the log has that over the suite only, which is the gain of no problem.
std::optional<Factors> factors_of(const Json& cause) {
  const Json& gain = field(cause, "gain_there");
  const auto low = number(gain, "low"), expected = number(gain, "expected"),
             high = number(gain, "high");
  if (!low || !expected || !high || !(*low > 0 && *expected > 0 && *high > 0)) return std::nullopt;
  return Factors{*low, *expected, *high};
}

std::string range_words(double now_us, const Factors& factors) {
  return fmt::format("{} ({} to {})", microseconds(now_us / factors.expected),
                     microseconds(now_us / factors.high), microseconds(now_us / factors.low));
}

/// Which mark the range reaches, with its slow end (certain) or only its fast end (possible).
std::string mark_words(double now_us, const Factors& factors, double rival_us) {
  const double slow = now_us / factors.low, fast = now_us / factors.high;
  if (slow <= rival_us) return "as fast as the rival";
  const std::string perhaps = fast <= rival_us ? "perhaps as fast as the rival" : "";
  const std::string within = slow <= k_within * rival_us   ? "within 4x"
                             : fast <= k_within * rival_us ? "perhaps within 4x"
                                                           : "not within 4x";
  return perhaps.empty() ? within : within + ", " + perhaps;
}

std::string times_table(const Page& page, const Json& cause) {
  const auto where = strings(cause, "where");
  const auto factors = factors_of(cause);
  const auto rooms = rooms_now(page);
  Table table({"problem", "cause at work", "now us>", "after the fix us>", "fastest rival us>",
               "4x the rival us>", "within 4x now", "then"});
  for (const SuiteEntry& entry : page.facts.suite) {
    if (entry.held_out && page.facts.hide_held_out) continue;
    const Compared* sdpa = fastest_rival(page.facts, page.held, entry.problem, page.facts.plan);
    if (sdpa == nullptr || !sdpa->candidate_us || !sdpa->against_us) continue;
    const std::string title = page.facts.title(entry.problem);
    const bool is_there =
        where.empty() || std::find(where.begin(), where.end(), title) != where.end();
    Factors here = is_there && factors ? *factors : Factors{};
    for (const Room& room : rooms) {
      if (room.problem == title) here.limit(std::max(1.0, room.factor));
    }
    const double now = *sdpa->candidate_us;
    const bool is_known = !is_there || factors;
    table.row({inline_text(title, 60), is_there ? "yes" : "no", microseconds(now) + cite(sdpa->seq),
               !is_known  ? std::string("not known")
               : is_there ? range_words(now, here)
                          : "as now",
               microseconds(sdpa->against_us), microseconds(k_within * *sdpa->against_us),
               now <= k_within * *sdpa->against_us ? "yes" : "no",
               is_known ? mark_words(now, here, *sdpa->against_us) : std::string("not known")});
  }
  if (table.empty()) return "No rival stands, so there are no marks to reach.\n\n";
  return table.str() +
         "\nAfter the fix: the catalogue's range of the remedy on the problems where the cause is "
         "at work, on none beyond its bound. Targets: the fastest rival's time, and within 4x of "
         "it.\n\n";
}

/// The time that remains after the best fix.
std::string remaining(const std::vector<const Json*>& supported) {
  std::string others;
  for (std::size_t i = 1; i < supported.size(); ++i) {
    others += (others.empty() ? "" : ", ") + inline_text(text(*supported[i], "title"), 80);
  }
  return others.empty()
             ? "What stays slow after it has none of the causes that are supported here: "
               "`sdpa-wb diagnose --measure` after the fix looks again.\n\n"
             : "It takes one cause away; these are supported too, and stay: " + others + ".\n\n";
}

}  // namespace

std::string after_fix_section(const Page& page, const Json& decided) {
  const auto supported = causes_of(decided, "supported");
  std::string out = "## After the fix\n\n";
  if (supported.empty()) return out + "Without a supported cause nothing is expected.\n\n";
  const Json& cause = *supported.front();
  return out +
         fmt::format("{} Gain over the suite: {}.\n\n", inline_text(text(cause, "prediction"), 400),
                     gain_words(cause)) +
         times_table(page, cause) + remaining(supported);
}

}  // namespace wb::report
