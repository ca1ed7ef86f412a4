// SPDX-License-Identifier: MIT
// Shared by report, html and the engine's advice: the input of a page's sections, and the phrases
// and judgements that several sections share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_fwd.hpp"
#include "outcome/outcome.hpp"
#include "report/comparisons.hpp"
#include "report/cost.hpp"
#include "report/facts.hpp"
#include "report/format.hpp"

namespace wb::report {

/// The input of all sections of a page. It has inner references, so it is not movable.
struct Page {
  explicit Page(const session::SessionView& view);
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;
  Facts facts;
  CostGrid costs;
  std::vector<ComparisonIndex> steps;  ///< of each win, in order
  ComparisonIndex held;                ///< comparisons of the iteration that made the incumbent
  /// Of all measurements: whatever a page says of who won and what to do is read from it.
  outcome::Outcome conclusion;
};

/// Words of the outcome as Markdown: events and intervals stay as they are, commands become code,
/// the rest is escaped.
std::string told(std::string_view words);
/// True when the recommendation is to use anything but the start.
bool advises_change(const Page& page);
/// True when the recommendation is to use the incumbent on every problem of the suite.
bool takes_incumbent(const Page& page);
/// The recommended choice over the start, and over the fastest rivals: the mean with its events.
std::string chosen_over_start(const Page& page);
std::string chosen_over_rivals(const Page& page);
/// "`a@1`", "`a@1` on 8, `b@2` on 3": what the recommendation takes.
std::string taken_words(const Page& page);
/// The suite's name, or what was compared where the recommendation is not about the suite.
std::string contest_name(const Page& page);

/// "1.32x [1.29, 1.35], faster [e50]", "same, 1.01x [0.99, 1.02] [e51]". Selection figures are
/// marked as not confirmed.
std::string comparison_cell(const Compared& compared);
/// The same without the event.
std::string comparison_words(const Compared& compared);
/// The same without event and phase.
std::string outcome_words(const Compared& compared);
/// " (burst 1.10x [1.08, 1.12], faster; sustained 0.95x [0.93, 0.97], slower)"; empty when only one
/// regime was measured.
std::string regime_words(const Compared& compared);

/// The incumbent over the start under one plan: its confirmed comparison, or the product of the
/// printed steps (interval: the products of their ends).
struct Gain {
  Ratio ratio;
  std::vector<std::int64_t> events;
  std::string outcome;  ///< of a single step; empty for a product
};
std::optional<Gain> gain(const Page& page, const std::string& plan);
std::string gain_cell(const Page& page, const std::string& plan);
/// The speedup of one problem from the start to the incumbent, under the objective's plan. Nothing
/// where a step has no confirmed interval for it.
std::optional<Gain> problem_gain(const Page& page, const std::string& problem);
/// Each goal of the session and what became of it; empty without goals.
std::string goals_line(const Page& page);
inline constexpr int k_step_decimals = 3;

/// The incumbent against a rival under one plan: over the suite, else the number of problems on
/// which it is faster and the worst one.
std::string rival_cell(const Page& page, const RivalFacts& rival, const std::string& plan);
/// "`torch_sdpa@77aa0011` (torch 2.13.0)".
std::string rival_name(const RivalFacts& rival);
/// "`cpu_tiled@1f0c44aa` (`TILE_M=32`)".
std::string incumbent_name(const Page& page, bool with_configuration = true);
/// "99 % interval"; "interval" when the confidence is not recorded or varies.
std::string interval_name(const ComparisonIndex& index);

/// Whether the technique can do anything on a problem of the suite and on the session's backend.
/// Held-out problems do not count, since their shapes may be hidden.
bool can_act(const Facts& facts, std::string_view technique);

/// Findings with remaining headroom of the incumbent's iteration, the largest first.
struct Headroom {
  const session::Fact* finding = nullptr;
  std::string problem;
  double factor = 0;  ///< time over the bound: of the device's peak, or an empty call's time
};
/// From a roofline finding's figures; nothing without a share of a peak, or above it.
std::optional<double> headroom_of(const Json& figures);
std::vector<Headroom> headroom(const Page& page);

/// The recommendation of the outcome, in one sentence.
std::string advice(const Page& page);

}  // namespace wb::report
