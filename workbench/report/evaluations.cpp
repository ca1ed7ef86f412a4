// SPDX-License-Identifier: MIT
// Section of an iteration's page: what a search asked, which scores it got, and how its device time
// was spent.
#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "report/sections.hpp"

namespace wb::report {

using session::IterationView;

namespace {

constexpr std::size_t k_max_evaluations = 40;

/// The configuration of a tune, or the variant's name in a race.
std::string searched_text(const IterationView& iteration, const Json& configuration) {
  const Json& entrants = field(field(iteration.opened.payload, "tune"), "entrants");
  const auto n = integer(configuration, "entrant").value_or(0);
  if (!entrants.is_array() || n < 1 || n > static_cast<std::int64_t>(entrants.size())) {
    return configuration_text(configuration);
  }
  const Json& entrant = entrants[static_cast<std::size_t>(n - 1)];
  const std::string parameters = configuration_text(field(entrant, "configuration"));
  return text(entrant, "variant") + (parameters.empty() ? "" : " ") + parameters;
}

/// The outcome of one evaluation of a tune; a duplicate has that of its original.
std::string evaluation_outcome(const IterationView& iteration, const Json& evaluation) {
  const std::string twin = searched_text(iteration, field(evaluation, "duplicate_of"));
  const std::string outcome = inline_text(text(evaluation, "outcome"), 40);
  return twin.empty() ? outcome : outcome + ", same code as " + code(twin, 120);
}

/// Counts and times of a tune, from iteration_closed.
std::string tune_lines(const IterationView& iteration) {
  const Json& tune =
      iteration.closed ? field(iteration.closed->payload, "tune") : field(Json(), "tune");
  if (!tune.is_object()) return {};
  const auto n = [&](const char* key) { return integer(tune, key).value_or(0); };
  const auto seconds = [&](const char* key) { return fixed(number(tune, key).value_or(0), 1); };
  std::string out = fmt::format(
      "Strategy {} over a space of {}: {} told, {} valid, {} not found slower than the best, {} "
      "with the code of another, {} stopped early; it ended because: {}. ",
      inline_text(text(tune, "strategy"), 40), count(n("space_size"), "configuration"), n("told"),
      n("valid"), n("contenders"), n("duplicates"), n("stopped_early"),
      inline_text(text(tune, "ended"), 200));
  out += fmt::format(
      "Of {} s the device was measured on for {} s and waited for builds for {} s; {} took {} s of "
      "{} ({}).\n\n",
      seconds("search_s"), seconds("measure_s"), seconds("wait_s"), count(n("builds"), "build"),
      seconds("build_s"), count(n("builders"), "builder"),
      is_true(tune, "overlapped") ? "beside the turns" : "in turns with the measuring");
  if (n("screened") > 0) {
    out += fmt::format(
        "{} on a screening alone, not on the whole verdict; of those that looked best the whole "
        "verdict refused {}.\n\n",
        n("screened") == 1 ? "1 answer rests" : fmt::format("{} answers rest", n("screened")),
        n("retracted"));
  }
  if (is_true(tune, "confirmed")) {
    out += fmt::format(
        "One of {} tries was confirmed, on new samples: of such confirmations {} would be called "
        "faster though nothing differs.\n\n",
        n("tries"), percent(number(tune, "expected_false_wins")));
  }
  return out;
}

}  // namespace

std::string evaluation_section(const IterationView& iteration) {
  const std::string lines = tune_lines(iteration);
  if (iteration.evaluations.size() < 2 && lines.empty()) return {};
  Table table({"#>", "searched", "outcome", "speedup [interval]", "against", "build s>", "event"});
  for (std::size_t i = 0; i < std::min(iteration.evaluations.size(), k_max_evaluations); ++i) {
    const session::Fact& evaluation = iteration.evaluations[i];
    const Json& said = evaluation.payload;
    const auto built = number(said, "build_s");
    const std::string against = searched_text(iteration, field(said, "against"));
    table.row({fmt::format("{}", integer(said, "n").value_or(static_cast<std::int64_t>(i) + 1)),
               code(searched_text(iteration, field(said, "configuration")), 120),
               evaluation_outcome(iteration, said), speedup(ratio(said)),
               against.empty() ? "-" : code(against, 120), built ? fixed(*built, 2) : "-",
               ref(evaluation.seq)});
  }
  std::string out =
      fmt::format("## Evaluations\n\n{} here; these figures selected, they confirm nothing.\n\n",
                  count(static_cast<std::int64_t>(iteration.evaluations.size()), "evaluation"));
  if (!iteration.evaluations.empty()) out += table.str() + "\n";
  if (iteration.evaluations.size() > k_max_evaluations) {
    out += fmt::format("{} more are in the log.\n\n",
                       iteration.evaluations.size() - k_max_evaluations);
  }
  return out + lines;
}

}  // namespace wb::report
