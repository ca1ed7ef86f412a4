// SPDX-License-Identifier: MIT
// Sample answers for `sdpa-wb playbook check`, so that a playbook can be dry-run quickly without
// building or measuring. Each verb's file defines its sample; this is the state that samples share.
// Ratios come from a seed.
#pragma once

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <string_view>

#include "core/json.hpp"
#include "verbs/table.hpp"

namespace wb::verbs {

/// The results that a playbook gets in one dry run.
enum class Course {
  mixed,    ///< some iterations win, some do not, every third has no figure
  winning,  ///< every iteration wins, and every comparison is faster
  failing,  ///< every iteration is invalid: its figures are null
  stopped   ///< the budget is used up before the first iteration
};
std::string_view to_string(Course course);

class FakeEngine {
 public:
  struct Options {
    Course course = Course::mixed;
    std::uint64_t seed = 1;
    std::int64_t evaluations = 0;  ///< after this many iterations, answers have a stop_reason
    std::string start;             ///< the kernel that the session would start from
  };
  FakeEngine(engine::Engine& engine, Options options, Table table = verb_table());
  /// Checks the arguments as the engine does, then returns the verb's sample. Verbs that need no
  /// session (kernels, suites) are answered by the real engine. Errors: usage, not_found (a variant
  /// that neither the catalogue nor an earlier answer has), invalid (a call after `close`).
  Result<Json> answer(const std::string& verb, const Json& args);
  [[nodiscard]] const Json& calls() const { return m_calls; }

  // For samples.

  [[nodiscard]] engine::Engine& engine() { return m_engine; }
  [[nodiscard]] Course course() const { return m_options.course; }
  /// "budget: dry run" after the given number of iterations, else null.
  [[nodiscard]] Json stop_reason() const;
  [[nodiscard]] bool is_stopped() const { return iteration >= m_options.evaluations; }
  double draw_speedup();
  /// Why the configuration would be refused, or empty. Errors: not_found.
  Result<std::string> misfit(const std::string& variant, const Json& configuration);

  std::int64_t iteration = 0, tokens = 0;
  std::string incumbent;
  std::set<std::string> labels;  ///< of variants in earlier answers
  bool is_closed = false;

 private:
  engine::Engine& m_engine;
  Options m_options;
  Table m_table;
  std::mt19937_64 m_random;
  Json m_calls = Json::array();
};

/// An interval of 2 % to either side.
Json interval_around(double figure);

}  // namespace wb::verbs
