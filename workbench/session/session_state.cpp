// SPDX-License-Identifier: MIT
#include "session/session_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "core/json_fields.hpp"
#include "session/commits.hpp"

namespace wb::session {
namespace {

/// True when the file may be whole but could not be read, so that no commit may be made without it.
bool may_be_whole(const Error& error) {
  return error.code == ErrorCode::io || error.code == ErrorCode::no_space ||
         error.code == ErrorCode::read_only;
}

Error unread(Error error) {
  error.next = "try again; where it can never be read, remove it: the commit is made without it";
  return error;
}

}  // namespace

Result<const SessionView*> Session::State::current(FoldDepth wanted) const {
  if (wanted == FoldDepth::full && folded.depth() == FoldDepth::brief) {
    LogFold full(FoldDepth::full);
    WB_TRY(full.update(*log));  // damage that only a full view reads must not affect the brief one
    folded = std::move(full);
  } else {
    WB_TRY(folded.update(*log));
  }
  return &folded.view();
}

Result<void> Session::State::require_owner(std::string_view what) const {
  if (repository) return {};
  return Error{ErrorCode::read_only, std::string(what), folder.path().string(),
               "the session was opened for reading only", "open it for writing"};
}

Result<void> Session::State::note_recovery(std::uint64_t cut_bytes, const Json& saved_as,
                                           std::string reason) {
  const Json payload{{"cut_bytes", cut_bytes}, {"saved_as", saved_as}, {"reason", reason}};
  const Result<std::int64_t> seq = log->append("recovered", payload);
  if (!seq.ok()) return seq.error();
  return {};
}

/// Records every saved tail in a `recovered` event, including tails of interrupted recoveries.
Result<void> Session::State::record_recoveries() {
  WB_TRY_ASSIGN(const SessionView* view, current(FoldDepth::brief));
  std::vector<std::string> known;
  for (const Fact& fact : view->recoveries) {
    known.push_back(text_of(fact.payload, "saved_as"));
  }
  for (const std::string& name : folder.torn_tails()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::error_code error;
    const std::uintmax_t bytes = fs::file_size(folder.path() / name, error);
    WB_TRY(note_recovery(error ? 0 : bytes, name,
                         "the last write was cut off; its bytes were never acknowledged"));
  }
  return {};
}

Result<void> Session::State::open_branch(const Json& opened) {
  const auto named = opened.find("repository");
  if (named == opened.end() || !named->is_object()) return {};
  const std::string name = text_of(opened, "session");
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos) {
    return Error{ErrorCode::invalid, "commit a session named", "\"" + printable(name) + "\"",
                 "the branch keeps it in a folder of that name",
                 "give the session's folder a name, with --session"};
  }
  tree_prefix = "sessions/" + name + "/";
  // Starts from the folder's real path, since ".." behind a link is ambiguous.
  const fs::path path = (whole_path(folder.path()) / text_of(*named, "path")).lexically_normal();
  WB_TRY_ASSIGN(repository, Repository::open_branch(path, text_of(*named, "branch")));
  return {};
}

Result<void> Session::State::begin_on_branch(Json& identity) {
  WB_TRY(open_branch(identity));
  if (!repository) return {};
  WB_TRY_ASSIGN(const std::string parent, repository->start());
  identity["repository"]["parent_oid"] = parent;
  const std::string branch = identity["repository"].value("branch", "");
  const std::string place = tree_prefix.substr(0, tree_prefix.size() - 1);
  if (!parent.empty()) {
    WB_TRY_ASSIGN(const bool taken, repository->has_path(parent, place));
    if (taken) {
      return Error{ErrorCode::invalid, "open a session on", branch,
                   "the branch already has " + place, "give --session another name"};
    }
    if (repository->file_at(parent, "sessions").ok()) {
      return Error{ErrorCode::usage, "open a session on", branch,
                   "the branch has a file called sessions, where the folder of sessions would be",
                   "name another branch"};
    }
  }
  return repository->try_commit(
      parent, {{tree_prefix + "session.json", SessionFolder::identity_text(identity)}});
}

Result<void> Session::State::open_repository() {
  WB_TRY_ASSIGN(const SessionView* view, current(FoldDepth::brief));
  std::string last_oid;
  for (const IterationView& iteration : view->iterations) {
    if (iteration.committed) last_oid = text_or(iteration.committed->payload, "oid", last_oid);
  }
  if (!repository) WB_TRY(open_branch(view->opened.payload));
  if (!repository) {
    WB_TRY_ASSIGN(repository, Repository::open_or_create(folder.path(), last_oid));
  }
  if (!repository->mended().empty()) {
    WB_TRY(note_recovery(0, nullptr, repository->mended()));
  }
  WB_TRY_ASSIGN(const std::string tip, repository->tip());
  history_lost = tip.empty() && !last_oid.empty();
  // A user's branch has a tip before the session's first commit.
  const bool has_root = !tip.empty() && (tree_prefix.empty() || !last_oid.empty());
  return has_root ? Result<void>() : commit_root();
}

Result<void> Session::State::commit_root() {
  WB_TRY_ASSIGN(const SessionView* view, current(FoldDepth::brief));
  const CommitSpec spec =
      root_commit(*log, *view, SessionFolder::identity_text(view->opened.payload));
  const Result<Repository::Committed> committed = commit(spec);
  if (!committed.ok()) return committed.error();
  return {};
}

Result<Repository::Committed> Session::State::commit(CommitSpec spec) {
  if (tree_prefix.empty()) return repository->commit(spec, *clock);
  std::map<std::string, std::string> files;
  for (auto& [path, content] : spec.files) files.emplace(tree_prefix + path, std::move(content));
  spec.files = std::move(files);
  return repository->commit(spec, *clock);
}

/// Sources and pages that a closed iteration names. Missing or changed files are left out and
/// listed in `missing`, since a commit must not hold bytes that the log does not vouch for.
Result<std::map<std::string, std::string>> Session::State::files_of(const Fact& closed,
                                                                    std::string& missing) const {
  std::map<std::string, std::string> files;
  const auto pages = closed.payload.find("pages");
  if (pages != closed.payload.end() && pages->is_object()) {
    for (const auto& [name, sha256] : pages->items()) {
      Result<std::string> text = storage->read_page(name);
      if (text.ok() && Json(sha256_hex(*text)) == sha256) {
        files.emplace("iterations/" + name, *std::move(text));
      } else if (!text.ok() && may_be_whole(text.error())) {
        return unread(text.error());
      } else {
        missing += fmt::format(" page {} is gone or was changed;", printable(name));
      }
    }
  }
  const auto commit = closed.payload.find("commit");
  const std::string variant_id =
      commit != closed.payload.end() ? text_of(*commit, "variant_id") : std::string();
  if (variant_id.empty()) return files;
  Result<std::map<std::string, std::string>> sources = storage->load_variant(variant_id);
  if (!sources.ok() && may_be_whole(sources.error())) return unread(sources.error());
  if (!sources.ok()) {
    missing += fmt::format(" the sources of {} cannot be read;", printable(variant_id));
    return files;
  }
  for (auto& [path, content] : *sources) {
    files.emplace("kernels/" + variant_id + "/" + path, std::move(content));
  }
  return files;
}

Result<void> Session::State::note_commit(const Repository::Committed& committed,
                                         std::string_view what) {
  if (committed.removed_stale_lock) {
    WB_TRY(note_recovery(0, nullptr, "a stale lock of the branch was removed"));
  }
  if (!committed.moved) return {};
  return note_recovery(
      0, nullptr,
      fmt::format("{} was committed as {} on a branch that had moved since", what, committed.oid));
}

Result<std::string> Session::State::commit_iteration(const IterationView& iteration) {
  std::string missing;
  const Fact closed = *iteration.closed;
  const std::int64_t number = iteration.number;
  std::string recorded;
  if (iteration.committed) recorded = text_of(iteration.committed->payload, "oid");
  WB_TRY_ASSIGN(const SessionView* view, current(FoldDepth::brief));
  WB_TRY_ASSIGN(auto files, files_of(closed, missing));
  WB_TRY_ASSIGN(const Repository::Committed committed,
                commit(iteration_commit(*log, *view, closed, std::move(files))));
  if (committed.oid == recorded) return committed.oid;
  const std::string what = fmt::format("iteration {}", number);
  if (!missing.empty()) {
    WB_TRY(note_recovery(0, nullptr,
                         fmt::format("{} was committed without a part:{}", what, missing)));
  }
  WB_TRY(note_commit(committed, what));
  const Json payload{{"iteration", number}, {"oid", committed.oid}};
  WB_TRY(log->append("iteration_committed", payload));
  return committed.oid;
}

/// Commits closed but uncommitted iterations, oldest first; all of them after the history was lost.
Result<void> Session::State::commit_pending() {
  WB_TRY_ASSIGN(const SessionView* view, current(FoldDepth::brief));
  for (std::size_t i = 0; i < view->iterations.size(); ++i) {
    const IterationView& iteration = view->iterations[i];
    if (!iteration.closed || (iteration.committed && !history_lost)) continue;
    const Result<std::string> oid = commit_iteration(iteration);
    if (!oid.ok()) return oid.error();
  }
  history_lost = false;
  if (view->status != SessionStatus::closed) return {};
  WB_TRY_ASSIGN(const bool done, closing_is_committed(*view));
  if (done) return {};
  const Result<std::string> oid = commit_closing();
  if (!oid.ok()) return oid.error();
  return {};
}

Result<bool> Session::State::closing_is_committed(const SessionView& view) const {
  WB_TRY_ASSIGN(const std::string tip, repository->tip());
  WB_TRY_ASSIGN(const auto trailers, repository->trailers(tip));
  const std::pair<std::string, std::string> wanted{k_log_head_trailer,
                                                   log->line_hash(view.closed->seq)};
  return std::find(trailers.begin(), trailers.end(), wanted) != trailers.end();
}

Result<std::string> Session::State::commit_closing() {
  WB_TRY_ASSIGN(const SessionView* view, current(FoldDepth::brief));
  WB_TRY_ASSIGN(auto reports, storage->read_reports());
  WB_TRY_ASSIGN(const Repository::Committed committed,
                commit(closing_commit(*log, *view, std::move(reports))));
  WB_TRY(note_commit(committed, "the closing"));
  return committed.oid;
}

/// Adds what makes this event's commit reproducible.
Result<Json> Session::State::stamped(Json payload) const {
  WB_TRY_ASSIGN(const SessionView* view, current(FoldDepth::brief));
  WB_TRY_ASSIGN(std::string tip, repository->tip());
  payload["time"] = to_iso8601(clock->now());
  payload["author"] = to_json(author_of(*view));
  payload["committer"] = to_json(committer_of(*view));
  payload["parent_oid"] = std::move(tip);
  return payload;
}

}  // namespace wb::session
