// SPDX-License-Identifier: MIT
// The correctness stage: a subject is judged in a fresh process before it is timed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/invalidity.hpp"
#include "core/json_fwd.hpp"
#include "engine/subject.hpp"

namespace wb::engine {

struct Context;
class SubjectProcesses;  // timing.hpp

struct Judgement {
  problem::Problem problem;  ///< of drawn runs: the one that failed or came closest to it
  std::size_t drawn = 0;     ///< drawn runs; 0: the verdict on a problem that was asked for
  bool supported = true;
  std::string message;                   ///< why unsupported or failed
  std::optional<Invalidity> invalidity;  ///< set when it failed
  std::string output;                    ///< untrusted: what it printed before it failed
  double worst_share = 0;                ///< of the error budget
  std::int64_t event = 0;
};
/// What the answer `constraints` means: a candidate's claim to take the problem was false; a
/// library knows only when it is called what it takes.
enum class Refusal { fails, excludes };
/// Loads the subject once and judges it on every problem it takes, then on the drawn runs, which
/// come to one more judgement; stops at the first failure. Each is a verdict_given event. `extent`:
/// screening or whole. `kept`: where the process is left, to be timed; it must hold none yet.
/// Errors: only those of the log and canceled.
Result<std::vector<Judgement>> judge_subject(Context& context, const Subject& subject,
                                             const std::vector<problem::Problem>& problems,
                                             Proof extent = Proof::whole,
                                             SubjectProcesses* kept = nullptr,
                                             Refusal refusal = Refusal::fails,
                                             const std::vector<variant::EdgeDraw>& drawn = {});
/// The problem's label; of drawn runs that passed, how many they were.
std::string label(const Judgement& judgement);
std::optional<Judgement> first_failure(const std::vector<Judgement>& judgements);
/// What the first failure means for the subject; nothing when it passed.
std::optional<Failure> failure_of(const std::vector<Judgement>& judgements);
/// What a variant printed before it failed, as an answer says it: `subject_output`, the middle of
/// long words left out, and `subject_output_ref`, the blob with all of them (null: none, or no
/// session). Errors: those of the blob.
Result<void> tell_subject_output(Context& context, const std::string& words, Json& answer);

}  // namespace wb::engine
