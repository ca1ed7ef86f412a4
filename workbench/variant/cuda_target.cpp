// SPDX-License-Identifier: MIT
#include "variant/cuda_target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/hash.hpp"
#include "core/process.hpp"

namespace wb::variant {

namespace {

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// The target for a device of that number from a source written for `written`; nothing when it
/// cannot run it.
std::optional<CudaTarget> served(CudaTarget written, int number) {
  if (written.suffix == 'a') {
    return written.number == number ? std::optional(written) : std::nullopt;
  }
  if (written.number > number) return std::nullopt;
  if (written.suffix == 'f') {
    const bool same_family = written.number / 10 == number / 10;
    return same_family ? std::optional(CudaTarget{number, 'f'}) : std::nullopt;
  }
  return CudaTarget{number, 0};
}

/// The most specific target that the list allows for that device: its own, its family's, plain.
std::optional<CudaTarget> best_for(const std::vector<std::string>& architectures, int number) {
  if (architectures.empty()) return CudaTarget{number, 0};
  const auto rank = [](CudaTarget target) {
    return target.suffix == 'a' ? 2 : target.suffix == 'f' ? 1 : 0;
  };
  std::optional<CudaTarget> best;
  for (const std::string& word : architectures) {
    const auto written = parse_cuda_target(word);
    const auto target = written ? served(*written, number) : std::nullopt;
    if (target && (!best || rank(*target) > rank(*best))) best = target;
  }
  return best;
}

Error no_target(ErrorCode code, std::string cause, std::string next) {
  return Error{code, "choose the target of", "a CUDA build", std::move(cause), std::move(next)};
}

}  // namespace

std::optional<CudaTarget> parse_cuda_target(std::string_view word) {
  if (!word.starts_with("sm_")) return std::nullopt;
  word.remove_prefix(3);
  CudaTarget target;
  const char* end = word.data() + word.size();
  const auto [stop, fault] = std::from_chars(word.data(), end, target.number);
  const auto digits = stop - word.data();
  if (fault != std::errc() || word[0] == '-' || digits < 2 || digits > 3) return std::nullopt;
  if (stop == end) return target;
  target.suffix = *stop;
  const bool known = target.suffix == 'a' || target.suffix == 'f';
  return known && stop + 1 == end ? std::optional(target) : std::nullopt;
}

std::string to_text(CudaTarget target) {
  return "sm_" + fmt::to_string(target.number) +
         (target.suffix == 0 ? std::string() : std::string(1, target.suffix));
}

std::string gencode_of(CudaTarget target) {
  const std::string code = to_text(target);
  return "arch=compute_" + code.substr(3) + ",code=" + code;
}

Result<std::string> choose_cuda_target(const std::vector<std::string>& architectures,
                                       std::string_view device, std::string_view wanted) {
  const bool has_wish = !wanted.empty() && wanted != "native";
  if (!has_wish && device.empty()) {
    if (architectures.empty()) {
      return no_target(ErrorCode::environment,
                       "there is no device, and its manifest names no architecture",
                       "give --target, such as sm_90a");
    }
    if (parse_cuda_target(architectures.front())) return architectures.front();
    return no_target(ErrorCode::invalid,
                     "\"" + architectures.front() + "\" in its manifest is no CUDA architecture",
                     "name one such as sm_80 or sm_90a under \"architectures\"");
  }
  const std::string_view word = has_wish ? wanted : device;
  const auto asked = parse_cuda_target(word);
  if (!asked) {
    return no_target(ErrorCode::invalid, "\"" + std::string(word) + "\" is no CUDA architecture",
                     "name one such as sm_80, sm_90a or sm_100f");
  }
  auto best = best_for(architectures, asked->number);
  if (!best) {
    return no_target(ErrorCode::invalid,
                     "it is written for " + listed(architectures) + ", not for " + to_text(*asked),
                     has_wish ? "give --target one of these, or extend \"architectures\""
                              : "use a device that it is written for, or --target to build only");
  }
  if (has_wish && best->suffix == 0) best->suffix = asked->suffix;
  return to_text(*best);
}

namespace {

constexpr const char* k_nvcc_remedy =
    "install the CUDA toolkit, or name nvcc with --nvcc, CUDACXX or CUDA_HOME";

Error no_nvcc(const std::string& where, const std::string& cause) {
  return Error{ErrorCode::environment, "find nvcc", where, cause, k_nvcc_remedy};
}

bool holds_toolkit(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / "nvcc", error) && fs::exists(folder / "ptxas", error);
}

/// The folder of the real nvcc, by its own output: distributions put links and scripts into PATH,
/// and an upgrade behind them would go unnoticed.
Result<fs::path> toolkit_folder(const fs::path& nvcc) {
  WB_TRY_ASSIGN(const auto words,
                ask_compiler(nvcc, {"--dryrun", "-x", "cu", "/dev/null"}, k_nvcc_remedy));
  constexpr std::string_view k_here = "_HERE_=";
  if (const std::size_t at = words.find(k_here); at != std::string::npos) {
    const fs::path folder = first_line_of(words.substr(at + k_here.size()));
    if (folder.is_absolute() && holds_toolkit(folder)) return folder;
  }
  if (holds_toolkit(nvcc.parent_path())) return nvcc.parent_path();
  return no_nvcc(nvcc.string(), "it does not say where its toolkit lies: no ptxas beside it");
}

Result<Toolkit> find_toolkit(const CudaPlaces& places) {
  Toolkit toolkit;
  WB_TRY_ASSIGN(toolkit.asked, find_nvcc(places));
  WB_TRY_ASSIGN(toolkit.host, find_host_compiler(places));
  WB_TRY_ASSIGN(const fs::path folder, toolkit_folder(toolkit.asked));
  toolkit.nvcc = folder / "nvcc";
  toolkit.ptxas = folder / "ptxas";
  std::error_code error;
  const fs::path cicc = folder.parent_path() / "nvvm" / "bin" / "cicc";
  if (fs::exists(cicc, error)) toolkit.cicc = cicc;
  return toolkit;
}

/// "13.0.88" of "Cuda compilation tools, release 13.0, V13.0.88"; else the first line.
std::string version_word(const std::string& text) {
  const std::size_t at = text.find(", V");
  if (at == std::string::npos) return first_line_of(text);
  const std::string rest = first_line_of(text.substr(at + 3));
  return rest.substr(0, rest.find_first_of(" ,\r"));
}

}  // namespace

Result<fs::path> find_host_compiler(const CudaPlaces& places) {
  const std::string name = places.host_compiler.empty() ? "g++" : places.host_compiler;
  auto path = find_program(name);
  if (path.ok()) return path;
  return Error{ErrorCode::environment, "find nvcc's host compiler", name, path.error().cause,
               "install g++, or name another with --host-compiler"};
}

Result<AskedToolkit> ask_toolkit(const CudaPlaces& places) {
  WB_TRY_ASSIGN(const Toolkit toolkit, find_toolkit(places));
  AskedIdentity answer;
  answer.programs = {toolkit.asked, toolkit.nvcc, toolkit.ptxas, toolkit.host};
  if (!toolkit.cicc.empty()) answer.programs.push_back(toolkit.cicc);
  WB_TRY_ASSIGN(const std::string version,
                ask_compiler(toolkit.nvcc, {"--version"}, k_nvcc_remedy));
  WB_TRY_ASSIGN(const std::string host,
                ask_compiler(toolkit.host, {"--version"}, "name another with --host-compiler"));
  std::string key = version + "\n" + first_line_of(host);
  for (const fs::path& program : answer.programs) {
    WB_TRY_ASSIGN(const std::string stamp, binary_stamp(program));
    key += "\n" + stamp;
  }
  answer.identity.path = toolkit.nvcc.string();
  answer.identity.version = "nvcc " + version_word(version) + ", " + first_line_of(host);
  answer.identity.signature = sha256_hex(key);
  return AskedToolkit{toolkit, std::move(answer)};
}

Result<fs::path> find_nvcc(const CudaPlaces& places) {
  for (const auto& [program, option] :
       {std::pair{places.nvcc, "--nvcc"}, std::pair{places.cudacxx, "the variable CUDACXX"}}) {
    if (program.empty()) continue;
    auto path = find_program(program);
    if (path.ok()) return path;
    return no_nvcc(program, std::string(option) + " names it, and " + path.error().cause);
  }
  std::string looked_at;
  for (const std::string& folder : {places.home, places.toolkit}) {
    if (folder.empty()) continue;
    const fs::path program = fs::path(folder) / "bin" / "nvcc";
    if (auto path = find_program(program.string()); path.ok()) return path;
    looked_at += program.string() + ", ";
  }
  if (auto path = find_program("nvcc"); path.ok()) return path;
  const fs::path usual = "/usr/local/cuda/bin/nvcc";
  if (auto path = find_program(usual.string()); path.ok()) return path;
  return no_nvcc(looked_at + "PATH and " + usual.string(), "it is in none of these places");
}

}  // namespace wb::variant
