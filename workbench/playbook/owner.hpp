// SPDX-License-Identifier: MIT
// Private to playbook: the owner's side of one playbook-host process. Starts it, reads its meta,
// answers its verb calls through a function, kills it when it does not keep its limits.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "core/process.hpp"
#include "playbook/playbook.hpp"

namespace wb {

/// A playbook and the library files it may require, as sent to the host.
struct PlaybookSource {
  std::string path, text;
  std::map<std::string, std::string> lib;  ///< "lib.steps" -> source
  /// All of it as one text, for the hash in playbook_started.
  [[nodiscard]] std::string whole() const;
};

/// Looks a playbook up: a path to a .lua file, or a name in <root>/playbooks. Errors: not_found
/// (with a did-you-mean), io, limit (above 1 MiB).
Result<PlaybookSource> find_playbook(const FileSystem& file_system, const SearchPath& search_path,
                                     std::string_view name);

struct PlaybookMeta {
  std::string name, about;
  Json arguments = Json::object();  ///< name -> {default, doc}
  Json open = Json::object();       ///< defaults for the verb `open`
};

class HostProcess {
 public:
  static Result<HostProcess> start(const PlaybookOptions& options, const PlaybookSource& source,
                                   const std::vector<std::string>& verbs, std::uint64_t seed,
                                   const std::atomic<bool>* stop_requested);
  [[nodiscard]] const PlaybookMeta& meta() const { return m_meta; }

  using Answer = std::function<Result<Json>(const std::string& verb, const Json& args)>;
  using Print = std::function<void(const std::string& text)>;
  /// Runs the playbook to its end; what run() returned. Errors: those that ended it; canceled.
  /// An error of `answer` with code canceled ends the run at once; others go to the playbook.
  Result<Json> run(const Json& args, const Answer& answer, const Print& print);

 private:
  HostProcess(ChildProcess child, PlaybookOptions options, std::string path,
              const std::atomic<bool>* stop_requested)
      : m_child(std::move(child)),
        m_options(std::move(options)),
        m_path(std::move(path)),
        m_stop_requested(stop_requested) {}
  Result<Json> receive();
  Result<void> send(const Json& message);
  [[nodiscard]] bool stopped() const;
  Error failure(const Json& failed) const;

  ChildProcess m_child;
  PlaybookOptions m_options;
  std::string m_path;
  const std::atomic<bool>* m_stop_requested;
  PlaybookMeta m_meta;
};

/// The playbook's arguments: given ones checked against its table, the rest from its defaults.
/// Errors: usage (unknown name, with a did-you-mean).
Result<Json> complete_arguments(const PlaybookMeta& meta, const Json& given);

}  // namespace wb
