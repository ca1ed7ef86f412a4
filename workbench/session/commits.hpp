// SPDX-License-Identifier: MIT
// What the session's commits hold, made from the log alone, so that a commit can be made again with
// the same oid. Private to Session.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "session/log.hpp"
#include "session/repository.hpp"
#include "session/view.hpp"

namespace wb::session {

/// The string member `key`. Payloads may come from a faulty program, and a commit must be possible
/// from any log that folds: what is absent or ill-typed has a fallback.
std::string text_or(const Json& json, std::string_view key, std::string fallback);
/// Seconds since 1970 of "2026-11-20T18:03:22.123Z"; nothing when it is malformed.
std::optional<std::int64_t> seconds_of_iso8601(std::string_view text);

Json to_json(const Signature& signature);
/// Nothing when it is missing or has an empty name or address.
std::optional<Signature> signature_from_json(const Json* json);
/// Author and committer of what this session commits. A committer of its own is optional.
Signature author_of(const SessionView& view);
Signature committer_of(const SessionView& view);

CommitSpec root_commit(const EventLog& log, const SessionView& view, std::string identity_text);
/// From the payload of iteration_closed.
CommitSpec iteration_commit(const EventLog& log, const SessionView& view, const Fact& closed,
                            std::map<std::string, std::string> files);
CommitSpec closing_commit(const EventLog& log, const SessionView& view,
                          std::map<std::string, std::string> reports);

}  // namespace wb::session
