// SPDX-License-Identifier: MIT
// SubjectFactory: starts subject processes, or takes spares that are already waiting, and loads an
// artifact into them. Each has a scratch folder that is removed with the subject.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "worker/store.hpp"
#include "worker/subject_process.hpp"

namespace wb::worker {

/// A folder below the worker's private one, removed with all its content.
class ScratchFolder {
 public:
  static Result<ScratchFolder> create(const fs::path& parent, const std::string& name);
  ScratchFolder(ScratchFolder&& other) noexcept : m_path(std::move(other.m_path)) {
    other.m_path.clear();
  }
  ScratchFolder& operator=(ScratchFolder&& other) noexcept {
    std::swap(m_path, other.m_path);
    return *this;
  }
  ~ScratchFolder();
  [[nodiscard]] const fs::path& path() const { return m_path; }

 private:
  explicit ScratchFolder(fs::path path) : m_path(std::move(path)) {}
  fs::path m_path;
};

/// A subject and its folders. The process is a later member, so it is destroyed first.
struct LoadedSubject {
  std::string label;
  std::optional<ScratchFolder> staged;  ///< Python: its files
  ScratchFolder scratch;
  SubjectProcess process;
  Json versions = Json::object();
  std::string library = {}, build_id = {};  ///< of a compiled variant, else empty
  bool profiled = false;                    ///< a profiler was attached, so its times mean nothing
};

/// The settings of all subjects, determined at hello.
struct SubjectSetting {
  std::string own_program;
  std::string python;          ///< empty: no Python subjects
  std::string python_script;   ///< subject.py
  std::string no_python = {};  ///< why there are no Python subjects, once hello has looked
  cpu_set_t cpus{};
  int threads = 1;
  std::optional<int> gpu;  ///< the CUDA ordinal that subjects compute on; none: the CPU
  Isolation isolation = Isolation::seccomp;
  std::vector<std::string> hidden_files = {};  ///< hidden from subjects in their own namespaces
};

class SubjectFactory {
 public:
  /// Whether a built-in may use a spare process, or needs a new one.
  enum class From { spare, new_process };

  SubjectFactory(ChildRegistry& registry, const Store& store, SubjectSetting setting)
      : m_registry(registry), m_store(store), m_setting(std::move(setting)) {}

  /// Failures: runtime (does not load, wrong build id, import error), timeout, environment.
  Outcome<LoadedSubject> load(const protocol::LoadArgs& args, const Wait& wait);
  /// "canary" or "empty" of the native built-ins; "empty" of the Python loop.
  Outcome<LoadedSubject> load_builtin(SubjectKind kind, const std::string& name, const Wait& wait,
                                      From from = From::new_process);
  /// Starts spare processes for the next native load()s, given the number of `loaded` subjects.
  /// Does not wait for them.
  void start_spares(std::size_t loaded);
  /// On a GPU: starts or wakes spares for the next `subjects` Python load()s in parallel, since
  /// each takes long to import its libraries and create its context. Does not wait for them.
  void start_python_spares(std::size_t subjects);
  /// On a GPU: waits until no process is creating its context, which would slow down timed calls
  /// (calls of 13 us took 15 to 25 us on an H200). Sleeping spares stay asleep.
  void await_spares(const Wait& wait);
  /// Ends Python spares that are awake, and starts others until `subjects` are asleep: they import
  /// their libraries, which takes seconds, and do not use the device until start_python_spares() or
  /// load() wakes them. Only on a GPU with CPUs to spare.
  void let_python_sleep(std::size_t subjects);
  void drop_spares();
  /// Ends spares that have a context or are creating one.
  void drop_awake();
  /// The settings; python is set once hello has found an interpreter.
  [[nodiscard]] const SubjectSetting& setting() const { return m_setting; }
  void set_python(std::string python, std::string script) {
    m_setting.python = std::move(python);
    m_setting.python_script = std::move(script);
  }
  void set_no_python(std::string why) { m_setting.no_python = std::move(why); }

 private:
  /// The state of a process's context; a compiled subject requests its context at once.
  enum class Context { asleep, asked, there };
  struct Started {
    ScratchFolder scratch;
    SubjectProcess process;
    Context context = Context::asleep;
    /// The failure to create a context, which the process reports only once.
    std::optional<Failure> refusal = {};
  };
  static void wake(Started& started);
  static Outcome<void> await_context(Started& started, const Wait& wait);
  Result<Started> start(SubjectKind kind);
  Result<Started> take_spare(SubjectKind kind);
  void drop_awake_python();
  std::deque<Started>& spares_of(SubjectKind kind) {
    return kind == SubjectKind::python ? m_python_spares : m_spares;
  }
  Outcome<LoadedSubject> finish(Started started, const std::string& label, Json message,
                                const Wait& wait);

  ChildRegistry& m_registry;
  const Store& m_store;
  SubjectSetting m_setting;
  std::deque<Started> m_spares, m_python_spares;  ///< in order of start, the first is used first
  std::int64_t m_next_folder = 1;
};

}  // namespace wb::worker
