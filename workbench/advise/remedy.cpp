// SPDX-License-Identifier: MIT
#include "advise/remedy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace wb::advise {

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
