// SPDX-License-Identifier: MIT
// Private to playbook: answers of the right shape for `sdpa-wb playbook check`, so that a playbook
// can be dry-run in a moment with nothing built or measured. Ratios come from a seed.
#pragma once

#include <random>
#include <vector>

#include "engine/engine.hpp"

namespace wb {

class FakeEngine {
 public:
  FakeEngine(Engine& engine, std::uint64_t seed, std::int64_t evaluations);
  /// Checks the arguments as the engine does, then answers. Reading verbs that need no session
  /// (kernels, suites) are answered by the real engine.
  Result<Json> answer(const std::string& verb, const Json& args);
  [[nodiscard]] const Json& calls() const { return m_calls; }

 private:
  Json iterate(const Json& args);
  Engine& m_engine;
  std::mt19937_64 m_random;
  std::int64_t m_iteration = 0, m_evaluations = 0;
  std::string m_incumbent = "start@00000000";
  Json m_calls = Json::array();
};

}  // namespace wb
