// SPDX-License-Identifier: MIT
// SessionFolder: how the files of a session beside its log are written: session.json, blobs,
// variants, pages and reports. Private to Session. No name it is given and no link it meets leads
// out of the folder.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.hpp"
#include "core/error.hpp"
#include "core/json_fwd.hpp"
#include "session/storage.hpp"

namespace wb::session {

class SessionFolder {
 public:
  SessionFolder(FileSystem& file_system, fs::path path)
      : m_file_system(&file_system), m_stored(file_system, std::move(path)) {}

  [[nodiscard]] const fs::path& path() const { return m_stored.path(); }
  /// What is there, for reading.
  [[nodiscard]] const FolderStorage& stored() const { return m_stored; }
  [[nodiscard]] FileSystem& file_system() const { return *m_file_system; }

  /// Errors: invalid (a session cannot be made here: not empty, or no folder).
  [[nodiscard]] Result<void> require_free() const;
  /// Makes the folder and its sub-folders. Errors: as above, io, …
  Result<void> create();
  /// For a session that could not be made after all: removes what create() made, and what was
  /// written since by who holds the log; without the log nothing that may be another process's.
  void undo_create(bool holds_log);
  /// The text of session.json for this identity.
  [[nodiscard]] static std::string identity_text(const Json& identity);
  Result<void> write_identity(const Json& identity);
  /// Removes what a killed owner left half-made. Only for the holder of the lock.
  Result<void> remove_leftovers();
  /// Names of the torn tails that recoveries saved.
  [[nodiscard]] std::vector<std::string> torn_tails() const;

  Result<std::string> put_blob(std::string_view bytes);
  Result<void> store_variant(std::string_view variant_id,
                             const std::map<std::string, std::string>& files);
  /// A page must be called "NNNN.<word>" for its iteration.
  Result<void> check_page_name(std::int64_t iteration, std::string_view name) const;
  Result<void> write_page(std::string_view name, std::string_view text);
  Result<void> write_report(std::string_view name, std::string_view text);

 private:
  Result<void> require_present() const;
  /// A folder of the session's and those between. The session's own is never made again, not even
  /// when it goes away at this moment: whoever moved it would find a second one in the old place.
  Result<void> make_below(const fs::path& relative);
  Result<void> write(const fs::path& relative, std::string_view text);

  FileSystem* m_file_system;
  FolderStorage m_stored;
  std::vector<fs::path> m_made;  // by create(): the session's own folder and those around it
};

}  // namespace wb::session
