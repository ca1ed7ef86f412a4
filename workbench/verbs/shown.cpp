// SPDX-License-Identifier: MIT
#include "verbs/shown.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "core/json.hpp"
#include "engine/parts.hpp"
#include "engine/recorded.hpp"
#include "engine/subject.hpp"
#include "engine/worker.hpp"
#include "report/report.hpp"
#include "variant/restriction.hpp"

namespace wb::verbs {

using engine::Context;
using engine::error_of_build;
using engine::stored_variant;
using engine::Subject;
using session::IterationView;
using session::SessionView;
using variant::Backend;
using variant::Variant;

namespace {

std::optional<std::int64_t> number_after(std::string_view id, char prefix) {
  if (id.size() < 2 || id.front() != prefix) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, fault] = std::from_chars(id.data() + 1, id.data() + id.size(), number);
  if (fault != std::errc() || end != id.data() + id.size()) return std::nullopt;
  return number;
}

Error unknown_id(const std::string& id, const std::string& what) {
  return Error{ErrorCode::not_found, "show", id, what,
               "ids are e12 (event), i3 (iteration) or a label such as name@1f0c44aa"};
}

}  // namespace

Result<Json> show_id(const session::Session& session, const std::string& id) {
  if (const auto seq = number_after(id, 'e')) {
    if (*seq < 1 || *seq > session.log().size()) {
      return unknown_id(id, fmt::format("the log has events e1 to e{}", session.log().size()));
    }
    WB_TRY_ASSIGN(const session::Event event, session.log().event(*seq));
    return Json{
        {"kind", "event"},
        {"value",
         {{"seq", event.seq}, {"t", event.t}, {"type", event.type}, {"payload", event.payload}}},
        {"text", report::render_event(event)}};
  }
  WB_TRY_ASSIGN(const SessionView* current, session.current(session::FoldDepth::full));
  const SessionView& view = *current;
  if (const auto number = number_after(id, 'i')) {
    const IterationView* iteration = view.find(*number);
    if (iteration == nullptr) return unknown_id(id, "there is no such iteration");
    return Json{{"kind", "iteration"},
                {"value", report::iteration_json(view, *iteration)},
                {"text", report::render_iteration(view, *iteration)}};
  }
  for (const IterationView& iteration : view.iterations) {
    for (const session::Fact& built : iteration.built) {
      if (built.payload.value("subject", "") != id) continue;
      WB_TRY_ASSIGN(const auto files,
                    session.load_variant_files(built.payload.value("variant_id", "")));
      std::string text;
      for (const auto& [path, content] : files) text += fmt::format("==> {}\n{}\n", path, content);
      return Json{{"kind", "variant"},
                  {"value", {{"built", built.payload}, {"files", files}}},
                  {"text", text}};
    }
  }
  return unknown_id(id, "nothing of that name is in the session");
}

Result<std::string> detect_cuda_device(Context& context, const Variant& variant, const Json& args) {
  const std::string wanted = args.value("target", "");
  const auto& words = variant.manifest.architectures;
  const bool has_choice = words.size() != 1 || !words.front().ends_with('a');
  const bool follows = wanted == "native" || (wanted.empty() && has_choice);
  if (variant.manifest.backend != Backend::cuda || !follows) return std::string();
  worker_of(context).use_device_of(variant.manifest);
  if (!worker_of(context).device) {
    const auto worker = worker_of(context).need();
    WB_TRY(check_stop(context));
    if (!worker) return worker.error().message;
  }
  if (worker_of(context).device->backend == "cuda") return std::string();
  return "the device here is " + worker_of(context).device->name;
}

bool asks_for_code(const Json& args) {
  return args.value("source", false) || args.value("ptx", false) || args.value("sass", false);
}

namespace {

/// The requested form: "source", "ptx" or "sass". Errors: usage (more than one).
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
  WB_TRY_ASSIGN(const SessionView* view, session->current(session::FoldDepth::full));
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

Result<Json> show_code(Context& context, const session::Session* session, const Json& args) {
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
  WB_TRY_ASSIGN(const std::string why_target, detect_cuda_device(context, variant, args));
  const std::string wanted = args.value("target", "");
  const variant::Toolchain* toolchain =
      toolchain_of(services_of(context), variant.manifest.backend);
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

}  // namespace wb::verbs
