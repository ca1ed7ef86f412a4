// SPDX-License-Identifier: MIT
// Private to report: the first and last sections of a root-cause page: the fixes made, with their
// place in the sources and their predicted and measured times, and the expected times after the
// next fix.
#pragma once

#include <string>

#include "core/json_fwd.hpp"
#include "report/phrases.hpp"
#include "report/source_changes.hpp"

namespace wb::report {

/// The files and lines that a win changed, and its parameters.
std::string changed_place(const session::SessionView& view, const session::IterationView& win,
                          const SourceChanges* changes);

/// What each win changed and where, with predicted and measured gain as ratio and in microseconds.
/// nullptr: the sources are not available.
std::string fixes_section(const Page& page, const SourceChanges* changes);

/// Expected times after the best fix of the first supported cause of `decided` (a causes_decided
/// payload), beside the fastest rival's times, and why it may stay slow.
std::string after_fix_section(const Page& page, const Json& decided);

}  // namespace wb::report
