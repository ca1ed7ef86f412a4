// SPDX-License-Identifier: MIT
// Recording: every configuration of a search space with the results of building and timing it, so
// that strategies can be tried without a device. Format: docs/guide/simulation.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json_fwd.hpp"
#include "measure/figures.hpp"
#include "measure/plan.hpp"
#include "search/search_space.hpp"

namespace wb::search {

struct RecordedPoint {
  variant::Configuration configuration;
  std::optional<Invalidity> invalidity;  ///< if set, there are no turns
  std::string message;                   ///< of the failure
  std::string artifact;            ///< hash of the code; empty: unknown, and equal to no other
  double build_s = 0, turn_s = 0;  ///< wall time of the build, and of one turn
  /// Two configurations are compared where instance and round agree; at most one turn in four may
  /// be disturbed (is_disturbed).
  std::vector<measure::Turn> turns;
};

struct Recording {
  std::string about, variant, problem;
  SearchSpace space;
  std::vector<RecordedPoint> points;  ///< points[i] is space.at(i)
  std::vector<double> median_us;      ///< by point; k_unknown for a failed one
  /// Pooled over the points' processes. With fewer than two processes no comparison is decided.
  measure::NoiseFloor floor;
  SearchSpace::Index optimum = 0;  ///< the lowest median
};

/// `manifest` needs a name, tune_params and restrictions. Errors: invalid (a point outside the
/// space, twice or missing; turns beside an invalidity, or neither; unusable times; no valid
/// point), and those of SearchSpace::make.
Result<Recording> make_recording(const variant::Manifest& manifest, const problem::Problem& problem,
                                 std::vector<RecordedPoint> points);

/// Errors: parse, invalid, too_new (a later version), and those of make_recording.
Result<Recording> recording_from_json(const Json& json, std::string_view what);
Result<Recording> load_recording(const FileSystem& file_system, const fs::path& path);
Json to_json(const RecordedPoint& point);

}  // namespace wb::search
