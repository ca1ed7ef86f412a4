// SPDX-License-Identifier: MIT
// kernels/causes.json: possible causes of a slow kernel, as decidable hypotheses: the theory, the
// figures of findings that support or refute it, what to measure when they are missing, and which
// techniques would help. Data that users may extend; advise/diagnosis.hpp decides by it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalogue/techniques.hpp"
#include "core/files.hpp"
#include "core/json.hpp"
#include "variant/manifest.hpp"
#include "variant/variant.hpp"

namespace wb::catalogue {

enum class PredicateOp { equal, not_equal, less, at_most, more, at_least };

/// Compares one figure of a finding with a constant. A figure that is missing, or of another type
/// than the constant, satisfies no predicate, so that unknown stays unknown.
struct FigurePredicate {
  std::string figure;
  PredicateOp op = PredicateOp::equal;
  Json value;  ///< number, string or bool; the last two only with equal and not_equal
};
/// "units_frac 0.06 < 0.75" with the figure's value; "" when it is missing.
std::string words_of(const FigurePredicate& predicate, const Json& figures);
bool holds(const FigurePredicate& predicate, const Json& figures);

/// Whose findings a rule reads: those of the diagnosed subject (and findings without a subject), or
/// those of the others that it is compared with.
enum class RuleAbout { subject, others };
/// strong: observed directly; weak: inferred from times; derived: follows from the manifest, the
/// configuration and the kernel's launch rule, and was not measured. The stronger comes first.
enum class RuleStrength { strong, weak, derived };
std::string_view to_string(RuleStrength value);

/// Holds for a finding of that analysis whose figures satisfy all predicates.
struct CauseRule {
  std::string analysis;
  std::vector<FigurePredicate> when;
  RuleStrength strength = RuleStrength::strong;
  RuleAbout about = RuleAbout::subject;
  std::vector<std::string> plans;  ///< plans of the objective: "hot", "cold", "eager"; empty: any
  bool here = false;  ///< of a cause with scope kernel: counts only for the finding's problem
  /// The figure that lists the problems it is about; empty: those of the whole finding.
  std::string problems;
};

/// A measurement that would decide. The strings of `arguments` may hold {variant}, {problem} (one
/// of the suite's) and {problems} (the probe's, with one size varied).
struct CauseNeed {
  std::string verb;
  Json arguments = Json::object();
  std::string brings;  ///< the figures that it gives, in words
  /// "heads", "keys", "eager", "cold", "profile" or "sass" when `diagnose --measure` can make it.
  std::string probe;
  std::string counter;             ///< the profiler's, by its own name; may be empty
  std::vector<std::string> plans;  ///< plans of the objective under which it decides; empty: any
};

/// The scope of evidence from one problem: the kernel as a whole, or that problem only.
enum class CauseScope { kernel, problem };

struct Cause {
  std::string id, title, theory, test, prediction;  ///< test: in words
  std::vector<std::string> backends;                ///< "cpu", "cuda"
  CauseScope scope = CauseScope::problem;
  std::vector<CauseRule> supported, refuted;
  std::vector<CauseNeed> needs;
  std::vector<std::string> techniques;  ///< remedies, from known_techniques()
  ProblemKind kind;                     ///< the problems that it can concern
};

/// In file order. Errors: parse; invalid (an unknown word, operator or technique, a rule without a
/// predicate, a duplicate cause, a cause that no rule decides); too_new.
Result<std::vector<Cause>> parse_causes(std::string_view text, std::string_view what);

/// From the first folder that has the file. Errors: not_found, and as above.
Result<std::vector<Cause>> load_causes(const FileSystem& file_system,
                                       const variant::SearchPath& search_path);

}  // namespace wb::catalogue
