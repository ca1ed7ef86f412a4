// SPDX-License-Identifier: MIT
// Private to playbook: the owner's side of a playbook-host process. Starts it, reads its meta,
// answers its verb calls through a function, and kills it when it exceeds its limits.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "core/process.hpp"
#include "playbook/playbook.hpp"
#include "variant/variant.hpp"

namespace wb::playbook {

/// A playbook and the library files that it may require, as sent to the host.
struct PlaybookSource {
  std::string path, text;
  std::map<std::string, std::string> lib;  ///< "lib.steps" -> source
  /// All files as one text, for the hash in playbook_started.
  [[nodiscard]] std::string whole() const;
};

/// Finds a playbook by a path to a .lua file, or by name in <root>/playbooks. Its library is the
/// folder lib/ beside it. Errors: not_found (with a did-you-mean), io, limit (a file above 1 MiB,
/// or all above 2 MiB), invalid (bytes that are not text).
Result<PlaybookSource> find_playbook(const FileSystem& file_system,
                                     const variant::SearchPath& search_path, std::string_view name);

struct PlaybookMeta {
  std::string name, about;
  Json arguments = Json::object();  ///< name -> {default, doc}
  Json open = Json::object();       ///< defaults for the verb `open`
};

/// Limits of a message between owner and host, which are JSON lines over a pipe. A playbook's texts
/// are at most 2 MiB per message, and JSON escapes may make them six times as long.
constexpr JsonLimits k_wire_limits{.max_bytes = 16u << 20, .max_depth = 64};

/// One message as one line without its end. Bytes that are not UTF-8 become U+FFFD.
std::string wire_line(const Json& message);

class HostProcess {
 public:
  /// Loads the playbook. Errors: those of ChildProcess::spawn; parse (Lua syntax), limit, invalid
  /// (its table is incomplete). `stop_requested` may be nullptr.
  static Result<HostProcess> start(const PlaybookOptions& options, const PlaybookSource& source,
                                   const std::vector<std::string>& verbs, std::uint64_t seed,
                                   const std::atomic<bool>* stop_requested);
  [[nodiscard]] const PlaybookMeta& meta() const { return m_meta; }

  using Answer = std::function<Result<Json>(const std::string& verb, const Json& args)>;
  using Print = std::function<void(const std::string& text)>;
  /// Runs the playbook to its end and returns the result of run(). Errors: those that ended it;
  /// canceled. An error of `answer` that ends the session ends the run at once; others go to the
  /// playbook.
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
  Result<void> read_meta(const Json& meta);
  [[nodiscard]] Json reply_to(const Json& n, Result<Json> result) const;
  [[nodiscard]] bool stopped() const;
  [[nodiscard]] Error error(ErrorCode code, std::string cause, std::string next = "") const;
  [[nodiscard]] Error failure(const Json& failed) const;

  ChildProcess m_child;
  PlaybookOptions m_options;
  std::string m_path;
  const std::atomic<bool>* m_stop_requested;
  PlaybookMeta m_meta;
  std::vector<std::string> m_early_prints;  ///< printed before run(), reported when it starts
};

/// The playbook's arguments as text: given ones checked against its table, the others from its
/// defaults. Errors: usage (unknown name, with a did-you-mean).
Result<Json> complete_arguments(const PlaybookMeta& meta, const Json& given);

}  // namespace wb::playbook
