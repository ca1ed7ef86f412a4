// SPDX-License-Identifier: MIT
#include "session/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "session/commits.hpp"
#include "session/session_state.hpp"

namespace wb::session {
namespace {

/// Writers need a folder: an archive is never unpacked implicitly.
Result<void> require_session_folder(const FileSystem& file_system, const fs::path& folder) {
  std::error_code error;
  const bool is_folder = fs::is_directory(folder, error);
  for (const std::string_view name : {k_log_name, k_packed_log_name}) {
    if (is_folder && FolderStorage(file_system, folder).has(std::string(name))) return {};
  }
  if (const auto archive = archive_at(folder)) {
    return Error{ErrorCode::read_only, "write to", archive->string(),
                 "the session is an archive, which is read only",
                 "go on from it with `sdpa-wb open --after`; to write to it, unpack it with "
                 "`tar -xzf` and name the folder"};
  }
  const auto none = open_storage(file_system, folder);
  return none ? Result<void>() : none.error();
}

Result<void> require_opened(const EventLog& log, const fs::path& folder) {
  if (log.size() > 0 && log.envelope(1).type == "session_opened") return {};
  return Error{ErrorCode::damaged, "open the session", folder.string(),
               "its log does not begin with session_opened: making it was cut off",
               "remove the folder and open the session again"};
}

}  // namespace

Session::Session(std::unique_ptr<State> state) : m_state(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

fs::path next_session_folder(const fs::path& root) {
  std::int64_t highest = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root, error)) {
    const std::string name = listed_name(entry.path());
    if (name.size() == 6 && name.starts_with("s-")) {
      std::int64_t number = 0;
      std::from_chars(name.data() + 2, name.data() + name.size(), number);
      highest = std::max(highest, number);
    }
  }
  return root / fmt::format("s-{:04}", highest + 1);
}

Result<Session> Session::create(FileSystem& file_system, const Clock& clock, const fs::path& folder,
                                const Json& identity) {
  if (!identity.is_object()) {
    return Error{ErrorCode::invalid, "open a session in", folder.string(),
                 "its identity is not an object", ""};
  }
  std::error_code ignored;
  if (const auto archive = archive_at(folder); archive && !fs::exists(folder, ignored)) {
    return Error{ErrorCode::invalid, "open a session in", folder.string(),
                 "the session of that name is an archive: " + archive->string(),
                 "choose another folder"};
  }
  auto state = std::make_unique<State>(file_system, folder);
  state->clock = &clock;
  Json payload = identity;
  if (!payload.contains("author")) payload["author"] = to_json(author_of(SessionView{}));
  WB_TRY(state->folder.require_free());
  WB_TRY(state->begin_on_branch(payload));
  const auto make = [&]() -> Result<void> {
    WB_TRY(state->folder.create());
    // Create the log first: its holder is the one process that makes a session here.
    WB_TRY_ASSIGN(state->log, EventLog::create(file_system, clock, folder));
    WB_TRY(state->folder.write_identity(payload));
    WB_TRY(state->log->append("session_opened", payload));
    return state->open_repository();
  };
  if (auto made = make(); !made.ok()) {
    state->folder.undo_create(state->log.has_value());
    return std::move(made).error();
  }
  return Session(std::move(state));
}

Result<Session> Session::open_owner(FileSystem& file_system, const Clock& clock,
                                    const fs::path& folder) {
  WB_TRY(require_session_folder(file_system, folder));
  auto state = std::make_unique<State>(file_system, folder);
  state->clock = &clock;
  const Result<void> format = state->storage->check_format();
  const bool without_identity = !format.ok() && format.error().code == ErrorCode::not_found;
  if (!format.ok() && !without_identity) return format.error();
  WB_TRY_ASSIGN(state->log, EventLog::open_owner(file_system, clock, folder));
  WB_TRY(require_opened(*state->log, folder));
  WB_TRY_ASSIGN(const Json opened, state->log->payload(1));
  if (opened.contains(k_redacted_key)) {
    return Error{ErrorCode::read_only, "write to", folder.string(), "it is a redacted copy",
                 "go on in the session that it was made from"};
  }
  if (const auto lost = find_lost_tail(*state->log, folder, opened)) {
    return Error{ErrorCode::damaged, "open the session", folder.string(), cause_of(*lost),
                 advice_on(*lost, folder)};
  }
  WB_TRY(state->record_recoveries());
  if (without_identity) {
    WB_TRY(state->folder.write_identity(opened));
    WB_TRY(state->note_recovery(0, nullptr, "session.json was gone and is made again"));
  }
  WB_TRY(state->folder.remove_leftovers());
  WB_TRY(state->open_repository());
  // A branch held by a git command does not prevent opening: the log is the truth, and the next
  // closing commits.
  const Result<void> committed = state->commit_pending();
  if (!committed.ok() && committed.error().code != ErrorCode::locked) return committed.error();
  return Session(std::move(state));
}

Result<Session> Session::open_reader(FileSystem& file_system, const fs::path& folder) {
  WB_TRY_ASSIGN(auto storage, open_storage(file_system, folder));
  auto state = std::make_unique<State>(file_system, std::move(storage));
  const Result<void> format = state->storage->check_format();
  if (!format.ok() && format.error().code != ErrorCode::not_found) return format.error();
  WB_TRY_ASSIGN(state->log, EventLog::open_reader(*state->storage));
  WB_TRY(require_opened(*state->log, folder));
  return Session(std::move(state));
}

const fs::path& Session::folder() const {
  return m_state->folder.path();
}
const SessionStorage& Session::storage() const {
  return *m_state->storage;
}
const EventLog& Session::log() const {
  return *m_state->log;
}

Result<std::string> Session::warning() const {
  WB_TRY_ASSIGN(const Json opened, log().payload(1));
  auto lost = find_lost_tail(log(), folder(), opened);
  if (lost && !m_state->repository) {
    // The owner may have closed an iteration since this reader read the log.
    WB_TRY_ASSIGN(const EventLog now, EventLog::open_reader(*m_state->storage));
    lost = find_lost_tail(now, folder(), opened, lost->oid);
  }
  if (!lost) return std::string();
  return cause_of(*lost) + "; " + advice_on(*lost, folder());
}

Result<void> Session::check_place() const {
  return log().check_place();
}

Result<std::int64_t> Session::append(std::string_view type, const Json& payload) {
  return m_state->log->append(type, payload);
}

Result<bool> Session::catch_up() {
  return m_state->log->catch_up(m_state->folder.file_system());
}

Result<SessionView> Session::view(FoldDepth depth) const {
  WB_TRY_ASSIGN(const SessionView* view, m_state->current(depth));
  return *view;
}

Result<const SessionView*> Session::current(FoldDepth depth) const {
  return m_state->current(depth);
}

Result<std::string> Session::put_blob(std::string_view bytes) {
  WB_TRY(m_state->require_owner("store a blob in"));
  return m_state->folder.put_blob(bytes);
}

Result<std::string> Session::read_blob(std::string_view sha256) const {
  return m_state->storage->read_blob(sha256);
}

Result<void> Session::store_variant(std::string_view variant_id,
                                    const std::map<std::string, std::string>& files) {
  WB_TRY(m_state->require_owner("store a variant in"));
  return m_state->folder.store_variant(variant_id, files);
}

Result<std::map<std::string, std::string>> Session::load_variant_files(
    std::string_view variant_id) const {
  return m_state->storage->load_variant(variant_id);
}

Result<std::string> Session::close_iteration(const Closing& closing) {
  State& state = *m_state;
  WB_TRY(state.require_owner("close an iteration in"));
  WB_TRY_ASSIGN(const SessionView* view, state.current(FoldDepth::brief));
  const IterationView* iteration = view->find(closing.iteration);
  if (iteration == nullptr || iteration->is_closed() || !closing.closed.is_object()) {
    return Error{ErrorCode::invalid, "close iteration", fmt::to_string(closing.iteration),
                 iteration == nullptr ? "it was never opened" : "it is closed already", ""};
  }
  for (const auto& [name, text] : closing.pages) {
    WB_TRY(state.folder.check_page_name(closing.iteration, name));
  }
  if (!closing.variant_id.empty()) {
    // Checked before anything is logged, so that a logged iteration has its sources.
    const auto sources = state.storage->load_variant(closing.variant_id);
    if (!sources.ok()) return sources.error();
  }
  // Commit earlier iterations first; if that fails again, this one waits too.
  const Result<void> pending = state.commit_pending();
  if (!pending.ok() && pending.error().code != ErrorCode::locked) return pending.error();

  Json pages = Json::object();
  for (const auto& [name, text] : closing.pages) {
    WB_TRY(state.folder.write_page(name, text));
    pages[name] = sha256_hex(text);
  }
  WB_TRY_ASSIGN(Json payload, state.stamped(closing.closed));
  payload["iteration"] = closing.iteration;
  payload["pages"] = std::move(pages);
  Json trailers = Json::array();
  for (const auto& [name, value] : closing.trailers) trailers.push_back(Json::array({name, value}));
  payload["commit"] = Json{{"subject", closing.subject},
                           {"trailers", std::move(trailers)},
                           {"variant_id", closing.variant_id}};
  WB_TRY(state.log->append("iteration_closed", payload));
  WB_TRY_ASSIGN(view, state.current(FoldDepth::brief));
  return state.commit_iteration(*view->find(closing.iteration));
}

Result<void> Session::write_report(std::string_view name, std::string_view text) {
  WB_TRY(m_state->require_owner("write a report in"));
  return m_state->folder.write_report(name, text);
}

Result<std::string> Session::close(const Json& payload,
                                   const std::function<Result<void>(Session&)>& before_commit) {
  State& state = *m_state;
  WB_TRY(state.require_owner("close"));
  WB_TRY_ASSIGN(const SessionView* view, state.current(FoldDepth::brief));
  if (view->status == SessionStatus::closed || !payload.is_object()) {
    return Error{ErrorCode::invalid, "close the session", folder().string(), "it is closed already",
                 "open a new session that starts where this one ended"};
  }
  WB_TRY(state.commit_pending());
  WB_TRY_ASSIGN(const Json whole, state.stamped(payload));
  WB_TRY(state.log->append("session_closed", whole));
  if (before_commit) WB_TRY(before_commit(*this));
  return state.commit_closing();
}

Result<std::string> Session::commit_of_closing() {
  State& state = *m_state;
  WB_TRY(state.require_owner("look for the closing commit of"));
  WB_TRY_ASSIGN(const SessionView* view, state.current(FoldDepth::brief));
  if (view->status != SessionStatus::closed) {
    return Error{ErrorCode::invalid, "look for the closing commit of", folder().string(),
                 "it is not closed", "close it first"};
  }
  WB_TRY_ASSIGN(const bool is_tip, state.closing_is_committed(*view));
  return is_tip ? state.repository->tip() : state.commit_closing();
}

std::string iteration_name(std::int64_t number) {
  return fmt::format("{:04}", number);
}

}  // namespace wb::session
