// SPDX-License-Identifier: MIT
#include "engine/subject.hpp"

#include <fmt/format.h>

#include <set>

#include "engine/context.hpp"
#include "variant/restriction.hpp"

namespace wb::engine {

using problem::Causal;
using problem::Layout;
using problem::MaskKind;
using problem::Problem;
using problem::Suite;
using problem::SuiteProblem;
using variant::Backend;
using variant::KeyedRandom;
using variant::Manifest;

std::string_view to_string(VerdictExtent value) {
  static constexpr std::string_view k_words[] = {"none", "screening", "whole"};
  return k_words[static_cast<int>(value)];
}

VerdictExtent parse_verdict_extent(std::string_view word) {
  return word == "none"        ? VerdictExtent::none
         : word == "screening" ? VerdictExtent::screening
                               : VerdictExtent::whole;
}

std::optional<std::string> not_supported(const Subject& subject, const Problem& problem) {
  if (auto reason = variant::unsupported_reason(subject.variant.manifest, problem)) return reason;
  const auto refused = subject.refused.find(to_text(problem));
  if (refused != subject.refused.end()) return refused->second;
  auto violated =
      variant::violated_restriction(subject.variant.manifest, subject.configuration, &problem);
  if (!violated) return violated.error().message();
  if (*violated) return fmt::format("the restriction \"{}\" does not hold", **violated);
  return std::nullopt;
}

void refuse_held_out(Subject& rival, const Suite& suite) {
  for (const SuiteProblem& member : suite.problems) {
    if (member.held_out) {
      rival.refused.emplace(to_text(member.problem), "rivals are not judged on held-out problems");
    }
  }
}

std::vector<Problem> edge_problems(const Manifest& manifest, const Suite& suite) {
  struct Shape {
    std::int64_t hq, hkv, sq, skv;
    Causal causal;
    MaskKind mask;
    Layout layout;
  };
  static constexpr Shape k_shapes[] = {
      {2, 2, 1, 67, Causal::none, MaskKind::none, Layout::bhsd},
      {4, 2, 67, 67, Causal::top_left, MaskKind::none, Layout::bhsd},
      {2, 2, 130, 67, Causal::bottom_right, MaskKind::none, Layout::bhsd},  // rows with no key
      {2, 1, 33, 129, Causal::none, MaskKind::boolean, Layout::bshd},
      {2, 2, 65, 65, Causal::none, MaskKind::additive, Layout::bhsd},
  };
  std::vector<Problem> problems;
  std::set<std::string> seen;
  for (const SuiteProblem& member : suite.problems) {
    for (const Shape& shape : k_shapes) {
      Problem problem = member.problem;
      problem.name.clear();
      problem.scale.reset();
      problem.B = 2;
      problem.Hq = shape.hq;
      problem.Hkv = shape.hkv;
      problem.Sq = shape.sq;
      problem.Skv = shape.skv;
      problem.causal = shape.causal;
      problem.mask = shape.mask;
      problem.keep_frac = shape.mask == MaskKind::boolean ? 0.7 : 1.0;
      problem.layout = shape.layout;
      if (variant::unsupported_reason(manifest, problem)) {
        // Use the plain form of the same sizes, so that odd sizes are always judged.
        problem.Hkv = problem.Hq;
        problem.causal = Causal::none;
        problem.mask = MaskKind::none;
        problem.keep_frac = 1.0;
        problem.layout = member.problem.layout;
      }
      if (variant::unsupported_reason(manifest, problem)) continue;
      if (seen.insert(to_text(problem)).second) problems.push_back(problem);
    }
  }
  return problems;
}

std::vector<variant::EdgeDraw> drawn_runs(const Context& context, const Subject& subject,
                                          const Suite& suite, VerdictExtent extent,
                                          std::optional<std::int64_t> count) {
  const Manifest& manifest = subject.variant.manifest;
  const bool is_jit = manifest.backend == Backend::python && variant::runs_on_gpu(manifest);
  variant::EdgeTerms terms{
      .manifest = manifest,
      .takes = [&](const Problem& problem) { return !not_supported(subject, problem); },
      .near = {},
      .count = extent == VerdictExtent::screening ? variant::k_screening_draws
               : is_jit                           ? variant::k_jit_draws
                                                  : variant::k_edge_draws};
  if (count) terms.count = static_cast<std::size_t>(*count);
  for (const SuiteProblem& member : suite.problems) {
    if (!member.held_out) terms.near.push_back(member.problem);
  }
  KeyedRandom random =
      context.services.edge_key ? KeyedRandom(*context.services.edge_key) : KeyedRandom::secret();
  return variant::draw_edges(terms, random);
}

}  // namespace wb::engine
