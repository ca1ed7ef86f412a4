// SPDX-License-Identifier: MIT
// Section of a root-cause page: times after the best fix, beside the fastest rival.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/json.hpp"
#include "report/causes.hpp"
#include "report/fixes.hpp"

namespace wb::report {
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

/// The gain over the suite, spread evenly over the problems where the cause applies: the others do
/// not change, so these must bring the whole geometric mean. Nothing if the cause has no gain.
std::optional<Factors> factors_of(const Json& cause) {
  const Json& gain = field(cause, "gain");
  const auto low = number(gain, "low"), expected = number(gain, "expected"),
             high = number(gain, "high");
  const double share = number(cause, "share_frac").value_or(1);
  if (!low || !expected || !high || !(*low > 0 && *expected > 0 && *high > 0)) return std::nullopt;
  if (!(share > 0 && share <= 1)) return std::nullopt;
  return Factors{std::pow(*low, 1 / share), std::pow(*expected, 1 / share),
                 std::pow(*high, 1 / share)};
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
  const auto rooms = headroom(page);
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
    for (const Headroom& room : rooms) {
      if (page.facts.title(room.problem) == title) here.limit(std::max(1.0, room.factor));
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
         "\nThe gain over the suite is taken to come from the problems on which the cause is at "
         "work, from each alike, and never from beyond the roofline. Targets: the fastest rival's "
         "time, and within 4x of it.\n\n";
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
