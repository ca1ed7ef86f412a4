// SPDX-License-Identifier: MIT
// What the steps of a backtest come to: shares, errors, goals, and all of it in words.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "report/format.hpp"
#include "verbs/backtest.hpp"

namespace wb::verbs {

namespace {

constexpr double k_goal_hits = 0.6, k_goal_causes = 0.7, k_goal_error = 1.15;
constexpr std::int64_t k_goal_steps = 40;

Json share_json(std::int64_t part, std::int64_t whole) {
  return {{"count", part},
          {"of", whole},
          {"share", whole > 0 ? Json(static_cast<double>(part) / static_cast<double>(whole))
                              : Json(nullptr)}};
}

double share_of(const Json& sums, const char* key) {
  const Json& share = sums[key]["share"];
  return share.is_number() ? share.get<double>() : 0;
}

std::string share_cell(const Json& share) {
  return fmt::format("{} of {}", share["count"].dump(), share["of"].dump());
}

}  // namespace

Json backtest_sums(const std::string& name, const Json& steps) {
  std::int64_t targets = 0, hits_1 = 0, hits_3 = 0, base_1 = 0, base_3 = 0, alone = 0,
               alone_hits = 0, proposals = 0, known = 0, later = 0, causes = 0, found = 0;
  std::vector<double> errors;
  for (const Json& step : steps) {
    proposals += static_cast<std::int64_t>(step["proposals"].size());
    known += step["known_losers"].get<std::int64_t>();
    later += step["later_losers"].get<std::int64_t>();
    const auto predicted = number_of(step, "predicted"), measured = number_of(step, "measured");
    if (predicted && measured && *measured > 0) {
      errors.push_back(std::abs(std::log(*measured / *predicted)));
    }
    causes += step["cause_found"].is_null() ? 0 : 1;
    found += is_true(step, "cause_found") ? 1 : 0;
    if (step["next_win"].empty()) continue;
    const bool is_alone = is_true(step, "next_win_alone");
    ++targets;
    hits_1 += is_true(step, "hit_1") ? 1 : 0;
    hits_3 += is_true(step, "hit_3") ? 1 : 0;
    base_1 += is_true(step, "baseline_1") ? 1 : 0;
    base_3 += is_true(step, "baseline_3") ? 1 : 0;
    alone += is_alone ? 1 : 0;
    alone_hits += is_alone && is_true(step, "hit_3") ? 1 : 0;
  }
  Json error;
  if (!errors.empty()) {
    std::sort(errors.begin(), errors.end());
    const std::size_t half = errors.size() / 2;
    const double median =
        errors.size() % 2 == 1 ? errors[half] : (errors[half - 1] + errors[half]) / 2;
    error = std::exp(median);
  }
  return {{"session", name},
          {"steps", steps.size()},
          {"hit_1", share_json(hits_1, targets)},
          {"hit_3", share_json(hits_3, targets)},
          {"hit_3_of_isolated", share_json(alone_hits, alone)},
          {"baseline_1", share_json(base_1, targets)},
          {"baseline_3", share_json(base_3, targets)},
          {"known_losers", share_json(known, proposals)},
          {"later_losers", share_json(later, proposals)},
          {"median_error_factor", error},
          {"sized", errors.size()},
          {"causes", share_json(found, causes)}};
}

Json backtest_goals(const Json& overall) {
  const Json& error = overall["median_error_factor"];
  const auto goal = [](const char* what, std::string wanted, std::string got, bool reached) {
    return Json{{"what", what},
                {"wanted", std::move(wanted)},
                {"got", std::move(got)},
                {"reached", reached}};
  };
  const auto percent = [&overall](const char* key) {
    return fmt::format("{:.0f} % ({} of {})", 100 * share_of(overall, key),
                       overall[key]["count"].dump(), overall[key]["of"].dump());
  };
  const auto steps = overall["steps"].get<std::int64_t>();
  return Json::array(
      {goal("steps", fmt::format("{} or more", k_goal_steps), fmt::format("{}", steps),
            steps >= k_goal_steps),
       goal("the next win is among the first three proposals", "60 % or more", percent("hit_3"),
            share_of(overall, "hit_3") >= k_goal_hits),
       goal("more often than the most frequent winners", "above " + percent("baseline_3"),
            percent("hit_3"), share_of(overall, "hit_3") > share_of(overall, "baseline_3")),
       goal("known losers among the proposals", "0", overall["known_losers"]["count"].dump(),
            overall["known_losers"]["count"] == 0),
       goal("median error of a gain, as a factor", fmt::format("{} or less", k_goal_error),
            error.is_number() ? fmt::format("{:.2f}", error.get<double>()) : "no figure",
            error.is_number() && error.get<double>() <= k_goal_error),
       goal("the cause that the next win removes is supported", "70 % or more", percent("causes"),
            share_of(overall, "causes") >= k_goal_causes)});
}

std::string backtest_text(const Json& made) {
  report::Table goals({"asked", "wanted", "got", "reached"});
  for (const Json& goal : made["goals"]) {
    goals.row({goal["what"].get<std::string>(), goal["wanted"].get<std::string>(),
               goal["got"].get<std::string>(), goal["reached"].get<bool>() ? "yes" : "no"});
  }
  report::Table climbs({"climb", "steps>", "hit@1>", "hit@3>", "baseline@3>", "known losers>",
                        "median error>", "cause found>"});
  Json rows = made["climbs"];
  if (made["after_register"]["steps"] > 0) rows.push_back(made["after_register"]);
  rows.push_back(made["overall"]);
  for (const Json& row : rows) {
    const Json& error = row["median_error_factor"];
    climbs.row({report::code(row["session"].get<std::string>(), 60), row["steps"].dump(),
                share_cell(row["hit_1"]), share_cell(row["hit_3"]), share_cell(row["baseline_3"]),
                share_cell(row["known_losers"]),
                error.is_number()
                    ? fmt::format("{:.2f}x of {}", error.get<double>(), row["sized"].dump())
                    : std::string("none (0)"),
                share_cell(row["causes"])});
  }
  report::Table steps({"step", "proposed", "next win brings", "hit", "expected>", "measured>"});
  const auto names = [](const Json& list) {
    std::string text;
    for (const Json& name : list) {
      text += (text.empty() ? "" : ", ") + report::code(name.get<std::string>(), 40);
    }
    return text.empty() ? std::string("none") : text;
  };
  const auto figure = [](const Json& value) {
    return value.is_number() ? fmt::format("{:.2f}x", value.get<double>()) : std::string("-");
  };
  for (const Json& step : made["steps"]) {
    const bool has_target = !step["next_win"].empty();
    steps.row({fmt::format("{} i{}", step["session"].get<std::string>(), step["iteration"].dump()),
               names(step["proposals"]), names(step["next_win"]),
               !has_target                 ? "-"
               : step["hit_1"].get<bool>() ? "first"
               : step["hit_3"].get<bool>() ? "yes"
                                           : "no",
               figure(step["predicted"]), figure(step["measured"])});
  }
  return goals.str() + "\n" + climbs.str() + "\n" + steps.str();
}

}  // namespace wb::verbs
