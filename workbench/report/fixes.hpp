// SPDX-License-Identifier: MIT
// Private to report: the two ends of a root-cause page: what was mended, where in the sources, what
// times that was predicted to bring and brought; and what times the next fix should bring.
#pragma once

#include <string>

#include "report/sections.hpp"
#include "report/source_changes.hpp"

namespace wb::report {

/// What each win changed, where, predicted and measured, as ratio and in microseconds. nullptr: the
/// sources are not at hand.
std::string fixes_section(const Page& page, const SourceChanges* changes);

/// Times after the best fix of the first supported cause of `decided` (a payload of
/// causes_decided), beside the marks that the fastest rival sets, and why it may stay slow.
std::string after_fix_section(const Page& page, const Json& decided);

}  // namespace wb::report
