// SPDX-License-Identifier: MIT
// For the tests of diagnoses: the project's own registry, a target on two problems, and findings
// of it. Used by tests/unit/advise.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "advise/diagnosis.hpp"
#include "core/json.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"

namespace wb::test {

inline const fs::path k_root{source_dir()};
inline constexpr const char* k_small = "B=1 Hq=1 Sq=512 D=64 f16";
inline constexpr const char* k_large = "B=8 Hq=16 Sq=4096 D=64 f16";

inline const std::vector<catalogue::Cause>& causes() {
  static const std::vector<catalogue::Cause> all =
      *catalogue::load_causes(RealFileSystem(), {{k_root}});
  return all;
}
inline const std::vector<catalogue::Technique>& techniques() {
  static const std::vector<catalogue::Technique> all =
      *catalogue::load_techniques(RealFileSystem(), {{k_root}});
  return all;
}

inline problem::Problem problem_of(const char* text) {
  return *problem::parse_problem(text);
}

inline advise::Target target() {
  advise::Target result;
  result.subject = "ours@1";
  result.backend = "cuda";
  result.architecture = "sm_90";
  result.plan = "hot";
  result.techniques = {"fused_softmax", "online_softmax", "query_tiling"};
  result.problems = {{problem_of(k_small), 1}};
  return result;
}

inline measure::Finding finding(std::string analysis, Json figures, std::string where = k_small,
                                std::int64_t event = 7) {
  measure::Finding result;
  result.statement = analysis + " says so";
  result.analysis = std::move(analysis);
  result.problem = where.empty() ? where : label(problem_of(where.c_str()));
  if (!figures.contains("subject")) figures["subject"] = "ours@1";
  result.figures = std::move(figures);
  result.events = {event};
  return result;
}

inline advise::Diagnosis of(const std::string& id, const std::vector<measure::Finding>& findings,
                            const advise::Target& who = target()) {
  const auto all = advise::diagnose(causes(), techniques(), who, findings);
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const advise::Diagnosis& one) { return one.cause->id == id; });
  REQUIRE(found != all.end());
  return *found;
}

}  // namespace wb::test
