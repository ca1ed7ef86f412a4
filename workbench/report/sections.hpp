// SPDX-License-Identifier: MIT
// Shared by report, html and the advice of engine: the parts of the session page, each one function
// from the found-out facts to Markdown, and the phrases that several of them share.
#pragma once

#include <string>

#include "report/cost.hpp"
#include "report/facts.hpp"
#include "report/format.hpp"

namespace wb::report {

/// How a candidate stands against SDPA (fastest_rival), problem by problem, on the objective's
/// plan.
struct Standing {
  std::vector<const Compared*> won, lost, same, ambiguous;
  std::vector<std::string> rivals;   ///< with a figure, as SDPA of one problem at least; by name
  std::vector<std::string> missing;  ///< problems on which no rival stands
  [[nodiscard]] std::size_t measured() const {
    return won.size() + lost.size() + same.size() + ambiguous.size();
  }
};
Standing standing(const Facts& facts, const ComparisonIndex& index);

/// What all sections of one page are made from. Parts point into others, so it stays where it is.
struct Page {
  explicit Page(const session::SessionView& view);
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;
  Facts facts;
  CostGrid costs;
  std::vector<ComparisonIndex> steps;  ///< of each win, in order
  ComparisonIndex held;                ///< comparisons of the iteration that made the incumbent
  Standing sdpa;                       ///< the incumbent
};

// Phrases
// -------------------------------------------------------------------------------------------

/// "1.32x [1.29, 1.35], faster [e50]", "same, 1.01x [0.99, 1.02] [e51]"; figures of the selection
/// phase say that they were never confirmed.
std::string comparison_cell(const Compared& compared);
/// The same without the event.
std::string comparison_words(const Compared& compared);
/// The same without event and phase.
std::string outcome_words(const Compared& compared);
/// " (burst 1.10x [1.08, 1.12], faster; sustained 0.95x [0.93, 0.97], slower)"; empty where only
/// one regime was measured.
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
/// What a percent accepted and a try took of the device and in dollars; empty before a try closed.
std::string gain_per_cost(const Page& page);
inline constexpr int k_step_decimals = 3;
/// The incumbent against a rival under one plan: over the suite, else on how many problems it is
/// faster, and the worst of them.
std::string rival_cell(const Page& page, const RivalFacts& rival, const std::string& plan);
/// "`torch_sdpa@77aa0011` (torch 2.13.0)".
std::string rival_name(const RivalFacts& rival);
/// "`cpu_tiled@1f0c44aa` (`TILE_M=32`)".
std::string incumbent_name(const Page& page, bool with_configuration = true);
/// "prefill, decode and 2 more".
std::string problem_names(const Facts& facts, const std::vector<const Compared*>& problems);
/// "99 % interval"; "interval" when it is not recorded or not the same everywhere.
std::string interval_name(const ComparisonIndex& index);

/// The comparison with the fastest rival that stands on the problem, the one with the lowest figure
/// under the plan: what pages call SDPA there. Where one that stands has no figure, its comparison,
/// because it may have been the fastest. nullptr: none stands.
const Compared* fastest_rival(const Facts& facts, const ComparisonIndex& index,
                              const std::string& problem, const std::string& plan);
/// The only rival with a figure as SDPA, under the objective's plan; nullptr where several have
/// one, or none.
const RivalFacts* only_rival(const Page& page);
/// That one with its versions, or "the fastest rival of each (`torch_cudnn`, …)".
std::string rival_words(const Page& page);
/// The same over all plans: the head of a column that has them all.
std::string sdpa_column(const Page& page);
/// The incumbent against SDPA under one plan: as rival_cell() where one rival is the fastest on
/// every problem, else the geometric mean of the problems' figures, which has no interval.
std::string sdpa_cell(const Page& page, const std::string& plan);
/// The geometric mean of the problems' figures beside SDPA; nothing where one has none.
std::optional<double> sdpa_mean(const Page& page, const std::string& plan);

/// The findings of the holder's iteration that name the room left, the largest first.
struct Headroom {
  const session::Fact* finding = nullptr;
  std::string problem;
  double factor = 0;  ///< time over the bound: of the device's peak, or an empty call's time
};
/// Of a roofline finding's figures; nothing where it has no share of a peak, or is above it.
std::optional<double> headroom_of(const Json& figures);
std::vector<Headroom> headroom(const Page& page);

/// What the facts advise, in one sentence.
std::string advice(const Page& page);

// Sections
// ------------------------------------------------------------------------------------------

std::string first_screen(const Page& page);  ///< at most 15 lines
std::string objective_section(const Page& page);
std::string environment_section(const Page& page);
std::string baseline_section(const Page& page);
std::string result_section(const Page& page);  ///< incumbent against start and every rival
std::string iterations_section(const Page& page);
std::string outside_section(const Page& page);  ///< what `compare` measured; empty without any
std::string hypotheses_section(const Page& page);
std::string findings_section(const Page& page);
std::string correctness_section(const Page& page);
std::string series_section(const Page& page);  ///< empty for a session that stands alone
/// Empty where the log holds no roadmap.
std::string roadmap_section(const Page& page);
/// Empty where the log holds no decided causes.
std::string causes_section(const Page& page);
/// Evidence, interpretation and implication of each cause that is supported, or was of the start.
std::string insights_section(const Page& page);
/// Phases with minutes planned and taken, and what came of each.
std::string execution_section(const Page& page);
/// Minutes were planned, or phases begun by name.
bool has_stated_plan(const Facts& facts);
std::string next_steps_section(const Page& page);
std::string decision_section(const Page& page);
std::string checklist_section(const Page& page);
std::string unseen_section(const Page& page);
std::string notes_section(const Page& page);

// Parts shared with the iteration page
// ----------------------------------------------------------------

/// A table an opponent, with what is missing and how to read it. `candidate` says what the subject
/// is: "incumbent"; `explain` adds what the words mean. Empty without comparisons.
std::string comparison_tables(const Facts& facts, const ComparisonIndex& index,
                              std::string_view candidate, bool explain = true);
/// A row a problem: the fastest rival there and how the candidate stands beside it, and their
/// geometric mean. Empty with fewer than two rivals.
std::string sdpa_table(const Facts& facts, const ComparisonIndex& index,
                       std::string_view candidate);
/// What the GPU was doing meanwhile, for the foot of those tables: clocks, power, temperature, what
/// held the clocks down, processes of others. Empty where the log says nothing of it.
std::string conditions_words(const std::vector<const Compared*>& rows, std::string_view candidate);
/// "driver 580.65.06, SM clock up to 1980 MHz, …" of an environment's `gpu`.
std::string gpu_settings_words(const Json& gpu);
std::string verdict_table(const Facts& facts, const session::IterationView& iteration);
/// What a search was told, and its counts and times; empty for an iteration that searched nothing.
std::string evaluation_section(const session::IterationView& iteration);
/// What ptxas said of the kernels of the iteration's own variant; empty where it said nothing.
std::string ptxas_table(const session::IterationView& iteration);
/// A profile_taken event of torch.profiler: "- kernels of one call of `torch_default` on decode:
/// …".
std::string kernel_names_line(const Facts& facts, const session::Fact& fact);
/// The same of all problems of a rival, as a list below its own line; empty where none was taken.
std::string rival_kernels(const Facts& facts, const RivalFacts& rival);
/// Findings of the analyses intensity, working_set and launch, which the next two show.
bool is_in_demand_tables(const session::Fact& finding);
/// What each problem demands: intensities and working sets. Empty without such findings.
std::string demand_table(const Facts& facts, const std::vector<session::Fact>& findings);
/// What each call launches. Empty without such findings.
std::string launch_table(const Facts& facts, const std::vector<session::Fact>& findings);
/// How many threads of a block have work, as far as launches and a profiler tell. Empty without
/// launches whose threads are known.
std::string thread_table(const Facts& facts, const std::vector<session::Fact>& findings);
/// Regime and roofline share as one table a plan, launches and demands as one, everything else a
/// line each.
std::string finding_tables(const Facts& facts, const std::vector<session::Fact>& findings,
                           const std::vector<std::string>& plans);
/// "- analysis: what it could not see", the same words once; those on other plans left out.
std::vector<std::string> unseen_lines(const std::vector<session::Fact>& findings);

}  // namespace wb::report
