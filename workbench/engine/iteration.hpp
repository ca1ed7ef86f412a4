// SPDX-License-Identifier: MIT
// One iteration: the order of its stages, which `iterate` and the searches of `tune` share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/invalidity.hpp"
#include "core/json.hpp"
#include "engine/subject.hpp"
#include "measure/finding.hpp"
#include "measure/statistics.hpp"

namespace wb::engine {

struct Context;

/// What the stages have found out so far about the iteration that runs.
struct Run {
  std::int64_t number = 0;
  measure::Hypothesis hypothesis;
  std::string confirm = "if_faster";
  bool all_plans = true;  ///< at confirmation, or that of the objective alone
  std::optional<Subject> candidate;
  std::vector<problem::Problem> problems;  ///< that the candidate takes, without the held-out ones
  std::optional<measure::Comparison>
      total;  ///< of the objective, from the last phase that measured
  bool confirmed = false;
  Json problem_rows = Json::array();
  std::optional<Failure> failure;
  std::string refusal;  ///< why a faster candidate did not become incumbent
  std::string preface;  ///< opens the message of iteration_closed; alone when nothing was compared
};

/// Which variant the arguments variant, parent, files, name and configuration mean.
Result<std::pair<variant::Variant, variant::Configuration>> read_proposal(Context& context,
                                                                          const Json& args,
                                                                          std::string_view verb);
/// The answer of a verb that may not start an iteration any more; nothing when it may.
Result<std::optional<Json>> refuse_to_start(Context& context);
Result<std::int64_t> next_iteration(const Context& context);
/// Logs iteration_opened, with the members of `more`.
Result<void> open_iteration(Context& context, const Run& run, const variant::Variant& variant,
                            const variant::Configuration& configuration, const Json& args,
                            const Json& more = Json::object());
/// Judges the suite's problems that the candidate takes, then the edge shapes; fills problems and
/// failure.
Result<void> judge_candidate(Context& context, Run& run);
/// "selection" or "confirmation": times the candidate beside the incumbent (and the rivals), fills
/// total or failure.
Result<void> time_candidate(Context& context, Run& run, const std::string& phase);
/// The figure, where it is one.
Json speedup_or_null(const std::optional<measure::Comparison>& total);
/// Hypothesis, incumbent, debit, iteration_closed (with the members of `more`), commit. Returns the
/// verb's answer.
Result<Json> conclude_iteration(Context& context, Run& run, const variant::Variant& variant,
                                const Json& more = Json::object());

/// Why nothing can be iterated here, or nothing: the baseline closed, and the device is the one
/// that the session recorded. `verb`: who asks. Errors: invalid, environment.
Result<void> need_baseline(Context& context, std::string_view verb);
/// The verb `iterate`: all the stages, from its arguments to its answer.
Result<Json> iterate(Context& context, const Json& args);

}  // namespace wb::engine
