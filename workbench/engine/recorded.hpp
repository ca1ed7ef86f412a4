// SPDX-License-Identifier: MIT
// Sessions that are read, not held: opened and kept for the next read, the sources that they
// stored, and tolerant reads of their logs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/files.hpp"
#include "core/json_fields.hpp"
#include "session/session.hpp"
#include "session/view.hpp"
#include "variant/variant.hpp"

namespace wb::engine {

struct Services;

/// Caches the last session that was read. Clients poll the same session, so its log is read and
/// folded once and then only extended.
class RecentSession {
 public:
  /// The session in `folder` as it is now; valid until the next call. A log that was changed, not
  /// just appended to, is read again from its start. Errors: as Session::open_reader().
  Result<const session::Session*> read(FileSystem& file_system, const fs::path& folder);

 private:
  std::optional<session::Session> m_session;
  fs::path m_asked;  ///< the path it was asked for by: an archive has two
};

/// The session at `id`: a folder or an archive, else a name below the sessions root. Errors: those
/// of Session::open_reader; not_found names both places.
Result<session::Session> open_recorded(const Services& services, const std::string& id);

/// The last successful variant_built of `id` (a subject's label "name@artifact" or a variant's
/// "name@variant"); nullptr when there is none.
const Json* find_built(const session::SessionView& view, std::string_view id);
/// The sources that the session stored for `id`, and the configuration of its build. Errors:
/// not_found; damaged (the files were changed); those of the stored files.
Result<std::pair<variant::Variant, variant::Configuration>> stored_variant(
    const session::Session& session, const session::SessionView& view, std::string_view id);

/// Variant `variant_id` of the session's kernels folder. `name`: the kernel's name or a label.
/// Errors: damaged (the files were changed); those of the stored files.
Result<variant::Variant> load_stored(const session::Session& session, std::string_view name,
                                     const std::string& variant_id);
/// Parameters by name; values that are no integers are left out.
variant::Configuration configuration_of(const Json& json);

/// The confirmed speedup of the incumbent over the start: the product of the confirmed steps;
/// nothing before the first.
std::optional<double> confirmed_gain(const session::SessionView& view);
/// The iteration that made the present incumbent (the baseline at first); nullptr before.
const session::IterationView* incumbent_iteration(const session::SessionView& view);
/// The label of the iteration's own variant in comparisons; before it is built, the label in
/// iteration_opened.
std::string candidate_of(const session::IterationView& iteration);

/// The versions that the loaded subject `name` reported ("torch 2.13.0, python 3.11.2"), and the id
/// of the sources it was built from; empty when the log has none.
std::string subject_versions(const session::SessionView& view, const std::string& name);
std::string subject_variant_id(const session::SessionView& view, const std::string& name);

/// The techniques that iteration_opened names.
std::vector<std::string> techniques_of(const session::IterationView& iteration);
/// Calls `visit(iteration, payload of iteration_closed)` for all but baselines, newest first.
template <typename Visit>
void for_each_closed_iteration(const session::SessionView& view, const Visit& visit);
/// False for abandoned iterations and environment failures, which say nothing about the variant.
bool is_about_variant(const Json& closed);

// Tolerant reads of payloads.
using wb::member_of;
using wb::number_of;
using wb::text_of;
/// A string's text, any other value as JSON, null as "".
std::string value_text(const Json& value);

/// Techniques in `has` that the variant `parent` lacks; nothing when its sources are not stored.
std::optional<std::vector<std::string>> added_to(const session::Session& session,
                                                 const session::SessionView& view,
                                                 const std::string& parent,
                                                 std::vector<std::string> has);

template <typename Visit>
void for_each_closed_iteration(const session::SessionView& view, const Visit& visit) {
  for (auto it = view.iterations.rbegin(); it != view.iterations.rend(); ++it) {
    if (!it->closed || text_of(it->closed->payload, "outcome") == "baseline") continue;
    visit(*it, it->closed->payload);
  }
}

}  // namespace wb::engine
