// SPDX-License-Identifier: MIT
// `build`, and `show` of a variant's code: what the compiler made and said, with no device needed.
#include <fmt/format.h>

#include <algorithm>

#include "engine/building.hpp"
#include "engine/recorded.hpp"
#include "engine/verb_bodies.hpp"

namespace wb::engine {

using variant::Backend;
using variant::Variant;

namespace {

std::string resources_line(const variant::KernelResources& kernel) {
  return fmt::format(
      "{:4} registers, {} bytes stack, {}/{} bytes spilled (stores/loads), {} bytes shared, {} "
      "barriers  {}\n",
      kernel.registers, kernel.stack_bytes, kernel.spill_store_bytes, kernel.spill_load_bytes,
      kernel.shared_bytes, kernel.barriers, kernel.kernel);
}

/// What the compiler said beside ptxas' lines, whose figures are shown: warnings of nvcc and of the
/// host compiler, without the source that they quote (it is indented as ptxas' figures are).
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
  // A C++ compiler that built something speaks only to warn.
  const bool is_cuda = subject.variant.manifest.backend == Backend::cuda;
  return text + (is_cuda ? other_words(record.log) : record.log);
}

/// A CUDA build follows the device, which costs the start of a worker: spared where the user names
/// a target, or names none and the manifest leaves no choice. Returns why there is no GPU to follow
/// (the device is none, the machine is too busy to tell), which the answer repeats; empty when
/// there is one, or none is asked for. Errors: canceled.
Result<std::string> look_for_device(Context& context, const Variant& variant, const Json& args) {
  const std::string wanted = args.value("target", "");
  const auto& words = variant.manifest.architectures;
  const bool has_choice = words.size() != 1 || !words.front().ends_with('a');
  const bool follows = wanted == "native" || (wanted.empty() && has_choice);
  if (variant.manifest.backend != Backend::cuda || !follows) return std::string();
  context.use_device_of(variant.manifest);
  if (!context.device) {
    const auto worker = context.need_worker();
    WB_TRY(context.check_stop());
    if (!worker) return worker.error().message;
  }
  if (context.device->backend == "cuda") return std::string();
  return "the device here is " + context.device->name;
}

/// The form that is asked for: "source", "ptx" or "sass". Errors: usage (more than one).
Result<std::string> form_of(const Json& args) {
  std::string form;
  for (const char* name : {"source", "ptx", "sass"}) {
    if (!args.value(name, false)) continue;
    if (!form.empty()) {
      return Error{ErrorCode::usage, "show", args["id"].get<std::string>(),
                   fmt::format("both {} and {} are asked for", form, name), "ask for one of them"};
    }
    form = name;
  }
  return form;
}

Result<std::pair<Variant, variant::Configuration>> variant_to_show(Context& context,
                                                                   const session::Session* session,
                                                                   const std::string& id) {
  const bool is_label = id.find('@') != std::string::npos;
  if (session == nullptr || !is_label) return resolve_variant(context, id);
  WB_TRY_ASSIGN(const session::SessionView* view, session->current(session::FoldDepth::full));
  return stored_variant(*session, *view, id);
}

std::string source_text(const Variant& variant) {
  std::string text;
  for (const auto& [path, content] : variant.files) {
    text += fmt::format("==> {}\n{}\n", path, content);
  }
  return text;
}

}  // namespace

Result<Json> verb_build(Context& context, const Json& args) {
  WB_TRY_ASSIGN(const auto resolved, resolve_variant(context, args["variant"].get<std::string>()));
  WB_TRY_ASSIGN(const std::string why_target, look_for_device(context, resolved.first, args));
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

bool asks_for_code(const Json& args) {
  return args.value("source", false) || args.value("ptx", false) || args.value("sass", false);
}

Result<Json> verb_show_code(Context& context, const session::Session* session, const Json& args) {
  const auto id = args["id"].get<std::string>();
  WB_TRY_ASSIGN(const std::string form, form_of(args));
  WB_TRY_ASSIGN(auto resolved, variant_to_show(context, session, id));
  const Variant& variant = resolved.first;
  const Json given = args.value("configuration", Json::object());
  for (const auto& [name, value] : given.items()) {
    resolved.second[name] = value.get<std::int64_t>();
  }
  if (form == "source") {
    return Json{{"kind", form},
                {"value", {{"variant", label(variant)}, {"target", nullptr}}},
                {"text", source_text(variant)}};
  }
  const auto failed = [&](const Failure& failure) {
    Error error = error_of_build(variant, failure);
    error.attempted = "show the " + form + " of";
    return error;
  };
  WB_TRY_ASSIGN(const std::string why_target, look_for_device(context, variant, args));
  const std::string wanted = args.value("target", "");
  const variant::Toolchain* toolchain = toolchain_of(context.services, variant.manifest.backend);
  const auto options = build_options_for(context, variant.manifest, wanted);
  if (!options) return failed(options.error());
  if (toolchain == nullptr) {
    return failed({Invalidity::constraints,
                   fmt::format("backend {} has none; --source shows any variant",
                               to_string(variant.manifest.backend)),
                   ""});
  }
  Subject subject;
  subject.configuration = resolved.second;
  if (form == "sass" && variant.manifest.backend == Backend::cuda) {
    auto built = build_only(context, variant, resolved.second, wanted);
    if (!built) return failed(built.error());
    subject = *std::move(built);
  } else {
    auto completed = variant::complete_configuration(variant.manifest, resolved.second);
    if (!completed) return completed.error();
    subject.configuration = *std::move(completed);
  }
  const auto text =
      toolchain->listing(form == "ptx" ? variant::Listing::ptx : variant::Listing::sass, variant,
                         subject.configuration, *options, subject.artifact.path);
  if (!text) return failed(text.error());
  return Json{
      {"kind", form},
      {"value",
       {{"variant", label(variant)}, {"target", options->target}, {"why_target", why_target}}},
      {"text", *text}};
}

}  // namespace wb::engine
