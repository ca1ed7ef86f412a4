// SPDX-License-Identifier: MIT
// One iteration: the order of its stages, which `iterate` and the searches of `tune` share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/json.hpp"
#include "engine/subject.hpp"
#include "measure/figures.hpp"
#include "measure/finding.hpp"

namespace wb::engine {

struct Context;

/// The state of the running iteration.
struct Run {
  std::int64_t number = 0;
  measure::Hypothesis hypothesis;
  std::string confirm = "if_faster";
  bool all_plans = true;  ///< measure all plans at confirmation, or only the objective's
  std::optional<Subject> candidate;
  std::vector<problem::Problem> problems;  ///< supported by the candidate, without held-out ones
  std::optional<measure::Comparison>
      total;  ///< of the objective, from the last phase that measured
  bool confirmed = false;
  Json problem_rows = Json::array();
  std::optional<Failure> failure;
  std::string refusal;  ///< why a faster candidate did not become incumbent
  /// Begins the message of iteration_closed; the whole message when nothing was compared.
  std::string preface;
};

/// The variant that the arguments variant, parent, files, name and configuration describe.
Result<std::pair<variant::Variant, variant::Configuration>> read_proposal(Context& context,
                                                                          const Json& args,
                                                                          std::string_view verb);
/// The answer of a verb when no further iteration may start; nothing when one may.
Result<std::optional<Json>> refuse_to_start(Context& context);
Result<std::int64_t> next_iteration(const Context& context);
/// Logs iteration_opened, with the members of `more`.
Result<void> open_iteration(Context& context, const Run& run, const variant::Variant& variant,
                            const variant::Configuration& configuration, const Json& args,
                            const Json& more = Json::object());
/// Judges the supported problems of the suite, then the edge shapes; fills problems and failure.
Result<void> judge_candidate(Context& context, Run& run);
/// Decides hypothesis and incumbent, debits, logs iteration_closed (with the members of `more`),
/// commits. Returns the verb's answer.
Result<Json> conclude_iteration(Context& context, Run& run, const variant::Variant& variant,
                                const Json& more = Json::object());

/// Fails unless the baseline is closed and the device is the one that the session recorded. `verb`
/// is for the message. Errors: invalid, environment.
Result<void> need_baseline(Context& context, std::string_view verb);
/// The verb `iterate`: all stages, from its arguments to its answer.
Result<Json> iterate(Context& context, const Json& args);

}  // namespace wb::engine
