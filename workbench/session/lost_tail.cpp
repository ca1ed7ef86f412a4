// SPDX-License-Identifier: MIT
#include "session/lost_tail.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "session/commits.hpp"
#include "session/storage.hpp"

namespace wb::session {
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
