// SPDX-License-Identifier: MIT
// The environment of a session, recorded when it opens, and the differences between the
// circumstances of two measurements (`diff`, `reproduce`, `resume`): device, CPU set, tools,
// versions, suite, effort. Calibrated peaks are left out: they vary by day and identify nothing.
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

/// A word for people ("device", "compiler", "effort" …) -> its value. Absent facts are "".
using Circumstances = std::map<std::string, std::string>;

/// From the payload of environment_recorded (docs/contracts/events.md).
Circumstances circumstances_of_environment(const Json& environment);
/// Also includes suite, objective, effort, workbench version and rivals' versions.
Circumstances circumstances_of(const session::SessionView& view);

struct Change {
  std::string what, before, after;
};
/// Sorted by word. A fact that one side did not record is no change.
std::vector<Change> changes_between(const Circumstances& before, const Circumstances& after);
Json to_json(const std::vector<Change>& changes);
/// "- compiler: g++ 12.2 -> g++ 13.1\n" each.
std::string to_lines(const std::vector<Change>& changes);

/// `asked`, with the CPUs and threads of the session's `environment` if it names none, so that all
/// steps are measured alike. A CPU set outside `allowed`, this process's CPUs, is not asked for;
/// `resume` reports the change.
protocol::HelloArgs as_recorded(protocol::HelloArgs asked, const Json& environment,
                                const std::vector<int>& allowed);

/// The versions that the loaded subject `name` reported ("torch 2.13.0, python 3.11.2"), and the id
/// of the sources it was built from; empty when the log has none.
std::string subject_versions(const session::SessionView& view, const std::string& name);
std::string subject_variant_id(const session::SessionView& view, const std::string& name);

/// The payload of environment_recorded for the present environment; starts the worker. Errors:
/// environment.
Result<Json> environment_json(Context& context);

/// Differences from the environment that the held session recorded, each as "compiler: a -> b";
/// starts the worker. Errors: environment, also for a different device, to which the session's
/// noise floors and baseline do not apply.
Result<std::vector<std::string>> environment_since_open(Context& context);

}  // namespace wb::engine
