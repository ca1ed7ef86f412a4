// SPDX-License-Identifier: MIT
// Makes the contents of the session's commits from the log alone, so that a commit can be made
// again with the same oid. Payloads may come from a faulty program, and every log that folds must
// be committable, so they are read forgivingly. Private to Session.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/json_fwd.hpp"
#include "session/log.hpp"
#include "session/repository.hpp"
#include "session/view.hpp"

namespace wb::session {

/// Seconds since 1970 of "2026-11-20T18:03:22.123Z"; nothing when malformed.
std::optional<std::int64_t> seconds_of_iso8601(std::string_view text);

Json to_json(const Signature& signature);
/// Nothing when it is missing or its name or address is empty.
std::optional<Signature> signature_from_json(const Json& json);
/// Author and committer of this session's commits. The committer is the author unless the session
/// names one.
Signature author_of(const SessionView& view);
Signature committer_of(const SessionView& view);

CommitSpec root_commit(const EventLog& log, const SessionView& view, std::string identity_text);
/// Made from the payload of iteration_closed.
CommitSpec iteration_commit(const EventLog& log, const SessionView& view, const Fact& closed,
                            std::map<std::string, std::string> files);
CommitSpec closing_commit(const EventLog& log, const SessionView& view,
                          std::map<std::string, std::string> reports);

}  // namespace wb::session
