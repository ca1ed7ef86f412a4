// SPDX-License-Identifier: MIT
// `propose many`: several variants, ranked by correctness and spills, never by speed, which was not
// measured.
#include <algorithm>
#include <limits>
#include <tuple>

#include "core/json.hpp"
#include "engine/engine.hpp"
#include "engine/iteration.hpp"
#include "engine/parts.hpp"
#include "engine/subject.hpp"
#include "verbs/arguments.hpp"
#include "verbs/fake_engine.hpp"
#include "verbs/proposed.hpp"
#include "verbs/table.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using engine::Context;
using engine::ends_session;

namespace {

/// Correct before wrong; among correct ones those with fewer spills and smaller errors first.
std::tuple<int, std::int64_t, double> order_of(const Json& row) {
  const bool pass = row["pass"];
  const Json& share = row["worst_share"];
  return {pass                          ? 0
          : row["outcome"] == "refused" ? 2
                                        : 1,
          row["spill_bytes"].get<std::int64_t>(),
          share.is_number() ? share.get<double>() : std::numeric_limits<double>::infinity()};
}

Result<Json> ranked_proposals(Context& context, const Json& args) {
  Json rows = Json::array();
  std::int64_t number = 0;
  for (const Json& item : args["proposals"]) {
    WB_TRY(check_stop(context));
    WB_TRY_ASSIGN(const Json checked, check_arguments(verb_propose().spec, item));
    auto answer = propose_variant(context, checked);
    if (!answer && ends_session(answer.error().code)) return answer;
    Json row = blank_proposal(checked.value("parent", incumbent_of(context)->label));
    if (answer) {
      row = *std::move(answer);
    } else {
      row["outcome"] = "refused";
      row["message"] = answer.error().message();
    }
    row["proposal"] = ++number;
    for (const char* key : {"problems", "variant_id"}) row.erase(key);
    rows.push_back(std::move(row));
  }
  if (rows.empty()) {
    return Error{ErrorCode::usage, "propose", "variants", "the list is empty",
                 "give 1 to 16 proposals"};
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Json& left, const Json& right) {
    return order_of(left) < order_of(right);
  });
  std::int64_t passed = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i]["rank"] = i + 1;
    passed += rows[i]["pass"].get<bool>() ? 1 : 0;
  }
  WB_TRY_ASSIGN(const auto stop, proposals_stop_reason(context));
  return Json{{"passed", passed},
              {"rows", std::move(rows)},
              {"stop_reason", stop ? Json(*stop) : Json(nullptr)}};
}

Result<Json> propose_many_body(const Call& call) {
  WB_TRY(need_baseline(call.context, "propose_many"));
  return ranked_proposals(call.context, call.args);
}

Result<Json> propose_many_sample(FakeEngine& fake, const Json& args) {
  Json answer{{"passed", 0}, {"rows", Json::array()}, {"stop_reason", nullptr}};
  for (const Json& item : args["proposals"]) {
    WB_TRY_ASSIGN(Json row, verb_propose().sample(fake, item));
    answer["passed"] = answer["passed"].get<int>() + (row["pass"].get<bool>() ? 1 : 0);
    answer["stop_reason"] = row["stop_reason"];
    row["rank"] = row["proposal"] = answer["rows"].size() + 1;
    answer["rows"].push_back(std::move(row));
  }
  return answer;
}

}  // namespace

const Verb& verb_propose_many() {
  static const Verb verb{
      .spec = {.name = "propose_many",
               .doc = "propose several variants and rank them: right ones first, by spills and "
                      "error; race times them",
               .session = SessionNeed::writes,
               .arguments = {items_argument("proposals",
                                            "1 to 16 maps, each with the arguments of propose",
                                            verb_propose().spec)
                                 .required()},
               .result = {{"passed", "int: how many passed"},
                          {"rows",
                           "list: rank, proposal (its place in the list, from 1), and what propose "
                           "answers; outcome refused: it could not be read"},
                          {"stop_reason", "string or null: why the session should end now"}},
               .is_long = true},
      .body = propose_many_body,
      .sample = propose_many_sample};
  return verb;
}

}  // namespace wb::verbs
