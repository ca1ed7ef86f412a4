// SPDX-License-Identifier: MIT
// `build`: the compiled artifact and the compiler's output; needs no device.
#include <fmt/format.h>

#include <algorithm>

#include "core/json.hpp"
#include "engine/subject.hpp"
#include "verbs/arguments.hpp"
#include "verbs/shown.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using engine::Context;
using engine::Subject;
using variant::Backend;

namespace {

std::string resources_line(const variant::KernelResources& kernel) {
  return fmt::format(
      "{:4} registers, {} bytes stack, {}/{} bytes spilled (stores/loads), {} bytes shared, {} "
      "barriers  {}\n",
      kernel.registers, kernel.stack_bytes, kernel.spill_store_bytes, kernel.spill_load_bytes,
      kernel.shared_bytes, kernel.barriers, kernel.kernel);
}

/// Compiler output other than ptxas' figures, which are shown separately: warnings of nvcc and of
/// the host compiler, without quoted source (which is indented like ptxas' figures).
std::string other_words(std::string_view log) {
  constexpr std::size_t k_lines_max = 40, k_line_max_bytes = 300;
  std::string text;
  std::size_t lines = 0;
  for (std::size_t begin = 0; begin < log.size();) {
    const std::size_t end = std::min(log.find('\n', begin), log.size());
    const std::string_view line = log.substr(begin, end - begin);
    begin = end + 1;
    if (line.empty() || line.starts_with("ptxas ") || line.starts_with("    ")) continue;
    if (++lines <= k_lines_max) text += variant::cut_in_the_middle(line, k_line_max_bytes) + "\n";
  }
  if (lines > k_lines_max) {
    text += fmt::format("{} more lines were left out\n", lines - k_lines_max);
  }
  return text;
}

/// `why_target`: why the target is not the device's; may be empty.
std::string build_text(const Subject& subject, const std::string& why_target) {
  const variant::BuildRecord& record = subject.artifact.record;
  std::string text = fmt::format(
      "{}: {}\n{}, {}\n", subject.label,
      record.cached
          ? std::string("from the cache")
          : fmt::format("built in {:.1f} s ({:.1f} s of CPU time)", record.wall_s, record.cpu_s),
      record.compiler.empty() ? "nothing to compile" : record.compiler,
      subject.artifact.path.string());
  if (!record.target.empty()) {
    text += fmt::format("target {}{}\n", record.target,
                        why_target.empty() ? "" : ", its manifest's first: " + why_target);
  }
  for (const variant::KernelResources& kernel : record.ptxas.kernels)
    text += resources_line(kernel);
  if (record.ptxas.kernels_left_out > 0) {
    text += fmt::format("{} more kernels were left out, of which {} spill\n",
                        record.ptxas.kernels_left_out, record.ptxas.spilling_left_out);
  }
  for (const variant::PtxasWarning& warning : record.ptxas.warnings) {
    text += fmt::format("warning {}: {}{}{}\n", warning.code, warning.text,
                        warning.kernel.empty() ? "" : ", in ", warning.kernel);
  }
  if (record.ptxas.warnings_left_out > 0) {
    text += fmt::format("{} more warnings were left out\n", record.ptxas.warnings_left_out);
  }
  // A C++ compiler that succeeds prints only warnings.
  const bool is_cuda = subject.variant.manifest.backend == Backend::cuda;
  return text + (is_cuda ? other_words(record.log) : record.log);
}

Result<Json> build_body(Context& context, const Json& args) {
  WB_TRY_ASSIGN(const auto resolved, resolve_variant(context, args["variant"].get<std::string>()));
  WB_TRY_ASSIGN(const std::string why_target, detect_cuda_device(context, resolved.first, args));
  WB_TRY_ASSIGN(const Subject subject,
                subject_from_arguments(context, args, "variant", args.value("target", "")));
  const variant::BuildRecord& record = subject.artifact.record;
  const Json ptxas = to_json(record.ptxas);
  return Json{{"variant", subject.label},
              {"artifact_id", subject.artifact.id},
              {"library", subject.artifact.path.string()},
              {"target", record.target},
              {"why_target", why_target},
              {"cached", record.cached},
              {"compiler", record.compiler},
              {"wall_s", record.wall_s},
              {"cpu_s", record.cpu_s},
              {"kernels", ptxas["kernels"]},
              {"kernels_left_out", ptxas["kernels_left_out"]},
              {"spilling_left_out", ptxas["spilling_left_out"]},
              {"warnings", ptxas["warnings"]},
              {"warnings_left_out", ptxas["warnings_left_out"]},
              {"codes_left_out", ptxas["codes_left_out"]},
              {"log", record.log},
              {"text", build_text(subject, why_target)}};
}

}  // namespace

const Verb& verb_build() {
  static const Verb verb{
      .spec =
          {.name = "build",
           .doc = "compile a variant, or find it in the cache; a CUDA one needs nvcc and no GPU",
           .session = SessionNeed::optional,
           .arguments = {variant_argument(), configuration_argument(), target_argument()},
           .result =
               {{"variant", "string: label"},
                {"artifact_id", "string: of what was built"},
                {"library", "string: path of the shared library, or of a Python folder"},
                {"target", "string: what it was compiled for"},
                {"why_target",
                 "string: why the target is the manifest's first and not the device's; else empty"},
                {"cached", "bool: nothing was compiled"},
                {"compiler", "string: its version"},
                {"wall_s", "real: compile time, 0 when cached (s)"},
                {"cpu_s", "real: the same in CPU time (s)"},
                {"kernels",
                 "list: what ptxas says of each GPU kernel (docs/contracts/kernel_abi.md)"},
                {"kernels_left_out", "int: kernels that had no room"},
                {"spilling_left_out", "int: those of them that spill registers"},
                {"warnings", "list: of ptxas, about lost performance: code, text, kernel"},
                {"warnings_left_out", "int: warnings that had no room"},
                {"codes_left_out", "map: code to how many of it had no room"},
                {"log", "string: the compiler's words"},
                {"text", "string: the same for people"}},
           .is_long = true},
      .body = [](const Call& call) { return build_body(call.context, call.args); }};
  return verb;
}

}  // namespace wb::verbs
