// SPDX-License-Identifier: MIT
// `remeasure floor`: measures a session's noise floors again (engine/floors.cpp).
#include "core/json.hpp"
#include "engine/floors.hpp"
#include "verbs/arguments.hpp"
#include "verbs/fake_engine.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

namespace {

Result<Json> remeasure_floor_sample(FakeEngine&, const Json&) {
  return Json{{"fit", true}, {"floors", Json::array()}, {"text", "dry run"}};
}

}  // namespace

const Verb& verb_remeasure_floor() {
  static const Verb verb{
      .spec =
          {.name = "remeasure_floor",
           .doc = "take the noise floors again: those of a busy machine hide gains that are there",
           .session = SessionNeed::writes,
           .arguments = {string_argument("problem",
                                         "one of the suite's, by its name (default: all of them)")
                             .positional(),
                         flag_argument("all_plans",
                                       "hot, cold and eager, not the objective's plan alone")},
           .result =
               {{"fit", "bool: every floor can serve now"},
                {"floors",
                 "list: per problem and plan floor_frac, between_instance_frac, cannot_show_frac, "
                 "used (else the narrower one before stands) and unfit (why it cannot serve)"},
                {"text", "string: the same for people"}},
           .is_long = true},
      .body = [](const Call& call) { return engine::remeasure_floor(call.context, call.args); },
      .sample = remeasure_floor_sample};
  return verb;
}

}  // namespace wb::verbs
