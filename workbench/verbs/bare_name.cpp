// SPDX-License-Identifier: MIT
#include "verbs/bare_name.hpp"

#include <algorithm>
#include <string>

#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "engine/parts.hpp"
#include "outcome/outcome.hpp"
#include "session/session.hpp"
#include "variant/variant.hpp"

namespace wb::verbs {

namespace {

/// True when an iteration of the session built these sources of its own variant.
bool was_tried(const session::SessionView& view, const std::string& variant_id) {
  return std::any_of(view.iterations.begin(), view.iterations.end(), [&](const auto& iteration) {
    return iteration.is_closed() && text_of(iteration.opened.payload, "variant_id") == variant_id;
  });
}

}  // namespace

Result<Json> with_best_variant(engine::Context& context, Json args, const char* key) {
  if (session_of(context) == nullptr || args.contains("configuration")) return args;
  const std::string name = args[key].get<std::string>();
  if (name.find('@') != std::string::npos) return args;
  WB_TRY_ASSIGN(const session::SessionView* view,
                session_of(context)->current(session::FoldDepth::full));
  const outcome::Outcome made = outcome::outcome_of(*view);
  const outcome::VariantOutcome* best = made.find(name);
  if (best == nullptr || !best->confirmed || best->built == 0) return args;
  const auto on_disk = catalogue_of(context).find(name);
  if (on_disk && !was_tried(*view, on_disk->id)) return args;
  args[key] = best->label;
  return args;
}

}  // namespace wb::verbs
