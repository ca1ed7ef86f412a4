// SPDX-License-Identifier: MIT
// SessionFolder: writes the files of a session other than its log: session.json, blobs, variants,
// pages and reports. Private to Session. No given name and no link leads out of the folder.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/files.hpp"
#include "core/json_fwd.hpp"
#include "session/storage.hpp"

namespace wb::session {

class SessionFolder {
 public:
  SessionFolder(FileSystem& file_system, fs::path path)
      : m_file_system(&file_system), m_stored(file_system, std::move(path)) {}

  [[nodiscard]] const fs::path& path() const { return m_stored.path(); }
  /// The same folder, for reading.
  [[nodiscard]] const FolderStorage& stored() const { return m_stored; }
  [[nodiscard]] FileSystem& file_system() const { return *m_file_system; }

  /// Errors: invalid (no session can be made here: the folder is not empty, or the path is no
  /// folder).
  [[nodiscard]] Result<void> require_free() const;
  /// Makes the folder and its subfolders. Errors: as above, io, …
  Result<void> create();
  /// Undoes a failed creation: removes what create() made and, for the holder of the log, what was
  /// written since. Without the log it removes nothing that may belong to another process.
  void undo_create(bool holds_log);
  /// The text of session.json for this identity.
  [[nodiscard]] static std::string identity_text(const Json& identity);
  Result<void> write_identity(const Json& identity);
  /// Removes half-made files of a killed owner. Only for the holder of the lock.
  Result<void> remove_leftovers();
  /// File names of the torn tails that recoveries saved.
  [[nodiscard]] std::vector<std::string> torn_tails() const;

  Result<std::string> put_blob(std::string_view bytes);
  Result<void> store_variant(std::string_view variant_id,
                             const std::map<std::string, std::string>& files);
  /// Errors unless the name is "NNNN.<word>" for this iteration.
  Result<void> check_page_name(std::int64_t iteration, std::string_view name) const;
  Result<void> write_page(std::string_view name, std::string_view text);
  Result<void> write_report(std::string_view name, std::string_view text);

 private:
  Result<void> require_present() const;
  /// Makes a subfolder of the session and its parents. Never makes the session's own folder again,
  /// even if it disappears at this moment: somebody who moved it would find a second one in the old
  /// place.
  Result<void> make_below(const fs::path& relative);
  Result<void> write(const fs::path& relative, std::string_view text);

  FileSystem* m_file_system;
  FolderStorage m_stored;
  std::vector<fs::path> m_made;  // made by create(): the session's folder and its missing parents
};

}  // namespace wb::session
