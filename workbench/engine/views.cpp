// SPDX-License-Identifier: MIT
// Verbs that only read: status, report, show, suites, kernels.
#include <fmt/format.h>

#include <charconv>

#include "engine/context.hpp"
#include "engine/recorded.hpp"
#include "engine/suite_selection.hpp"
#include "engine/verb_bodies.hpp"
#include "report/report.hpp"

namespace wb::engine {

using problem::Suite;
using problem::SuiteProblem;
using session::IterationView;
using session::SessionView;

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

Result<Json> verb_status(const session::Session& session, const Clock& clock) {
  WB_TRY_ASSIGN(const SessionView* current, session.current(session::FoldDepth::brief));
  const SessionView& view = *current;
  WB_TRY_ASSIGN(const SessionSettings settings, settings_from_json(view.opened.payload));
  const auto opened = parse_iso8601(view.opened.t);
  const double elapsed_s =
      opened ? std::chrono::duration<double>(clock.now() - *opened).count() : 0.0;
  const StopDecision stop = stop_decision(view, settings.budget, settings.stop, elapsed_s);
  const auto best = confirmed_gain(view);
  WB_TRY_ASSIGN(const std::string warning, session.warning());
  std::int64_t closed = 0;
  for (const IterationView& iteration : view.iterations) closed += iteration.is_closed() ? 1 : 0;
  return Json{{"status", to_string(view.status)},
              {"iterations", closed},
              {"incumbent", view.incumbent},
              {"best_speedup", best ? Json(*best) : Json(nullptr)},
              {"cost", to_json(view.ledger)},
              {"stop_reason", stop.reason ? Json(*stop.reason) : Json(nullptr)},
              {"warning", warning.empty() ? Json(nullptr) : Json(warning)},
              {"text", (warning.empty() ? "" : "WARNING: " + warning + "\n") +
                           report::render_status(view)}};
}

Result<Json> verb_show(const session::Session& session, const Json& args) {
  const auto id = args["id"].get<std::string>();
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

Result<std::map<std::string, Suite>> load_all_suites(const Services& services) {
  std::map<std::string, Suite> all;
  bool found = false;
  for (const fs::path& root : services.search_path.roots) {
    const fs::path path = root / "kernels" / "suites.json";
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    found = true;
    WB_TRY_ASSIGN(auto suites, problem::load_suites(services.file_system, path));
    all.merge(suites);  // the first root wins
  }
  if (!found) {
    return Error{ErrorCode::not_found, "find", "kernels/suites.json",
                 "no folder of the search path has it", "run in a checkout, or give --path DIR"};
  }
  return all;
}

Result<Suite> suite_from_arguments(Context& context, const Json& args) {
  Suite suite;
  if (args.contains("suite")) {
    WB_TRY_ASSIGN(const auto all, load_all_suites(context.services));
    WB_TRY_ASSIGN(suite, select_problems(all, args["suite"].get<std::string>()));
  }
  if (args.contains("problem")) {
    WB_TRY_ASSIGN(auto problems, problem::parse_problems(args["problem"].get<std::string>()));
    for (problem::Problem& problem : problems)
      suite.problems.push_back({std::move(problem), 1.0, false});
    suite.name += suite.name.empty() ? "problem" : "+problems";
  }
  if (suite.problems.empty()) {
    return Error{
        ErrorCode::usage, "find", "the problems", "neither a suite nor a problem was named",
        "give --suite NAME (see `sdpa-wb suites`) or --problem 'B=1 Hq=8 Sq=512 D=64 f32'"};
  }
  // Two suites may share a problem: it counts once.
  std::vector<SuiteProblem> unique;
  for (SuiteProblem& member : suite.problems) {
    const bool known = std::any_of(unique.begin(), unique.end(), [&](const SuiteProblem& other) {
      return to_text(other.problem) == to_text(member.problem);
    });
    if (!known) unique.push_back(std::move(member));
  }
  suite.problems = std::move(unique);
  return suite;
}

Result<Json> verb_suites(Context& context, const Json& args) {
  WB_TRY_ASSIGN(const auto all, load_all_suites(context.services));
  Json rows = Json::array();
  const auto add_row = [&](const Suite& suite) -> Json& {
    rows.push_back(
        {{"name", suite.name}, {"about", suite.about}, {"count", suite.problems.size()}});
    return rows.back();
  };
  if (!args.contains("suite")) {
    for (const auto& entry : all) add_row(entry.second);
    return Json{{"suites", std::move(rows)}};
  }
  WB_TRY_ASSIGN(const Suite suite, select_problems(all, args["suite"].get<std::string>()));
  Json& problems = add_row(suite)["problems"] = Json::array();
  for (const SuiteProblem& member : suite.problems) {
    if (member.held_out) continue;
    problems.push_back({{"name", member.problem.name},
                        {"problem", to_text(member.problem)},
                        {"weight", member.weight}});
  }
  return Json{{"suites", std::move(rows)}};
}

Result<Json> verb_kernels(Context& context, const Json& args) {
  Json rows = Json::array();
  std::optional<std::string> name;
  if (args.contains("name")) name = args["name"].get<std::string>();
  for (const auto& [entry, variant] : context.catalogue.read_all(name)) {
    if (!variant) {
      rows.push_back({{"name", entry.name}, {"fault", variant.error().message()}});
      continue;
    }
    const variant::Manifest& manifest = variant->manifest;
    rows.push_back({{"name", manifest.name},
                    {"about", manifest.about},
                    {"backend", to_string(manifest.backend)},
                    {"label", label(*variant)},
                    {"parent", manifest.parent},
                    {"parameters", manifest.tune_params},
                    {"defaults", variant::to_json(manifest.defaults)},
                    {"techniques", manifest.techniques},
                    {"folder", (entry.kernels_root / entry.name).string()}});
  }
  if (rows.empty() && name) WB_TRY(context.catalogue.find(*name));  // gives the did-you-mean
  return Json{{"kernels", std::move(rows)}};
}

}  // namespace wb::engine
