// SPDX-License-Identifier: MIT
#include "session/commits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <set>
#include <utility>
#include <vector>

#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "session/storage.hpp"

namespace wb::session {
namespace {

/// Sets what iteration_closed and session_closed have in common.
void stamp(CommitSpec& spec, const SessionView& view, const Fact& fact) {
  const Json& payload = fact.payload;
  spec.author = signature_from_json(member_of(payload, "author")).value_or(author_of(view));
  spec.committer =
      signature_from_json(member_of(payload, "committer")).value_or(committer_of(view));
  spec.expected_parent = text_of(payload, "parent_oid");
  const std::optional<std::int64_t> time = seconds_of_iso8601(text_or(payload, "time", fact.t));
  spec.time_s = time ? *time : seconds_of_iso8601(fact.t).value_or(0);
}

}  // namespace

std::optional<std::int64_t> seconds_of_iso8601(std::string_view text) {
  const auto number = [&](std::size_t at, std::size_t length) -> int {
    int value = 0;
    const char* begin = text.data() + at;
    const auto [end, error] = std::from_chars(begin, begin + length, value);
    return error == std::errc() && end == begin + length && value >= 0 ? value : -1;
  };
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' ||
      text[16] != ':' || text.back() != 'Z') {
    return std::nullopt;
  }
  const int hour = number(11, 2), minute = number(14, 2), second = number(17, 2);
  const int year = number(0, 4), month = number(5, 2), day = number(8, 2);
  if (year < 0 || month < 0 || day < 0) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || hour < 0 || minute < 0 || second < 0) return std::nullopt;
  const auto time = std::chrono::sys_days(date) + std::chrono::hours(hour) +
                    std::chrono::minutes(minute) + std::chrono::seconds(second);
  return time.time_since_epoch() / std::chrono::seconds(1);
}

Json to_json(const Signature& signature) {
  return Json{{"name", signature.name}, {"email", signature.email}};
}

std::optional<Signature> signature_from_json(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  Signature signature{text_of(json, "name"), text_of(json, "email")};
  // git refuses empty names and removes angle brackets and line ends; something must remain.
  for (std::string* text : {&signature.name, &signature.email}) {
    *text = printable(*text, 200);
    if (text->find_first_not_of(" <>.,:;\"'\\") == std::string::npos) return std::nullopt;
  }
  return signature;
}

Signature author_of(const SessionView& view) {
  return signature_from_json(member_of(view.opened.payload, "author"))
      .value_or(Signature{"sdpa-wb", "sdpa-wb@localhost"});
}

Signature committer_of(const SessionView& view) {
  return signature_from_json(member_of(view.opened.payload, "committer")).value_or(author_of(view));
}

CommitSpec root_commit(const EventLog& log, const SessionView& view, std::string identity_text) {
  CommitSpec spec;
  const std::string name = text_or(view.opened.payload, "session", "session");
  spec.subject = fmt::format("Open {}", name);
  spec.trailers = {{"Session", name}, {std::string(k_log_head_trailer), log.line_hash(1)}};
  spec.files.emplace("session.json", std::move(identity_text));
  spec.author = author_of(view);
  spec.committer = committer_of(view);
  spec.time_s = seconds_of_iso8601(view.opened.t).value_or(0);
  spec.expected_parent = text_of(member_of(view.opened.payload, "repository"), "parent_oid");
  return spec;
}

CommitSpec iteration_commit(const EventLog& log, const SessionView& view, const Fact& closed,
                            std::map<std::string, std::string> files) {
  CommitSpec spec;
  stamp(spec, view, closed);
  const Json& commit = member_of(closed.payload, "commit");
  spec.subject = text_or(commit, "subject", "Close an iteration");
  for (const Json& trailer : list_of(commit, "trailers")) {
    if (!trailer.is_array() || trailer.size() != 2 || !trailer[0].is_string() ||
        !trailer[1].is_string() || trailer[0] == k_log_head_trailer) {
      continue;
    }
    spec.trailers.emplace_back(trailer[0].get<std::string>(), trailer[1].get<std::string>());
  }
  spec.trailers.emplace_back(k_log_head_trailer, log.line_hash(closed.seq));
  spec.files = std::move(files);
  return spec;
}

CommitSpec closing_commit(const EventLog& log, const SessionView& view,
                          std::map<std::string, std::string> reports) {
  CommitSpec spec;
  const Fact& closed = *view.closed;
  stamp(spec, view, closed);
  const std::string name = text_or(view.opened.payload, "session", "session");
  spec.subject = fmt::format("Close {}", name);
  spec.trailers = {{"Session", name},
                   {"Outcome", text_or(closed.payload, "outcome", "closed")},
                   {std::string(k_log_head_trailer), log.line_hash(closed.seq)}};
  spec.files = std::move(reports);
  spec.files[std::string(k_log_name)] = log.text(closed.seq);
  return spec;
}

namespace {

constexpr int k_most_commits = 20'000;  // on a user's branch, including commits of others

/// Hashes of the lines that commits are made from.
std::set<std::string> committed_lines(const EventLog& log) {
  std::set<std::string> hashes;
  for (std::int64_t seq = 1; seq <= log.size(); ++seq) {
    const std::string_view type = log.envelope(seq).type;
    if (type == "session_opened" || type == "iteration_closed" || type == "session_closed") {
      hashes.insert(log.line_hash(seq));
    }
  }
  return hashes;
}

struct LogRepository {
  fs::path path;
  std::string branch, prefix;
  bool is_own = true;
};

LogRepository log_repository(const fs::path& folder, const Json& opened) {
  const auto named = opened.find("repository");
  if (named == opened.end() || !named->is_object()) return {folder / ".git", "main", "", true};
  return {(whole_path(folder) / text_of(*named, "path")).lexically_normal(),
          text_of(*named, "branch"), "sessions/" + text_of(opened, "session"), false};
}

std::string trailer(const std::vector<std::pair<std::string, std::string>>& trailers,
                    std::string_view key) {
  for (const auto& [name, value] : trailers) {
    if (name == key) return value;
  }
  return {};
}

}  // namespace

std::optional<LostTail> find_lost_tail(const EventLog& log, const fs::path& folder,
                                       const Json& opened, const std::string& from) {
  const LogRepository location = log_repository(folder, opened);
  const auto repository = Repository::open_to_look(location.path, location.branch, location.is_own);
  if (!repository) return std::nullopt;
  auto oid = from.empty() ? repository->tip() : Result<std::string>(from);
  if (!oid || oid->empty()) return std::nullopt;
  std::set<std::string> known;  // usually the tip is the last closing
  LostTail lost;
  lost.last_seq = log.size();
  lost.on_users_branch = !location.is_own;
  std::vector<std::string> missing;
  for (int count = 0; count < k_most_commits && oid && !oid->empty(); ++count) {
    const auto trailers = repository->trailers(*oid);
    const auto parent = repository->parent(*oid);
    if (!trailers || !parent) return std::nullopt;
    const std::string head = trailer(*trailers, k_log_head_trailer);
    bool is_ours = !head.empty();
    if (is_ours && !location.is_own) {
      const auto here = repository->id_at(*oid, location.prefix);
      const auto before = parent->empty() ? Result<std::string>(std::string())
                                          : repository->id_at(*parent, location.prefix);
      is_ours = here && before && !here->empty() && *here != *before;
    }
    if (is_ours) {
      if (known.empty()) known = committed_lines(log);
      if (known.contains(head)) {
        lost.known_oid = *oid;
        break;
      }
      if (lost.oid.empty()) lost.oid = *oid;
      const std::string iteration = trailer(*trailers, "Iteration");
      const std::string outcome = trailer(*trailers, "Outcome");
      if (!iteration.empty()) {
        missing.push_back(fmt::format("iteration {} ({}, commit {})", printable(iteration, 20),
                                      printable(outcome, 20), oid->substr(0, 10)));
      } else if (!outcome.empty()) {
        lost.has_log = true;
        missing.push_back(fmt::format("the closing (commit {})", oid->substr(0, 10)));
      } else {
        // The opening of another session: its commits are unrelated.
        return std::nullopt;
      }
    }
    oid = *parent;
  }
  if (missing.empty() || lost.known_oid.empty()) return std::nullopt;
  std::reverse(missing.begin(), missing.end());
  lost.missing = fmt::format("{}", fmt::join(missing, ", "));
  return lost;
}

std::string cause_of(const LostTail& lost) {
  return fmt::format(
      "its log ends at e{}, but its commits go on: lost are the events from e{} to those of {}{}",
      lost.last_seq, lost.last_seq + 1, lost.missing,
      lost.on_users_branch ? ", unless another copy of this session made these commits" : "");
}

std::string advice_on(const LostTail& lost, const fs::path& folder) {
  const std::string where = lost.on_users_branch ? std::string() : " in " + folder.string();
  if (lost.has_log) {
    return fmt::format("put events.jsonl back from a copy, or take the one that commit {} holds{}",
                       lost.oid.substr(0, 10), where);
  }
  return fmt::format("put events.jsonl back from a copy; to go on without them, {}",
                     lost.on_users_branch
                         ? fmt::format("set the branch back to {}", lost.known_oid.substr(0, 10))
                         : fmt::format("move {} away: the history is made again from the log",
                                       (folder / ".git").string()));
}

}  // namespace wb::session
