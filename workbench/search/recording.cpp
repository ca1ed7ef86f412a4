// SPDX-License-Identifier: MIT
#include "search/recording.hpp"
#include "core/json.hpp"
#include "measure/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace wb::search {

using measure::Turn;
using variant::Manifest;

namespace {

constexpr std::uint64_t k_median_seed = 1;
constexpr std::string_view k_format = "sdpa-wb recording";
constexpr double k_seconds_max = 1e6;
constexpr std::size_t k_file_max_bytes = 256u << 20;

Error unusable(std::string_view what, std::string cause, std::string next) {
  return Error{ErrorCode::invalid, "use the recording", std::string(what), std::move(cause),
               std::move(next)};
}

std::optional<std::string> fault(const RecordedPoint& point) {
  const auto is_seconds = [](double s) { return s >= 0 && s <= k_seconds_max; };
  if (!is_seconds(point.build_s) || !is_seconds(point.turn_s)) {
    return "build_s and turn_s must be seconds, at most a million";
  }
  if (point.invalidity) {
    if (point.turns.empty()) return std::nullopt;
    return "it has turns and an invalidity";
  }
  if (point.turns.empty()) return "it has neither turns nor an invalidity";
  for (const Turn& turn : point.turns) {
    const bool usable = std::all_of(turn.samples_us.begin(), turn.samples_us.end(),
                                    [](double us) { return us > 0 && std::isfinite(us); });
    if (!usable || turn.samples_us.empty()) return "a turn without usable samples";
  }
  return std::nullopt;
}

Result<void> place_points(Recording& recording, std::vector<RecordedPoint> points) {
  const std::string& name = recording.variant;
  if (points.size() < recording.space.size()) {
    return unusable(
        name,
        fmt::format("it has {} points of a space of {}", points.size(), recording.space.size()),
        "record every configuration, failed ones with their invalidity");
  }
  recording.points.resize(recording.space.size());
  std::vector<bool> seen(recording.space.size());
  for (RecordedPoint& point : points) {
    const std::string text = variant::to_text(point.configuration);
    const auto index = recording.space.find(point.configuration);
    if (!index) {
      return unusable(name, text + " is not a configuration of its space",
                      "check tune_params and restrictions");
    }
    if (seen[*index]) return unusable(name, text + " stands twice", "keep one of them");
    if (auto cause = fault(point)) return unusable(name, text + ": " + *cause, "mend the point");
    seen[*index] = true;
    recording.points[*index] = std::move(point);
  }
  return {};  // as many points as the space has, all different: none is missing
}

Turn turn_of(ObjectReader& reader) {
  constexpr std::int64_t k_max = 1 << 20;
  Turn turn;
  turn.instance = reader.integer_or("instance", 0, 0, k_max);
  turn.round = reader.integer_or("round", 0, 0, k_max);
  turn.flags = reader.strings_or("flags", {});
  const Json* samples = reader.member("samples_us");
  if (samples == nullptr || !samples->is_array()) {
    reader.fail("samples_us", "must be a list");
  } else {
    for (const Json& sample : *samples) {
      turn.samples_us.push_back(sample.is_number() ? sample.get<double>() : measure::k_unknown);
    }
  }
  return turn;
}

Result<RecordedPoint> point_from_json(const Json& json) {
  ObjectReader reader(json, "a recorded point");
  RecordedPoint point;
  if (const Json* configuration = reader.member("configuration")) {
    for (const auto& [name, value] : configuration->items()) {
      const auto whole = whole_number(value);
      if (!whole) reader.fail("configuration", name + " is no integer");
      if (whole) point.configuration[name] = *whole;
    }
  }
  const std::string word = reader.string_or("invalidity", "");
  point.invalidity = parse_invalidity(word);
  if (!word.empty() && !point.invalidity) reader.fail("invalidity", "is no invalidity");
  point.message = reader.string_or("message", "");
  point.artifact = reader.string_or("artifact", "");
  point.build_s = reader.real_or("build_s", 0);
  point.turn_s = reader.real_or("turn_s", 0);
  if (const Json* turns = reader.member("turns")) {
    for (const Json& item : *turns) {
      ObjectReader turn(item, "a recorded turn");
      point.turns.push_back(turn_of(turn));
      WB_TRY(turn.finish());
    }
  }
  WB_TRY(reader.finish());
  return point;
}

void read_parameters(ObjectReader& reader, const Json& parameters, Manifest& manifest) {
  for (const auto& [name, list] : parameters.items()) {
    auto& values = manifest.tune_params[name];
    for (const Json& value : list) {
      const auto whole = whole_number(value);
      if (list.is_array() && whole) {
        values.push_back(*whole);
      } else {
        reader.fail("tune_params", name + " must be a list of integers");
      }
    }
  }
}

}  // namespace

Result<Recording> make_recording(const Manifest& manifest, const problem::Problem& problem,
                                 std::vector<RecordedPoint> points) {
  WB_TRY_ASSIGN(SearchSpace space, SearchSpace::make(manifest, problem::suite_of(problem)));
  Recording recording{.about = manifest.about,
                      .variant = manifest.name,
                      .problem = to_text(problem),
                      .space = std::move(space),
                      .points = {},
                      .median_us = {},
                      .floor = {}};
  WB_TRY(place_points(recording, std::move(points)));
  std::vector<measure::NoiseFloor> floors;
  recording.median_us.assign(recording.points.size(), measure::k_unknown);
  std::optional<SearchSpace::Index> optimum;
  for (std::size_t i = 0; i < recording.points.size(); ++i) {
    RecordedPoint& point = recording.points[i];
    if (point.invalidity) continue;
    for (Turn& turn : point.turns) turn.subject = variant::to_text(point.configuration);
    recording.median_us[i] = measure::summarize(point.turns, k_median_seed).median_us;
    floors.push_back(measure::noise_floor(point.turns));
    if (!(recording.median_us[i] > 0)) {
      return unusable(recording.variant,
                      variant::to_text(point.configuration) + ": its turns are disturbed",
                      "record it again on a quieter machine");
    }
    if (!optimum || recording.median_us[i] < recording.median_us[*optimum]) optimum = i;
  }
  if (!optimum) return unusable(recording.variant, "every configuration failed", "");
  recording.optimum = *optimum;
  recording.floor = measure::pool(floors);
  return recording;
}

Result<Recording> recording_from_json(const Json& json, std::string_view what) {
  ObjectReader reader(json, std::string(what));
  if (reader.string("format") != k_format) {
    reader.fail("format", fmt::format("is not \"{}\"", k_format));
  }
  const std::int64_t version = reader.integer("v", 1, 1'000'000);
  if (version > 1) {
    return Error{ErrorCode::too_new, "read the recording", std::string(what),
                 fmt::format("its version is {}, known is 1", version), "use a newer sdpa-wb"};
  }
  Manifest manifest;
  manifest.name = reader.string("variant");
  manifest.about = reader.string_or("about", "");
  manifest.restrictions = reader.strings_or("restrictions", {});
  const std::string problem_text = reader.string("problem");
  reader.string_or("plan", "hot");
  reader.string_or("recorded", "");
  const Json* parameters = reader.member("tune_params");
  if (parameters == nullptr || !parameters->is_object()) {
    reader.fail("tune_params", "must be an object of lists of integers");
  } else {
    read_parameters(reader, *parameters, manifest);
  }
  const Json* listed = reader.member("points");
  if (listed == nullptr || !listed->is_array()) reader.fail("points", "must be a list");
  WB_TRY(reader.finish());
  std::vector<RecordedPoint> points;
  for (const Json& item : *listed) {
    WB_TRY_ASSIGN(auto point, point_from_json(item));
    points.push_back(std::move(point));
  }
  WB_TRY_ASSIGN(const problem::Problem problem, problem::parse_problem(problem_text));
  return make_recording(manifest, problem, std::move(points));
}

Result<Recording> load_recording(const FileSystem& file_system, const fs::path& path) {
  WB_TRY_ASSIGN(const std::string text, file_system.read(path, k_file_max_bytes));
  WB_TRY_ASSIGN(const Json json,
                parse_json(text, path.string(), {.max_bytes = k_file_max_bytes, .max_depth = 8}));
  return recording_from_json(json, path.string());
}

Json to_json(const RecordedPoint& point) {
  Json json{{"configuration", variant::to_json(point.configuration)}, {"build_s", point.build_s}};
  if (!point.artifact.empty()) json["artifact"] = point.artifact;
  if (point.invalidity) {
    json["invalidity"] = to_string(*point.invalidity);
    json["message"] = point.message;
    return json;
  }
  json["turn_s"] = point.turn_s;
  json["turns"] = Json::array();
  for (const Turn& turn : point.turns) {
    Json item{{"instance", turn.instance}, {"round", turn.round}, {"samples_us", turn.samples_us}};
    if (!turn.flags.empty()) item["flags"] = turn.flags;
    json["turns"].push_back(std::move(item));
  }
  return json;
}

}  // namespace wb::search
