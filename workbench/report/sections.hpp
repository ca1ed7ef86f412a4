// SPDX-License-Identifier: MIT
// Shared by report, html and the engine's advice: the sections of the session page, each a function
// from facts to Markdown, and the phrases that several sections share.
#pragma once

#include <string>

#include "core/json_fwd.hpp"
#include "report/cost.hpp"
#include "report/facts.hpp"
#include "report/format.hpp"

namespace wb::report {

/// A candidate's results against SDPA (fastest_rival) on each problem, on the objective's plan.
struct Standing {
  std::vector<const Compared*> won, lost, same, ambiguous;
  /// Rivals with a figure that are SDPA on at least one problem; by name.
  std::vector<std::string> rivals;
  std::vector<std::string> missing;  ///< problems without a standing rival
  [[nodiscard]] std::size_t measured() const {
    return won.size() + lost.size() + same.size() + ambiguous.size();
  }
};
Standing standing(const Facts& facts, const ComparisonIndex& index);

/// The input of all sections of a page. It has inner references, so it is not movable.
struct Page {
  explicit Page(const session::SessionView& view);
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;
  Facts facts;
  CostGrid costs;
  std::vector<ComparisonIndex> steps;  ///< of each win, in order
  ComparisonIndex held;                ///< comparisons of the iteration that made the incumbent
  Standing sdpa;                       ///< of the incumbent
};

// Phrases
// -------------------------------------------------------------------------------------------

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
/// The cost in device time and dollars per percent gained and per iteration; empty before an
/// iteration closed.
std::string gain_per_cost(const Page& page);
inline constexpr int k_step_decimals = 3;
/// The incumbent against a rival under one plan: over the suite, else the number of problems on
/// which it is faster and the worst one.
std::string rival_cell(const Page& page, const RivalFacts& rival, const std::string& plan);
/// "`torch_sdpa@77aa0011` (torch 2.13.0)".
std::string rival_name(const RivalFacts& rival);
/// "`cpu_tiled@1f0c44aa` (`TILE_M=32`)".
std::string incumbent_name(const Page& page, bool with_configuration = true);
/// "prefill, decode and 2 more".
std::string problem_names(const Facts& facts, const std::vector<const Compared*>& problems);
/// "99 % interval"; "interval" when the confidence is not recorded or varies.
std::string interval_name(const ComparisonIndex& index);

/// The comparison with the fastest standing rival on the problem under the plan, which pages call
/// SDPA. If a standing rival has no figure, that rival's comparison, since it may be the fastest.
/// nullptr: no rival stands.
const Compared* fastest_rival(const Facts& facts, const ComparisonIndex& index,
                              const std::string& problem, const std::string& plan);
/// The only rival with a figure as SDPA under the objective's plan; nullptr when there are several
/// or none.
const RivalFacts* only_rival(const Page& page);
/// That rival with its versions, or "the fastest rival of each (`torch_cudnn`, …)".
std::string rival_words(const Page& page);
/// The same over all plans, as the heading of a column for all plans.
std::string sdpa_column(const Page& page);
/// The incumbent against SDPA under one plan: rival_cell() when one rival is the fastest on every
/// problem, else the geometric mean over problems, without an interval.
std::string sdpa_cell(const Page& page, const std::string& plan);
/// The geometric mean over problems of the figures against SDPA; nothing when one is missing.
std::optional<double> sdpa_mean(const Page& page, const std::string& plan);

/// Findings with remaining headroom of the incumbent's iteration, the largest first.
struct Headroom {
  const session::Fact* finding = nullptr;
  std::string problem;
  double factor = 0;  ///< time over the bound: of the device's peak, or an empty call's time
};
/// From a roofline finding's figures; nothing without a share of a peak, or above it.
std::optional<double> headroom_of(const Json& figures);
std::vector<Headroom> headroom(const Page& page);

/// The recommendation that follows from the facts, in one sentence.
std::string advice(const Page& page);

// Sections
// ------------------------------------------------------------------------------------------

std::string first_screen(const Page& page);  ///< at most 15 lines
std::string objective_section(const Page& page);
std::string environment_section(const Page& page);
std::string baseline_section(const Page& page);
std::string result_section(const Page& page);  ///< incumbent against start and every rival
std::string iterations_section(const Page& page);
std::string outside_section(const Page& page);  ///< results of `compare`; empty without any
std::string hypotheses_section(const Page& page);
std::string findings_section(const Page& page);
std::string correctness_section(const Page& page);
std::string series_section(const Page& page);  ///< empty for a session outside a series
/// Empty when the log has no roadmap.
std::string roadmap_section(const Page& page);
/// Empty when the log has no decided causes.
std::string causes_section(const Page& page);
/// Evidence, interpretation and implication of each cause that is or was supported.
std::string insights_section(const Page& page);
/// Phases with planned and used minutes and their results.
std::string execution_section(const Page& page);
/// True when minutes were planned or phases were named.
bool has_stated_plan(const Facts& facts);
std::string next_steps_section(const Page& page);
std::string decision_section(const Page& page);
std::string checklist_section(const Page& page);
std::string unseen_section(const Page& page);
std::string notes_section(const Page& page);

// Parts shared with the iteration page
// ----------------------------------------------------------------

/// One table per opponent, with what is missing and how to read it. `candidate` names the subject:
/// "incumbent"; `explain` adds explanations of terms. Empty without comparisons.
std::string comparison_tables(const Facts& facts, const ComparisonIndex& index,
                              std::string_view candidate, bool explain = true);
/// One row per problem: the fastest rival and the candidate's result against it, and the geometric
/// mean. Empty with fewer than two rivals.
std::string sdpa_table(const Facts& facts, const ComparisonIndex& index,
                       std::string_view candidate);
/// GPU conditions during those measurements, below the tables: clocks, power, temperature, reasons
/// for lowered clocks, other processes. Empty when the log has none.
std::string conditions_words(const std::vector<const Compared*>& rows, std::string_view candidate);
/// "driver 580.65.06, SM clock up to 1980 MHz, …" of an environment's `gpu`.
std::string gpu_settings_words(const Json& gpu);
std::string verdict_table(const Facts& facts, const session::IterationView& iteration);
/// The options, counts and times of a search; empty for an iteration without one.
std::string evaluation_section(const session::IterationView& iteration);
/// What ptxas reported about the iteration's own kernels; empty without a report.
std::string ptxas_table(const session::IterationView& iteration);
/// A profile_taken event of torch.profiler: "- kernels of one call of `torch_default` on decode:
/// …".
std::string kernel_names_line(const Facts& facts, const session::Fact& fact);
/// The same for all problems of a rival, as a list below its own line; empty when none was
/// profiled.
std::string rival_kernels(const Facts& facts, const RivalFacts& rival);
/// True for findings of the analyses intensity, working_set and launch, which the next two
/// functions show.
bool is_in_demand_tables(const session::Fact& finding);
/// Each problem's demands: intensities and working sets. Empty without such findings.
std::string demand_table(const Facts& facts, const std::vector<session::Fact>& findings);
/// The launches of each call. Empty without such findings.
std::string launch_table(const Facts& facts, const std::vector<session::Fact>& findings);
/// How many threads of a block have work, as far as launches and a profiler show. Empty without
/// launches with known threads.
std::string thread_table(const Facts& facts, const std::vector<session::Fact>& findings);
/// Regime and roofline share as one table per plan, launches and demands as one, all others one
/// line each.
std::string finding_tables(const Facts& facts, const std::vector<session::Fact>& findings,
                           const std::vector<std::string>& plans);
/// "- analysis: what it could not see", equal ones once; without those on other plans.
std::vector<std::string> unseen_lines(const std::vector<session::Fact>& findings);

}  // namespace wb::report
