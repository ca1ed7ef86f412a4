// SPDX-License-Identifier: MIT
#include "variant/compiler.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "core/process.hpp"

namespace wb::variant {

namespace {

constexpr std::uint64_t k_identity_max_bytes = 64u << 10;

/// The identity in that file, if all its programs are unchanged.
std::optional<CompilerIdentity> read_identity(const RealFileSystem& file_system,
                                              const fs::path& file, const std::string& key) {
  const auto text = file_system.read(file, k_identity_max_bytes);
  if (!text.ok()) return {};
  const auto json = parse_json(*text, file.string());
  if (!json.ok()) return {};
  ObjectReader reader(*json, file.string());
  CompilerIdentity known{reader.string("path"), reader.string("version"),
                         reader.string("signature"), reader.string("linker")};
  const std::string asked_as = reader.string("asked_as");
  const Json* programs = reader.member("programs");
  if (!reader.finish().ok() || asked_as != key) return {};
  if (programs == nullptr || !programs->is_object() || programs->empty()) return {};
  for (const auto& [path, stamp] : programs->items()) {
    const auto now = binary_stamp(path);
    if (!now.ok() || stamp != *now) return {};
  }
  return known;
}

}  // namespace

std::map<std::string, std::string> compiler_environment(const fs::path& compiler,
                                                        const fs::path& temporary) {
  return {{"PATH", compiler.parent_path().string() + ":/usr/local/bin:/usr/bin:/bin"},
          {"LC_ALL", "C"},
          {"TMPDIR", temporary.string()}};
}

Result<std::string> binary_stamp(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return errno_error("look at the compiler", path, errno);
  return path.string() + " " + fmt::to_string(info.st_size) + " " +
         fmt::to_string(info.st_mtim.tv_sec) + "." + fmt::to_string(info.st_mtim.tv_nsec);
}

std::string first_line_of(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

Result<std::string> ask_compiler(const fs::path& compiler, std::vector<std::string> arguments,
                                 const std::string& remedy) {
  ProcessSpec spec;
  spec.argv = std::move(arguments);
  spec.argv.insert(spec.argv.begin(), compiler.string());
  spec.env = compiler_environment(compiler, "/tmp");
  spec.clear_env = true;
  spec.deadline = std::chrono::seconds(20);
  const auto outcome = run_process(spec);
  const auto fault = [&](const std::string& cause) {
    return Error{ErrorCode::environment, "ask the compiler for its version", compiler.string(),
                 cause, remedy};
  };
  // A general failure to start processes is no fault of the compiler and keeps its own advice.
  if (!outcome.ok() && outcome.error().code == ErrorCode::environment) return outcome.error();
  if (!outcome.ok()) return fault(outcome.error().cause);
  if (outcome->timed_out) return fault("it did not answer within 20 s");
  std::string words = outcome->out + outcome->err;
  if (!outcome->success() || words.empty()) return fault("it failed: " + first_line_of(words));
  return words;
}

Result<CompilerIdentity> remember_identity(const fs::path& folder, const std::string& key,
                                           const std::function<Result<AskedIdentity>()>& ask) {
  RealFileSystem file_system;
  const fs::path file = folder / (sha256_hex(key) + ".json");
  if (auto known = read_identity(file_system, file, key)) return *std::move(known);
  WB_TRY_ASSIGN(const AskedIdentity asked, ask());
  Json programs = Json::object();
  for (const fs::path& program : asked.programs) {
    WB_TRY_ASSIGN(const std::string stamp, binary_stamp(program));
    programs[program.string()] = stamp;
  }
  const Json json = {{"path", asked.identity.path},
                     {"version", asked.identity.version},
                     {"signature", asked.identity.signature},
                     {"linker", asked.identity.linker},
                     {"asked_as", key},
                     {"programs", programs}};
  // A cache only saves time, so a read-only folder is no error.
  if (file_system.make_directories(folder).ok()) {
    static_cast<void>(file_system.write_atomic(file, json.dump(2) + "\n", Durability::none).ok());
  }
  return asked.identity;
}

Result<CompilerIdentity> IdentityMemory::identity(
    const fs::path& compiler, const std::function<Result<AskedIdentity>()>& ask) {
  const std::lock_guard lock(m_mutex);
  const bool is_unchanged = std::all_of(m_stamps.begin(), m_stamps.end(), [](const auto& known) {
    const auto now = binary_stamp(known.first);
    return now.ok() && *now == known.second;
  });
  if (m_identity && m_compiler == compiler && is_unchanged) return *m_identity;
  m_identity.reset();
  m_stamps.clear();
  WB_TRY_ASSIGN(const AskedIdentity asked, ask());
  for (const fs::path& program : asked.programs) {
    WB_TRY_ASSIGN(m_stamps[program], binary_stamp(program));
  }
  m_compiler = compiler;
  m_identity = asked.identity;
  return asked.identity;
}

namespace {

/// Excluded on purpose: -Ofast and -ffast-math (they assume no infinities, which masks contain, and
/// linking with them changes the rounding mode of the whole process); -fopenmp (its threads spin
/// after a call); everything that names a file or a program.
constexpr std::array<std::string_view, 52> k_flags = {
    "-O1",
    "-O2",
    "-O3",
    "-fassociative-math",
    "-ffp-contract=fast",
    "-ffp-contract=off",
    "-ffp-contract=on",
    "-fno-exceptions",
    "-fno-math-errno",
    "-fno-rtti",
    "-fno-signed-zeros",
    "-fno-trapping-math",
    "-fno-tree-vectorize",
    "-fomit-frame-pointer",
    "-fopenmp-simd",
    "-fprefetch-loop-arrays",
    "-freciprocal-math",
    "-fstrict-aliasing",
    "-ftree-vectorize",
    "-funroll-all-loops",
    "-funroll-loops",
    "-fvect-cost-model=cheap",
    "-fvect-cost-model=dynamic",
    "-fvect-cost-model=unlimited",
    "-mamx-bf16",
    "-mamx-int8",
    "-mamx-tile",
    "-march=native",
    "-march=x86-64",
    "-march=x86-64-v2",
    "-march=x86-64-v3",
    "-march=x86-64-v4",
    "-mavx",
    "-mavx2",
    "-mavx512bf16",
    "-mavx512bw",
    "-mavx512cd",
    "-mavx512dq",
    "-mavx512f",
    "-mavx512fp16",
    "-mavx512vbmi",
    "-mavx512vl",
    "-mavx512vnni",
    "-mbmi",
    "-mbmi2",
    "-mf16c",
    "-mfma",
    "-mpopcnt",
    "-mprefer-vector-width=128",
    "-mprefer-vector-width=256",
    "-mprefer-vector-width=512",
    "-mtune=native",
};
static_assert(std::is_sorted(k_flags.begin(), k_flags.end()));

/// Excluded on purpose: -O (ptxas has its own level below), -std and -arch, which every build sets;
/// -rdc and -dlto (one file is one library); -Xcompiler and -Xlinker, which could name anything;
/// everything that names a file or a program.
constexpr std::array<std::string_view, 36> k_cuda_flags = {
    "--expt-extended-lambda",
    "--expt-relaxed-constexpr",
    "--extra-device-vectorization",
    "--use_fast_math",
    "-Xptxas=--allow-expensive-optimizations=true",
    "-Xptxas=--def-load-cache=ca",
    "-Xptxas=--def-load-cache=cg",
    "-Xptxas=--disable-optimizer-constants",
    "-Xptxas=-O1",
    "-Xptxas=-O2",
    "-Xptxas=-O3",
    "-fmad=false",
    "-fmad=true",
    "-ftz=false",
    "-ftz=true",
    "-lineinfo",
    "-maxrregcount=104",
    "-maxrregcount=112",
    "-maxrregcount=128",
    "-maxrregcount=144",
    "-maxrregcount=160",
    "-maxrregcount=168",
    "-maxrregcount=192",
    "-maxrregcount=216",
    "-maxrregcount=224",
    "-maxrregcount=232",
    "-maxrregcount=240",
    "-maxrregcount=255",
    "-maxrregcount=64",
    "-maxrregcount=80",
    "-maxrregcount=96",
    "-prec-div=false",
    "-prec-div=true",
    "-prec-sqrt=false",
    "-prec-sqrt=true",
    "-restrict",
};
static_assert(std::is_sorted(k_cuda_flags.begin(), k_cuda_flags.end()));

}  // namespace

std::span<const std::string_view> allowed_cuda_flags() {
  return k_cuda_flags;
}

bool is_allowed_cuda_flag(std::string_view flag) {
  return std::binary_search(k_cuda_flags.begin(), k_cuda_flags.end(), flag);
}

std::span<const std::string_view> allowed_cpu_flags() {
  return k_flags;
}

bool is_allowed_cpu_flag(std::string_view flag) {
  return std::binary_search(k_flags.begin(), k_flags.end(), flag);
}

bool is_cpu_target(std::string_view target) {
  if (target.empty() || target.size() > 32 || target[0] == '-') return false;
  return std::all_of(target.begin(), target.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '+';
  });
}

}  // namespace wb::variant
