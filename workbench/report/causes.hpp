// SPDX-License-Identifier: MIT
// Private to report: the pieces that pages about causes share: the session page's section, the
// root-cause page and the bottleneck page. All are made from the event causes_decided alone.
#pragma once

#include <string>
#include <vector>

#include "report/sections.hpp"

namespace wb::report {

/// The causes of a payload (causes_decided, or its `start`), those of that state; empty: all.
std::vector<const Json*> causes_of(const Json& decided, std::string_view state = {});
/// "1.40x (1.10x to 1.80x)"; "-" where the cause has none.
std::string gain_words(const Json& cause);
/// One piece of a cause's evidence: its sentence, the figures in it that decide, its events.
std::string evidence_sentence(const Facts* facts, const Json& evidence, std::size_t max_bytes);
/// One row a cause: state, what says so, what it would gain, what helps.
std::string causes_table(const Facts& facts, const std::vector<const Json*>& causes);
/// What would decide undecided causes, one line each.
std::string needs_list(const std::vector<const Json*>& causes, const std::string& subject,
                       const std::string& problem);
/// What was expected of times and launches, what was seen, and what that indicates: a table.
std::string symptoms_section(const Facts& facts, const std::vector<session::Fact>& findings);
/// What the analyses of today say of the log, each as a fact of the first event it rests on.
std::vector<session::Fact> findings_now(const session::SessionView& view);
/// What `findings` could not see and what the log does not hold, a line each.
std::string unseen_list(const session::SessionView& view,
                        const std::vector<session::Fact>& findings);
/// A problem of the suite for examples of commands: the first that is not held out.
std::string example_problem(const Facts& facts);

}  // namespace wb::report
