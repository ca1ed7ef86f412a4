// SPDX-License-Identifier: MIT
// The environment of a session, recorded when it opens, and what differs between the circumstances
// of two measurements (`diff`, `reproduce`, `resume`): device, CPU set, tools, versions, suite,
// effort. Calibrated peaks are left out: they are figures of the day, not identity.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "protocol/protocol.hpp"
#include "session/view.hpp"

namespace wb::engine {

struct Context;

/// A word for people ("device", "compiler", "effort" …) -> what it was. Absent facts are "".
using Circumstances = std::map<std::string, std::string>;

/// From the payload of environment_recorded (docs/contracts/events.md).
Circumstances circumstances_of_environment(const Json& environment);
/// The same with suite, objective, effort, workbench version and the versions of the rivals.
Circumstances circumstances_of(const session::SessionView& view);

struct Change {
  std::string what, before, after;
};
/// In the order of their words. A fact that one side did not record is no change.
std::vector<Change> changes_between(const Circumstances& before, const Circumstances& after);
Json to_json(const std::vector<Change>& changes);
/// "- compiler: g++ 12.2 -> g++ 13.1\n" each.
std::string to_lines(const std::vector<Change>& changes);

/// `asked`, and where it names no CPUs, those of the session's `environment` and its threads: a
/// step that was not told otherwise is measured as the steps before. A set that this process
/// (`allowed`) may not use any more is not asked for; `resume` tells the change.
protocol::HelloArgs as_recorded(protocol::HelloArgs asked, const Json& environment,
                                const std::vector<int>& allowed);

/// What the loaded subject `name` said of itself ("torch 2.13.0, python 3.11.2"), and the id of the
/// sources it was built from; empty where the log does not say.
std::string subject_versions(const session::SessionView& view, const std::string& name);
std::string subject_variant_id(const session::SessionView& view, const std::string& name);

/// The payload of environment_recorded, as things are now; starts the worker.
/// Errors: environment.
Result<Json> environment_json(Context& context);

/// What differs from the environment that the held session recorded, "compiler: a -> b" each;
/// starts the worker. Errors: environment, also for another device, to which the session's noise
/// floors and baseline do not apply.
Result<std::vector<std::string>> environment_since_open(Context& context);

}  // namespace wb::engine
