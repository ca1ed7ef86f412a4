// SPDX-License-Identifier: MIT
// A machine that times code with the noise that real ones show: a bias per process, one per buffer
// placement, linear drift, sample noise, outlier samples and outlier turns. For tests only.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "measure/plan.hpp"

namespace wb::simulated {

/// Its own generator, so that the fixed seeds mean the same with every standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : m_state(seed) {}
  double uniform() {
    m_state = m_state * 6364136223846793005u + 1442695040888963407u;
    std::uint64_t bits = m_state ^ (m_state >> 33);
    bits *= 0xff51afd7ed558ccdu;
    bits ^= bits >> 33;
    return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
  }
  double normal() {
    constexpr double k_two_pi = 6.283185307179586;
    return std::sqrt(-2 * std::log(uniform())) * std::cos(k_two_pi * uniform());
  }

 private:
  std::uint64_t m_state;
};

enum class Bias { uniform, normal };

struct Noise {
  Bias bias = Bias::uniform;
  double process_frac = 0.03;        ///< uniform: half-width; normal: standard deviation
  double placement_frac = 0.01;      ///< standard deviation
  double drift_frac = 0.05;          ///< over the whole comparison, either direction
  double sample_frac = 0.005;        ///< standard deviation of one sample
  double outlier_share = 0.03;       ///< samples that take 1.2 to 3 times as long
  double turn_outlier_share = 0.02;  ///< whole turns that take 1.1 to 1.5 times as long
};

struct Subject {
  std::string name;
  double time_us = 100;
};

/// All subjects side by side, one fresh process each per instance, in ABBA order.
inline std::vector<std::vector<measure::Turn>> measure(const std::vector<Subject>& subjects,
                                                       const measure::Effort& effort,
                                                       const Noise& noise, Random& random) {
  constexpr int k_samples = 9;
  std::vector<std::vector<measure::Turn>> turns(subjects.size());
  const double slope = noise.drift_frac * (2 * random.uniform() - 1);
  const auto total = static_cast<double>(effort.instances * effort.placements * effort.rounds) * 2 *
                     static_cast<double>(subjects.size());
  double elapsed = 0;
  const auto bias = [&] {
    return noise.bias == Bias::normal ? noise.process_frac * random.normal()
                                      : noise.process_frac * (2 * random.uniform() - 1);
  };
  for (std::int64_t i = 0; i < effort.instances; ++i) {
    std::vector<double> process(subjects.size());
    for (double& value : process) value = bias();
    for (std::int64_t j = 0; j < effort.placements; ++j) {
      std::vector<double> placement(subjects.size());
      for (double& value : placement) value = noise.placement_frac * random.normal();
      for (std::int64_t r = 0; r < effort.rounds; ++r) {
        std::int64_t position = 0;
        for (const std::size_t s : measure::abba_order(subjects.size(), r)) {
          measure::Turn turn;
          turn.subject = subjects[s].name;
          turn.instance = i;
          turn.placement = j;
          turn.round = r;
          turn.position = position++;
          double level = std::log(subjects[s].time_us) + process[s] + placement[s] +
                         slope * (elapsed++ / total);
          if (random.uniform() < noise.turn_outlier_share) {
            level += std::log(1.1 + 0.4 * random.uniform());
          }
          for (int k = 0; k < k_samples; ++k) {
            double sample = level + noise.sample_frac * random.normal();
            if (random.uniform() < noise.outlier_share) {
              sample += std::log(1.2 + 1.8 * random.uniform());
            }
            turn.samples_us.push_back(std::exp(sample));
          }
          turns[s].push_back(std::move(turn));
        }
      }
    }
  }
  return turns;
}

/// A/A as the header of NoiseFloor advises: n processes of one code, interleaved in ABBA order.
inline std::vector<measure::Turn> measure_same_code(const measure::Effort& effort,
                                                    const Noise& noise, Random& random) {
  const std::vector<Subject> copies(static_cast<std::size_t>(effort.instances),
                                    Subject{"code", 100});
  std::vector<measure::Turn> all;
  std::int64_t instance = 0;
  for (auto& turns : measure(copies, {1, effort.placements, effort.rounds}, noise, random)) {
    for (measure::Turn& turn : turns) {
      turn.instance = instance;
      all.push_back(std::move(turn));
    }
    ++instance;
  }
  return all;
}

}  // namespace wb::simulated
