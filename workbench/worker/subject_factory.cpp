// SPDX-License-Identifier: MIT
#include "worker/subject_factory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "core/json.hpp"
#include "worker/cuda/gpu_inputs.hpp"
#include "worker/failure.hpp"
#include "worker/hand_over.hpp"
#include "worker/roles.hpp"

namespace wb::worker {
namespace {

constexpr std::uint64_t k_python_file_bytes = 1ull << 30;  // for caches of just-in-time compilers
constexpr std::uint64_t k_python_open_files = 4'096;
constexpr std::uint64_t k_gpu_open_files = 1'024;  // for devices and the driver's threads
/// A selection loads candidate and incumbent in succession, and on a GPU each would wait 0.2 to
/// 0.34 s for its context (H200); a CPU process starts in 3 ms. From two loaded subjects on, turns
/// are likely.
constexpr std::size_t k_spares = 1, k_compared = 2;
constexpr int k_deepest_shut_folder = 64;
/// Each uses about 1 GB of host memory with PyTorch and, awake, a context: 0.5 GB of an H200.
constexpr std::size_t k_most_python_spares = 8;
/// CPUs required per process that imports its libraries beside timed work.
constexpr std::size_t k_cpus_a_sleeper = 4;

}  // namespace

Result<ScratchFolder> ScratchFolder::create(const fs::path& parent, const std::string& name) {
  const fs::path path = parent / name;
  std::error_code error;
  if (!fs::create_directory(path, error) || error) {
    return errno_error("create a folder for a subject", path, error.value());
  }
  return ScratchFolder(path);
}

ScratchFolder::~ScratchFolder() {
  std::error_code error;
  if (m_path.empty()) return;
  fs::remove_all(m_path, error);
  // A subject that may change its files may have removed permissions of a folder.
  for (int level = 0; error && level < k_deepest_shut_folder; ++level) {
    std::error_code ignored;
    fs::permissions(m_path, fs::perms::owner_all, ignored);
    for (fs::recursive_directory_iterator
             it(m_path, fs::directory_options::skip_permission_denied, ignored),
         end;
         !ignored && it != end; it.increment(ignored)) {
      std::error_code unchanged;
      if (!it->is_symlink(unchanged) && it->is_directory(unchanged)) {
        fs::permissions(it->path(), fs::perms::owner_all, unchanged);
      }
    }
    error.clear();
    fs::remove_all(m_path, error);
  }
}

Result<SubjectFactory::Started> SubjectFactory::start(SubjectKind kind) {
  WB_TRY_ASSIGN(auto scratch, ScratchFolder::create(m_store.folder(),
                                                    fmt::format("scratch-{}", m_next_folder++)));
  ChildSpec spec;
  const std::string folder = scratch.path().string();
  const std::string threads = fmt::to_string(m_setting.threads);
  spec.working_directory = folder;
  spec.env = {{"PATH", "/usr/local/bin:/usr/bin:/bin"},
              {"LANG", "C.UTF-8"},
              {"HOME", folder},
              {"TMPDIR", folder},
              {"OMP_NUM_THREADS", threads},
              {"MKL_NUM_THREADS", threads},
              {"OPENBLAS_NUM_THREADS", threads}};
  spec.confinement.cpus = m_setting.cpus;
  spec.confinement.writable_folder = folder;
  spec.confinement.level = m_setting.isolation;
  spec.confinement.hidden_files = m_setting.hidden_files;
  spec.confinement.address_space_bytes = subject_address_space_bytes();
  if (m_setting.gpu) {
    spec.env.merge(gpu_environment());
    spec.confinement.gpu = true;
    spec.confinement.address_space_bytes = 0;  // the driver reserves addresses for all its memory
    spec.confinement.open_files = k_gpu_open_files;
    spec.confinement.system_calls = k_gpu_system_calls;
  }
  if (kind == SubjectKind::native) {
    spec.argv = {m_setting.own_program, k_subject_role};
    if (m_setting.gpu) spec.argv.push_back(gpu_argument(*m_setting.gpu));
  } else {
    // -I: no environment and no user packages; -B: no bytecode beside the script; -u: output before
    // a crash is kept.
    spec.argv = {m_setting.python, "-I", "-B", "-u", m_setting.python_script};
    if (m_setting.gpu) spec.argv.push_back(gpu_argument(*m_setting.gpu));
    spec.confinement.file_size_bytes = k_python_file_bytes;
    spec.confinement.open_files = k_python_open_files;
    spec.confinement.system_calls.processes = true;
    // Library compilers lock their own caches; without locks they still work.
    if (!m_setting.gpu) spec.confinement.system_calls.locks = SystemCallPolicy::Answer::absent;
  }
  WB_TRY_ASSIGN(SubjectProcess process, SubjectProcess::start(m_registry, spec, kind));
  return Started{std::move(scratch), std::move(process)};
}

void SubjectFactory::start_spares(std::size_t loaded) {
  // A process that creates its context disturbs turns, which wait for it, so none is started when
  // turns are likely to come next.
  const std::size_t wanted = m_setting.gpu ? k_compared - std::min(loaded, k_compared) : k_spares;
  while (m_spares.size() < wanted) {
    // Without a spare the next load starts its own process and reports a failure.
    Result<Started> started = start(SubjectKind::native);
    if (!started.ok()) return;
    m_spares.push_back(*std::move(started));
  }
}

void SubjectFactory::wake(Started& started) {
  if (started.context != Context::asleep) return;
  // A process that cannot be reached has ended, so no answer is awaited.
  auto told = started.process.tell({{"op", "ping"}}, {});
  if (!told.ok()) started.refusal = std::move(told).error();
  started.context = Context::asked;
}

Outcome<void> SubjectFactory::await_context(Started& started, const Wait& wait) {
  wake(started);
  if (started.context == Context::there) return {};
  if (started.refusal) return *started.refusal;
  auto answer = started.process.more(wait);
  if (!answer.ok()) {
    // A late process may still answer.
    if (answer.error().invalidity != Invalidity::timeout) started.refusal = answer.error();
    return std::move(answer).error();
  }
  started.context = Context::there;
  return {};
}

void SubjectFactory::start_python_spares(std::size_t subjects) {
  if (!m_setting.gpu || m_setting.python.empty()) return;
  const std::size_t wanted = std::min(subjects, k_most_python_spares);
  while (m_python_spares.size() < wanted) {
    Result<Started> started = start(SubjectKind::python);
    if (!started.ok()) break;
    m_python_spares.push_back(*std::move(started));
  }
  for (std::size_t i = 0; i < std::min(wanted, m_python_spares.size()); ++i) {
    wake(m_python_spares[i]);
  }
}

void SubjectFactory::await_spares(const Wait& wait) {
  if (!m_setting.gpu) return;
  // A failed start is reported by the load that takes the spare.
  for (Started& spare : m_spares) (void)await_context(spare, wait);
  for (Started& spare : m_python_spares) {
    if (spare.context == Context::asked) (void)await_context(spare, wait);
  }
}

void SubjectFactory::let_python_sleep(std::size_t subjects) {
  drop_awake_python();
  if (!m_setting.gpu || m_setting.python.empty()) return;
  const auto cpus = static_cast<std::size_t>(CPU_COUNT(&m_setting.cpus));
  const std::size_t wanted = std::min({subjects, k_most_python_spares, cpus / k_cpus_a_sleeper});
  while (m_python_spares.size() < wanted) {
    Result<Started> started = start(SubjectKind::python);
    if (!started.ok()) return;
    m_python_spares.push_back(*std::move(started));
  }
}

void SubjectFactory::drop_awake_python() {
  std::erase_if(m_python_spares,
                [](const Started& spare) { return spare.context != Context::asleep; });
}

void SubjectFactory::drop_spares() {
  m_spares.clear();
  m_python_spares.clear();
}

void SubjectFactory::drop_awake() {
  m_spares.clear();  // a compiled subject's process creates its context at once
  drop_awake_python();
}

Result<SubjectFactory::Started> SubjectFactory::take_spare(SubjectKind kind) {
  std::deque<Started>& spares = spares_of(kind);
  if (spares.empty()) return start(kind);
  Started started = std::move(spares.front());
  spares.pop_front();
  return started;
}

Outcome<LoadedSubject> SubjectFactory::finish(Started started, const std::string& label,
                                              Json message, const Wait& wait) {
  message["op"] = "load";
  message["threads"] = m_setting.threads;
  if (m_setting.gpu) {
    // A failed start is the machine's fault, since no variant is loaded yet.
    auto ready = await_context(started, wait);
    if (!ready.ok()) {
      // No variant was loaded yet, so the output is the worker's own.
      return environment(fmt::format("a subject process could not start on the GPU: {} {}",
                                     ready.error().message,
                                     printable(ready.error().untrusted_output, 400)));
    }
  }
  std::optional<SharedMemory> code;
  std::vector<int> fds;
  if (m_setting.gpu && started.process.kind() == SubjectKind::python) {
    WB_TRY_ASSIGN(auto made, fill_code());
    code = std::move(made);
  }
  if (code) {
    message["fill_kernel"] = cuda::k_fill_kernel;
    fds.push_back(code->fd());
  }
  WB_TRY_ASSIGN(auto answer, started.process.ask(std::move(message), fds, wait));
  LoadedSubject subject{label, std::nullopt, std::move(started.scratch), std::move(started.process),
                        Json::object()};
  if (const auto versions = answer.find("versions");
      versions != answer.end() && versions->is_object()) {
    subject.versions = *versions;
  }
  return subject;
}

Outcome<LoadedSubject> SubjectFactory::load_builtin(SubjectKind kind, const std::string& name,
                                                    const Wait& wait, From from) {
  const bool may_wait_already = kind == SubjectKind::native && from == From::spare;
  Result<Started> started = may_wait_already ? take_spare(kind) : start(kind);
  if (!started.ok()) return environment(started.error().message());
  return finish(*std::move(started), name, {{"builtin", name}}, wait);
}

Outcome<LoadedSubject> SubjectFactory::load(const protocol::LoadArgs& args, const Wait& wait) {
  if (args.backend == (m_setting.gpu ? "cuda" : "cpu")) {
    const Result<fs::path> path = m_store.verified_path(args.artifact_sha256);
    if (!path.ok()) return environment(path.error().message());
    Result<Started> started = take_spare(SubjectKind::native);
    if (!started.ok()) {
      return environment("cannot start a subject process: " + started.error().message());
    }
    auto subject = finish(*std::move(started), args.subject,
                          {{"path", path->string()}, {"build_id", args.build_id}}, wait);
    if (subject.ok()) {
      subject->library = path->string();
      subject->build_id = args.build_id;
    }
    return subject;
  }
  if (args.backend != "python") {
    return Failure{Invalidity::constraints,
                   fmt::format("this worker measures on {} and does not run subjects of backend "
                               "\"{}\"",
                               m_setting.gpu ? "a GPU" : "the CPU", printable(args.backend, 40)),
                   {}};
  }
  if (m_setting.python.empty()) {
    return environment(m_setting.no_python.empty() ? "no Python interpreter was looked for yet"
                                                   : m_setting.no_python);
  }
  auto staged = ScratchFolder::create(m_store.folder(), fmt::format("staged-{}", m_next_folder++));
  if (!staged.ok()) return environment(staged.error().message());
  if (const auto written = m_store.materialize(args.files, staged->path()); !written.ok()) {
    return environment(written.error().message());
  }
  Result<Started> started = take_spare(SubjectKind::python);
  if (!started.ok()) return environment(started.error().message());
  auto subject = finish(*std::move(started), args.subject,
                        {{"folder", staged->path().string()}, {"entry", args.entry}}, wait);
  if (subject.ok()) subject->staged.emplace(*std::move(staged));
  return subject;
}

}  // namespace wb::worker
