// SPDX-License-Identifier: MIT
// Private to playbook: answers of the right shape for `sdpa-wb playbook check`, so that a playbook
// can be dry-run in a moment with nothing built or measured. Ratios come from a seed.
#pragma once

#include <random>
#include <set>
#include <string>

#include "engine/engine.hpp"

namespace wb::playbook {

/// What befalls the playbook in one dry run.
enum class Course {
  mixed,    ///< some iterations win, some do not, every third has no figure
  winning,  ///< every iteration wins, and every comparison is faster
  failing,  ///< every iteration is invalid: its figures are null
  stopped   ///< the budget is spent before the first iteration
};
std::string_view to_string(Course course);

class FakeEngine {
 public:
  struct Options {
    Course course = Course::mixed;
    std::uint64_t seed = 1;
    std::int64_t evaluations = 0;  ///< after so many iterations the answers have a stop_reason
    std::string start;             ///< the kernel that the session would start from
  };
  FakeEngine(engine::Engine& engine, Options options);
  /// Checks the arguments as the engine does, then answers. Verbs that need no session (kernels,
  /// suites) are answered by the real engine. Errors: usage, not_found (a variant that neither the
  /// catalogue nor an earlier answer has), invalid (a call after `close`).
  Result<Json> answer(const std::string& verb, const Json& args);
  [[nodiscard]] const Json& calls() const { return m_calls; }

 private:
  Result<Json> iterate(const Json& args);
  Result<Json> tune(const Json& args);
  Result<Json> race(Json args);
  Result<Json> compare(const Json& args);
  Result<Json> propose(const Json& args);
  Result<Json> propose_many(const Json& args);
  Json usage(const Json& args);
  Json stopped_answer() const;
  double draw_speedup();
  /// Of each problem of a text, what `measure` says of it; in the failing course that it failed.
  Result<Json> measured_rows(const std::string& texts);
  /// Why the configuration would be refused, or empty.
  Result<std::string> misfit(const std::string& variant, const Json& configuration);

  engine::Engine& m_engine;
  Options m_options;
  std::mt19937_64 m_random;
  std::int64_t m_iteration = 0;
  std::int64_t m_tokens = 0;
  std::string m_incumbent;
  std::set<std::string> m_labels;  ///< of variants that earlier answers named
  bool m_closed = false;
  Json m_calls = Json::array();
};

}  // namespace wb::playbook
