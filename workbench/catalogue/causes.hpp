// SPDX-License-Identifier: MIT
// kernels/causes.json: why a kernel may be slow, as hypotheses that can be decided: the theory, the
// figures of findings that support or refute it, what to measure where they are missing, and which
// techniques would help. Data that a person may add to; advise/diagnosis.hpp decides by it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalogue/techniques.hpp"
#include "core/files.hpp"
#include "variant/manifest.hpp"
#include "variant/variant.hpp"

namespace wb::catalogue {

enum class PredicateOp { equal, not_equal, less, at_most, more, at_least };

/// One figure of a finding held against a constant. A figure that is missing, or of another type
/// than the constant, fulfills nothing: unknown stays unknown.
struct FigurePredicate {
  std::string figure;
  PredicateOp op = PredicateOp::equal;
  Json value;  ///< number, string or bool; the last two only with equal and not_equal
};
/// "units_frac 0.06 < 0.75" of the figure as it is there, and "" where it is not.
std::string words_of(const FigurePredicate& predicate, const Json& figures);
bool holds(const FigurePredicate& predicate, const Json& figures);

/// Whose findings a rule reads: those of the subject that is diagnosed (and findings that name
/// none), or those of the others that it is held against.
enum class RuleAbout { subject, others };
enum class RuleStrength { strong, weak };  ///< strong: seen itself; weak: inferred
std::string_view to_string(RuleStrength value);

/// Holds for a finding of that analysis whose figures fulfill all predicates.
struct CauseRule {
  std::string analysis;
  std::vector<FigurePredicate> when;
  RuleStrength strength = RuleStrength::strong;
  RuleAbout about = RuleAbout::subject;
  std::vector<std::string> plans;  ///< of the objective: "hot", "cold", "eager"; empty: any
};

/// A measurement that would decide. The strings of `arguments` may hold {variant}, {problem} (one
/// of the suite's) and {problems} (the probe's, one size varied).
struct CauseNeed {
  std::string verb;
  Json arguments = Json::object();
  std::string brings;  ///< which figures, in words
  /// "heads", "keys", "eager", "profile" or "sass" where `diagnose --measure` takes it itself.
  std::string probe;
};

/// Where evidence for one problem counts: of the kernel as a whole, or of that problem only.
enum class CauseScope { kernel, problem };

struct Cause {
  std::string id, title, theory, test, prediction;  ///< test: in words
  std::vector<std::string> backends;                ///< "cpu", "cuda"
  CauseScope scope = CauseScope::problem;
  std::vector<CauseRule> supported, refuted;
  std::vector<CauseNeed> needs;
  std::vector<std::string> techniques;  ///< remedies, of known_techniques()
  ProblemKind kind;                     ///< that it can concern
};

/// In the order of the file. Errors: parse; invalid (an unknown word, operator or technique, a rule
/// without a predicate, a cause twice, one that nothing decides); too_new.
Result<std::vector<Cause>> parse_causes(std::string_view text, std::string_view what);

/// Of the first folder that has one. Errors: not_found, and as above.
Result<std::vector<Cause>> load_causes(const FileSystem& file_system,
                                       const variant::SearchPath& search_path);

}  // namespace wb::catalogue
