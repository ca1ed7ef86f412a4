// SPDX-License-Identifier: MIT
// What came of a session, as one value from all its measurements: baseline, iterations, and
// comparisons between them. Whatever says who won, by how much and what to do reads this, so that
// no two answers contradict each other.
//
// Which measurements count: comparisons of the baseline, of confirmations and of `compare`, made in
// iterations that closed as baseline, win or no gain. Selections do not count, because their
// figures chose what was confirmed. Of two subjects that were compared again, the later comparison
// counts. A subject with a failed verdict has no figure: a variant nowhere, a rival on that
// problem.
//
// Ratios of subjects that were never timed in the same turns are products of comparisons along the
// shortest way that leads from one to the other, through variants before rivals. The ends of their
// intervals are multiplied likewise, which holds for any dependence, and so are events listed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_fwd.hpp"
#include "measure/figures.hpp"
#include "session/view.hpp"

namespace wb::outcome {

/// Time of the other subject over the own time: above 1 the own one is faster.
struct Figure {
  double speedup = 0;
  measure::Interval interval;
  measure::ComparisonOutcome outcome = measure::ComparisonOutcome::ambiguous;
  /// One event: both were timed in the same turns. Several: a product. None: the same subject.
  std::vector<std::int64_t> events;
};

/// A variant in one configuration on one problem.
struct Standing {
  std::string variant;               ///< label
  std::optional<Figure> over_start;  ///< none where no comparison leads to the start
  std::string rival;                 ///< the fastest one beside it that stands; "": none
  std::optional<Figure> over_rival;
};

struct ProblemOutcome {
  std::string problem;  ///< text form
  std::string name;     ///< of the suite, else a short form; "held-out 1" while that is hidden
  double weight = 1;
  bool held_out = false, hidden = false;  ///< hidden: its shape may not be told yet
  std::vector<Standing> standings;        ///< variants that passed, the fastest first
  /// The variant to take here: the best single one, unless another is shown faster than it. ""
  /// where none has a figure.
  std::string best;
  std::optional<double> start_us, rival_us;  ///< as last measured; the rival is that of `best`
  [[nodiscard]] const Standing* find(std::string_view variant) const;
};

/// A choice of variants against one opponent on each problem. Lists are positions in
/// Group::problems; held-out problems are in none of them.
struct Total {
  /// By the objective's rule over the problems with a figure (geometric mean outside the suite).
  /// The interval averages the ends of the problems' intervals (measure::geometric_mean), which
  /// holds for any dependence; for the incumbent over the start it is the product of the confirmed
  /// steps.
  std::optional<measure::Aggregate> mean;
  std::vector<std::int64_t> events;
  std::vector<std::size_t> faster, slower, same, undecided, missing;
  [[nodiscard]] std::size_t measured() const {
    return faster.size() + slower.size() + same.size() + undecided.size();
  }
};

/// One variant for all problems, or one for each.
struct Choice {
  std::vector<std::string> variants;  ///< by problem; "" where there is none
  Total over_start, over_rival;
  /// By how much the mean over rivals flatters (above 1) or belittles the choice, because the
  /// fastest variant and the fastest rival were chosen by the same figures: the mean of a bootstrap
  /// that draws every ratio from its interval and chooses anew. The interval's ends are moved by it
  /// where that makes them wider.
  double selection_bias = 1;
};

/// A variant with the positions that it serves.
struct Part {
  std::string variant;
  std::vector<std::size_t> problems;
};

/// Problems that were measured under one plan and regime.
struct Group {
  bool is_suite = false;     ///< the session's suite under its objective's plan; else `compare`
  std::string plan, regime;  ///< "hot", "burst"; regime "" for other plans and unknown ones
  std::vector<ProblemOutcome> problems;
  Choice single;      ///< the best variant that has a figure on every problem; may be empty
  Choice by_problem;  ///< `best` of each problem
  /// The variants of a choice, the one that serves most problems first; without held-out ones.
  [[nodiscard]] std::vector<Part> parts(const Choice& choice) const;
};

enum class Advice {
  none,            ///< nothing is measured
  run_iterations,  ///< the start has no opponent and nothing else was measured
  keep_start,      ///< no other variant is faster
  adopt,           ///< one variant in place of the start
  dispatch         ///< several variants, each on its problems
};
std::string_view to_string(Advice value);

struct Recommendation {
  Advice advice = Advice::none;
  std::size_t group = 0;                ///< position of the group that it is about
  std::vector<Part> parts;              ///< what to use, on problems that are not in keep_rival
  std::vector<std::size_t> keep_rival;  ///< problems on which a rival is faster than the choice
  /// Set where a rival is faster on every problem: the rivals are to be used, and this is the best
  /// single variant, to be developed further. `advice` and `parts` then compare own variants only.
  std::string develop;
  /// For a dispatch that takes problems from the best single variant: the variant that took most,
  /// to be compared with that one in one run, as the parts come from different measurements.
  /// Problems on which a rival is faster are not among them.
  struct Confirmation {
    std::string candidate, against;
    std::vector<std::size_t> problems;
  };
  std::optional<Confirmation> confirmation;
};

/// One variant in one configuration over the whole session.
struct VariantOutcome {
  std::string label, name;                       ///< "cpu_tiled@1f0c44aa", "cpu_tiled"
  std::int64_t built = 0;                        ///< its last variant_built event
  bool passed = false;                           ///< it has a passed verdict and no failed one
  bool confirmed = false;                        ///< it has a figure that counts
  std::optional<measure::Aggregate> over_start;  ///< over the suite
};

struct Outcome {
  std::string start, incumbent;  ///< labels; empty before the baseline closed
  std::size_t iterations = 0;    ///< closed ones after the baseline
  /// The suite first, then what `compare` measured elsewhere, by number of problems.
  std::vector<Group> groups;
  Recommendation recommendation;
  /// The best first: confirmed ones before others, by their figure; others by their build, the last
  /// first.
  std::vector<VariantOutcome> variants;

  /// What a bare kernel name means: the best confirmed variant of that name, else the last that
  /// passed. nullptr when none passed.
  [[nodiscard]] const VariantOutcome* find(std::string_view name) const;
  /// The group that the recommendation is about; nullptr when nothing is measured.
  [[nodiscard]] const Group* main_group() const;
  /// What it recommends to use; nullptr when nothing is measured.
  [[nodiscard]] const Choice* chosen() const;
  /// True for a variant other than the start that it recommends to use, on one problem at least.
  [[nodiscard]] bool takes(std::string_view variant) const;
};

/// Needs a view of full depth: a brief one has no comparisons. Any view gives an outcome; what a
/// payload lacks is not known.
Outcome outcome_of(const session::SessionView& view);

/// A problem on which one side is shown slower than the other.
struct Loss {
  std::string problem;  ///< its name
  std::string against;  ///< the rival; "" for the start
  Figure figure;
};

/// What is lost if the recommendation is followed; the largest loss of each list first.
struct Losses {
  std::vector<Loss> to_rivals, to_start;
  std::vector<Loss> of_incumbent;  ///< to the start, where the recommendation takes another
};
Losses losses_of(const Outcome& outcome);

Json to_json(const Outcome& outcome);

// Words
// --------------------------------------------------------------------------------------------
// Plain text for terminals and models; names of others are made printable. Pages escape it.

/// "dispatch: a on 8, b on 3; ahead of the fastest rival on 11 of 11, 1.85x [1.80, 1.90]".
std::string headline(const Outcome& outcome);
/// "torch_a on 7, torch_b on 4": the rivals to keep, the one on most problems first.
std::string rivals_to_use(const Outcome& outcome);
/// How far the headline's mean over rivals is off because the fastest were chosen by the same
/// figures, as a sentence after a space; empty below 0.1 %.
std::string bias_words(const Outcome& outcome);
/// What is slower than the start or a rival if the recommendation is followed, by name and figure;
/// empty when nothing is.
std::string losses(const Outcome& outcome);
/// Why nothing takes the place of the start; empty where something does, and where nothing is
/// measured.
std::string start_reason(const Outcome& outcome);
/// The recommendation in one sentence: what to use, where to keep a rival, how to confirm it.
std::string advice_words(const Outcome& outcome);
/// What follows from the figures, one sentence each: the recommendation first, then what is lost to
/// a rival, the largest loss first, then what is undecided.
std::vector<std::string> next_steps(const Outcome& outcome);
/// Headline, losses and advice as one paragraph.
std::string paragraph(const Outcome& outcome);

}  // namespace wb::outcome
