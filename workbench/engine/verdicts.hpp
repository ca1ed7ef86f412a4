// SPDX-License-Identifier: MIT
// The correctness stage: a subject is judged in a fresh process before it is timed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "engine/subject.hpp"

namespace wb::engine {

struct Context;
class SubjectProcesses;  // timing.hpp

struct Judgement {
  problem::Problem problem;  ///< for drawn runs: the one that failed or used most of its budget
  std::size_t drawn = 0;     ///< number of drawn runs; 0: a verdict on a requested problem
  bool supported = true;
  std::string message;                   ///< why it is unsupported or failed
  std::optional<Invalidity> invalidity;  ///< set when it failed
  std::string output;                    ///< untrusted: printed by the variant before it failed
  double worst_share = 0;                ///< largest used share of the error budget
  std::int64_t event = 0;
};
/// The meaning of the answer `constraints`: for a candidate, its claim to support the problem was
/// false; for a library, it learns only when called what it supports.
enum class Refusal { fails, excludes };
/// Loads the subject once and judges it on every supported problem, then on the drawn runs, which
/// give one more judgement; stops at the first failure. Each judgement is a verdict_given event.
/// `extent`: screening or whole. `kept`: where to leave the process for timing; it must hold none
/// yet. Errors: only those of the log and canceled.
Result<std::vector<Judgement>> judge_subject(Context& context, const Subject& subject,
                                             const std::vector<problem::Problem>& problems,
                                             VerdictExtent extent = VerdictExtent::whole,
                                             SubjectProcesses* kept = nullptr,
                                             Refusal refusal = Refusal::fails,
                                             const std::vector<variant::EdgeDraw>& drawn = {});
/// The problem's label, or the number of drawn runs that passed.
std::string label(const Judgement& judgement);
std::optional<Judgement> first_failure(const std::vector<Judgement>& judgements);
/// The first failure as a Failure of the subject; nothing when it passed.
std::optional<Failure> failure_of(const std::vector<Judgement>& judgements);

}  // namespace wb::engine
