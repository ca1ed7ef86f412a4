// SPDX-License-Identifier: MIT
// `loops`: compares the loops of two variants or families.
#include <algorithm>

#include "core/json.hpp"
#include "engine/parts.hpp"
#include "engine/recorded.hpp"
#include "engine/services.hpp"
#include "engine/subject.hpp"
#include "report/loops.hpp"
#include "variant/variant.hpp"
#include "verbs/arguments.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using catalogue::LoopFamily;
using engine::candidate_of;
using engine::Context;
using engine::Services;
using engine::stored_variant;
using report::LoopSide;

namespace {

/// A recorded session and its state, if one is named.
struct Recorded {
  std::optional<session::Session> session;
  session::SessionView view;
};

Result<Recorded> read_recorded(const Services& services, const Json& args) {
  Recorded recorded;
  if (!args.contains("recorded")) return recorded;
  WB_TRY_ASSIGN(recorded.session, open_recorded(services, args["recorded"].get<std::string>()));
  WB_TRY_ASSIGN(recorded.view, recorded.session->view(session::FoldDepth::full));
  return recorded;
}

/// The label of the session's measured start; empty before that.
std::string start_of(const session::SessionView& view) {
  const auto baseline =
      std::find_if(view.iterations.begin(), view.iterations.end(),
                   [](const session::IterationView& one) { return one.number == 0; });
  return baseline == view.iterations.end() ? std::string() : candidate_of(*baseline);
}

/// A family by its id, else a variant: of the session by label, or a kernel of the catalogue.
Result<LoopSide> side_of(Context& context, const Recorded& recorded,
                         const std::vector<LoopFamily>& families, const std::string& id) {
  const auto family = std::find_if(families.begin(), families.end(),
                                   [&](const LoopFamily& one) { return one.id == id; });
  if (family != families.end()) return LoopSide{id, &*family, false};
  const bool is_label = id.find('@') != std::string::npos;
  if (is_label && recorded.session) {
    WB_TRY_ASSIGN(const auto stored, stored_variant(*recorded.session, recorded.view, id));
    return LoopSide{id, catalogue::loop_of(families, variant::techniques_in(stored.first.manifest,
                                                                            stored.second))};
  }
  if (is_label) {
    return Error{ErrorCode::usage, "find the variant", id, "labels are known in a session only",
                 "name the session with --recorded"};
  }
  WB_TRY_ASSIGN(const auto found, resolve_variant(context, id));
  return LoopSide{
      id, catalogue::loop_of(families, variant::techniques_in(found.first.manifest, found.second))};
}

Json family_or_null(const LoopSide& side) {
  return side.family == nullptr ? Json(nullptr) : Json(side.family->id);
}

Json side_json(const LoopSide& side) {
  return {{"name", side.name}, {"loop", family_or_null(side)}};
}

/// Every readable kernel of the search path, with its defaults.
std::vector<LoopSide> kernels_of(const Context& context, const std::vector<LoopFamily>& families) {
  std::vector<LoopSide> kernels;
  for (const auto& [entry, variant] : catalogue_of(context).read_all()) {
    if (!variant) continue;
    kernels.push_back(
        {entry.name, catalogue::loop_of(families, variant::techniques_in(variant->manifest, {}))});
  }
  return kernels;
}

Result<Json> loops_body(Context& context, const Json& args) {
  WB_TRY_ASSIGN(const auto families, catalogue::load_loops(services_of(context).file_system,
                                                           services_of(context).search_path));
  WB_TRY_ASSIGN(const Recorded recorded, read_recorded(services_of(context), args));
  std::string one = args.value("variant", ""), other = args.value("other", "");
  if (recorded.session && one.empty()) one = start_of(recorded.view);
  if (recorded.session && other.empty()) other = recorded.view.incumbent;
  Json sides = Json::array();
  if (one.empty() && other.empty()) {
    const auto kernels = kernels_of(context, families);
    for (const LoopSide& kernel : kernels) sides.push_back(side_json(kernel));
    return Json{{"sides", std::move(sides)},
                {"text", report::render_loop_families(families, kernels)}};
  }
  if (one.empty() || other.empty()) {
    return Error{ErrorCode::usage, "compare the loop of", one.empty() ? other : one,
                 "there is nothing to hold it against",
                 "name a second variant, or a session with --recorded"};
  }
  WB_TRY_ASSIGN(const LoopSide left, side_of(context, recorded, families, one));
  WB_TRY_ASSIGN(const LoopSide right, side_of(context, recorded, families, other));
  for (const LoopSide& side : {left, right}) sides.push_back(side_json(side));
  return Json{
      {"sides", std::move(sides)},
      {"text", report::render_loops(left, right, recorded.session ? &recorded.view : nullptr)}};
}

}  // namespace

const Verb& verb_loops() {
  static const Verb verb{
      .spec =
          {.name = "loops",
           .doc = "how two variants divide the work: grid, who walks what, pros, cons, use case, "
                  "and their figures where a session measured both; without names all loops",
           .arguments = {id_argument("variant",
                                     "a kernel, a label of the session, or a loop's id (default: "
                                     "the session's start)")
                             .positional(),
                         id_argument("other",
                                     "what it is held against (default: the session's incumbent)")
                             .positional(),
                         id_argument("recorded",
                                     "the session to take figures from: a folder or archive, or "
                                     "its name in --sessions")
                             .as_path()},
           .result = {{"sides",
                       "list: name and loop (id, or null) of both; without names of all kernels"},
                      {"text", "string: the same for people, with the figures"}},
           .reads_only = true,
           .in_playbook = false},
      .body = [](const Call& call) { return loops_body(call.context, call.args); }};
  return verb;
}

}  // namespace wb::verbs
