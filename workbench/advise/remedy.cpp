// SPDX-License-Identifier: MIT
#include "advise/remedy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/json.hpp"
#include "core/json_fields.hpp"

namespace wb::advise {

using catalogue::Cause;
using catalogue::CauseRule;
using measure::Finding;

namespace {

bool is_of_plan(const CauseRule& rule, const Target& target, const Finding& finding) {
  if (finding.analysis != "roofline_share" || target.plan.empty()) return true;
  const std::string plan = text_of(finding.figures, "plan");
  const bool asks = std::any_of(
      rule.when.begin(), rule.when.end(),
      [](const catalogue::FigurePredicate& predicate) { return predicate.figure == "plan"; });
  return asks || plan.empty() || plan == target.plan;
}

bool reads_same(const CauseRule& one, const CauseRule& other) {
  return std::any_of(one.when.begin(), one.when.end(), [&](const auto& predicate) {
    return std::any_of(other.when.begin(), other.when.end(),
                       [&](const auto& compared) { return compared.figure == predicate.figure; });
  });
}

/// `is_before`: of equal ones the first in the registry is better.
bool is_better(const CauseRule& one, const CauseRule& other, bool is_before) {
  if (one.strength != other.strength) return is_stronger(one.strength, other.strength);
  if (one.when.size() != other.when.size()) return one.when.size() < other.when.size();
  return is_before;
}

}  // namespace

std::vector<std::string> problems_of(const CauseRule& rule, const Finding& finding) {
  if (!rule.problems.empty()) return strings_of(finding.figures, rule.problems);
  if (!finding.problem.empty()) return {finding.problem};
  return strings_of(finding.figures, "problems");
}

bool fits(const CauseRule& rule, const Target& target, const Finding& finding) {
  if (finding.analysis != rule.analysis) return false;
  if (!rule.plans.empty() && !is_among(rule.plans, target.plan)) return false;
  if (!is_of_plan(rule, target, finding)) return false;
  const std::string subject = text_of(finding.figures, "subject");
  const bool is_other = !subject.empty() && subject != target.subject;
  if (is_other != (rule.about == catalogue::RuleAbout::others)) return false;
  return std::all_of(rule.when.begin(), rule.when.end(),
                     [&](const catalogue::FigurePredicate& predicate) {
                       return catalogue::holds(predicate, finding.figures);
                     });
}

Ownership::Ownership(const std::vector<const Cause*>& causes, const Target& target,
                     const std::vector<Finding>& findings) {
  for (std::size_t at = 0; at < findings.size(); ++at) {
    for (const Cause* cause : causes) {
      for (const CauseRule& rule : cause->supported) {
        if (fits(rule, target, findings[at])) m_claims[at].push_back({cause, &rule});
      }
    }
  }
}

std::string Ownership::better(std::size_t finding, const Cause& cause,
                              const CauseRule& rule) const {
  const auto claims = m_claims.find(finding);
  if (claims == m_claims.end()) return {};
  const Claim* best = nullptr;
  bool is_before = true;
  for (const Claim& claim : claims->second) {
    if (claim.cause == &cause) {
      is_before = false;
      continue;
    }
    if (!reads_same(*claim.rule, rule) || !is_better(*claim.rule, rule, is_before)) continue;
    if (best == nullptr || is_better(*claim.rule, *best->rule, false)) best = &claim;
  }
  return best == nullptr ? std::string() : best->cause->id;
}

bool is_among(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string first_present(const std::vector<std::string>& words,
                          const std::vector<std::string>& present) {
  const auto found = std::find_if(words.begin(), words.end(), [&present](const std::string& word) {
    return is_among(present, word);
  });
  return found == words.end() ? std::string() : *found;
}

std::string exclusion(const catalogue::Technique& technique,
                      const std::vector<std::string>& present,
                      std::optional<std::string_view> architecture) {
  if (is_among(present, technique.name)) return "the incumbent has it";
  if (const auto other = first_present(technique.replaced_by, present); !other.empty()) {
    return "the incumbent has " + other + ", beside which it is pointless";
  }
  if (!architecture) return {};
  const std::string& floor = technique.architecture_from;
  if (!floor.empty() && !catalogue::is_at_least(*architecture, floor)) {
    return fmt::format("needs {}, this is {}", floor,
                       architecture->empty() ? "unknown" : *architecture);
  }
  const std::string& last = technique.architecture_to;
  if (!last.empty() && !catalogue::is_at_least(last, *architecture)) {
    return fmt::format("{} is the last that has it, this is {}", last, *architecture);
  }
  return {};
}

SuiteGain::SuiteGain(const catalogue::Technique& technique, double calibration,
                     const std::vector<double>& measured)
    : m_low(std::log(technique.impact_low)),
      // The range is measured or bounded, so the calibrated value must stay in it.
      m_middle(std::clamp(
          calibration * (std::log(technique.impact_low) + std::log(technique.impact_high)) / 2,
          std::log(technique.impact_low), std::log(technique.impact_high))),
      m_high(std::log(technique.impact_high)) {
  if (measured.empty()) return;
  double sum = m_middle;
  for (const double one : measured) {
    sum += one;
    m_low = std::min(m_low, one);
    m_high = std::max(m_high, one);
  }
  m_middle = sum / static_cast<double>(measured.size() + 1);
}

void SuiteGain::add_helped(double weight, std::optional<double> room_ratio) {
  const double room = room_ratio ? std::max(0.0, std::log(*room_ratio)) : std::max(0.0, m_high);
  m_low_sum += weight * std::min(m_low, room);
  m_middle_sum += weight * std::min(m_middle, room);
  m_high_sum += weight * std::min(m_high, room);
  m_weight += weight;
  m_helped += weight;
}

std::optional<GainRange> SuiteGain::mean() const {
  if (!(m_weight > 0)) return std::nullopt;
  return GainRange{std::exp(m_low_sum / m_weight), std::exp(m_middle_sum / m_weight),
                   std::exp(m_high_sum / m_weight)};
}

GainRange SuiteGain::alone() const {
  return {std::exp(m_low), std::exp(m_middle), std::exp(m_high)};
}

std::map<std::string, std::vector<std::string>> remedied_by(
    const std::vector<Diagnosis>& diagnoses) {
  std::map<std::string, std::vector<std::string>> causes;
  for (const Diagnosis& diagnosis : diagnoses) {
    if (diagnosis.state != measure::HypothesisState::supported) continue;
    for (const std::string& technique : diagnosis.cause->techniques) {
      causes[technique].push_back(diagnosis.cause->id);
    }
  }
  return causes;
}

}  // namespace wb::advise
