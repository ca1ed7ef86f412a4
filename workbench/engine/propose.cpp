// SPDX-License-Identifier: MIT
// `propose` and `propose_many`: a variant is stored, compiled and judged, and not timed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/agent_verbs.hpp"
#include "engine/building.hpp"
#include "engine/recorded.hpp"
#include "engine/verb_bodies.hpp"

namespace wb::engine {

using variant::Variant;

namespace {

constexpr std::size_t k_words_max_bytes = 8192;  ///< of the compiler, in the answer

/// A parent need not have been built: what the compiler refused is where the next edit starts.
Result<std::pair<Variant, variant::Configuration>> read_parent(Context& context,
                                                               const std::string& id) {
  auto resolved = resolve_variant(context, id);
  if (resolved || id.find('@') == std::string::npos) return resolved;
  WB_TRY_ASSIGN(const session::SessionView* view,
                context.session->current(session::FoldDepth::full));
  const Json* found = find_proposed(*view, id);
  if (found == nullptr) return resolved;
  WB_TRY_ASSIGN(Variant variant, load_stored(*context.session, id, text_of(*found, "variant_id")));
  return std::pair{std::move(variant), configuration_of(member_of(*found, "configuration"))};
}

/// Its own files, by their paths inside its folder.
std::map<std::string, std::string> own_files(const Variant& variant) {
  const std::string folder = variant.manifest.name + "/";
  std::map<std::string, std::string> files;
  for (const auto& [path, content] : variant.files) {
    if (path.starts_with(folder)) files[path.substr(folder.size())] = content;
  }
  return files;
}

/// The argument, else what a whole manifest among the files says, else the parent's.
std::string name_of(const Json& args, const std::map<std::string, std::string>& files,
                    const Variant& parent) {
  if (args.contains("name")) return args["name"].get<std::string>();
  const auto manifest = files.find("kernel.json");
  if (manifest != files.end()) {
    const auto parsed = parse_json(manifest->second, "kernel.json");
    if (parsed && parsed->is_object()) {
      if (const std::string name = text_of(*parsed, "name"); !name.empty()) return name;
    }
  }
  return parent.manifest.name;
}

struct Proposal {
  Variant variant;
  variant::Configuration configuration;
  std::string parent;
};

Result<Proposal> read_arguments(Context& context, const Json& args) {
  const Json none = Json::object();
  const Json edits_given = args.value("edits", Json::array());
  auto files = args.value("files", none).get<std::map<std::string, std::string>>();
  const Json given = args.value("configuration", none);
  if (files.empty() && edits_given.empty() && given.empty()) {
    return Error{ErrorCode::usage, "propose", "a variant", "nothing of it is new",
                 "give files, edits or a configuration"};
  }
  Proposal proposal;
  proposal.parent = args.value("parent", context.incumbent->label);
  WB_TRY_ASSIGN(auto resolved, read_parent(context, proposal.parent));
  auto& [parent, configuration] = resolved;
  std::vector<Edit> edits;
  for (const Json& edit : edits_given) {
    edits.push_back({edit["path"].get<std::string>(), edit["search"].get<std::string>(),
                     edit["replace"].get<std::string>()});
  }
  auto edited = own_files(parent);
  for (const auto& [path, content] : files) edited[path] = content;
  WB_TRY_ASSIGN(auto changed, apply_edits(edited, edits));
  for (auto& [path, content] : changed) files[path] = std::move(content);
  proposal.variant = parent;
  const std::string name = name_of(args, files, parent);
  if (!files.empty() || name != parent.manifest.name) {
    WB_TRY_ASSIGN(proposal.variant,
                  variant::derive_variant(context.services.file_system, parent, files, name));
  }
  proposal.configuration = std::move(configuration);
  for (const auto& [parameter, value] : given.items()) {
    proposal.configuration[parameter] = value.get<std::int64_t>();
  }
  return proposal;
}

std::string outcome_of(const Judgement& judgement) {
  if (!judgement.supported) return "not_supported";
  return judgement.invalidity ? std::string(to_string(*judgement.invalidity)) : "pass";
}

Json number_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

/// The rows, and in `answer` what they come to.
void tell_judgements(const std::vector<Judgement>& judgements, std::size_t of_suite, Json& answer) {
  double worst = 0;
  bool any = false;
  for (std::size_t i = 0; i < judgements.size(); ++i) {
    const Judgement& judgement = judgements[i];
    // What the suite asks for decides whether it is of use; the drawn runs only whether it is
    // right.
    any = any || (judgement.supported && i < of_suite);
    if (!(judgement.worst_share <= worst)) worst = judgement.worst_share;
    answer["problems"].push_back({{"problem", label(judgement)},
                                  {"outcome", outcome_of(judgement)},
                                  {"message", judgement.message},
                                  {"worst_share", number_or_null(judgement.worst_share)}});
  }
  const auto failed = first_failure(judgements);
  answer["pass"] = any && !failed;
  answer["worst_share"] = number_or_null(worst);
  if (failed) {
    answer["outcome"] = to_string(*failed->invalidity);
    answer["message"] = label(*failed) + ": " + failed->message;
  } else if (!any) {
    answer["outcome"] = to_string(Invalidity::constraints);
    answer["message"] = "it takes no problem of the suite";
  }
}

Json blank_answer(const std::string& parent) {
  return {{"pass", false},
          {"outcome", "pass"},
          {"message", ""},
          {"variant", ""},
          {"variant_id", ""},
          {"parent", parent},
          {"cached", false},
          {"worst_share", nullptr},
          {"problems", Json::array()},
          {"compiler_output", ""},
          {"output_ref", nullptr},
          {"subject_output", ""},
          {"subject_output_ref", nullptr},
          {"spill_bytes", 0},
          {"stop_reason", nullptr}};
}

Result<void> tell_output(Context& context, const std::string& words, Json& answer) {
  if (words.empty()) return {};
  answer["compiler_output"] = variant::cut_in_the_middle(words, k_words_max_bytes);
  WB_TRY_ASSIGN(const std::string blob, context.session->put_blob(words));
  answer["output_ref"] = blob;
  return {};
}

std::int64_t spill_bytes(const variant::PtxasRecord& record) {
  std::int64_t bytes = 0;
  for (const variant::KernelResources& kernel : record.kernels) {
    bytes += kernel.spill_store_bytes + kernel.spill_load_bytes;
  }
  return bytes;
}

Result<Json> build_and_judge(Context& context, const Proposal& proposal) {
  Json answer = blank_answer(proposal.parent);
  answer["variant_id"] = proposal.variant.id;
  answer["variant"] = label(proposal.variant);
  context.report_progress({.stage = "build", .what = label(proposal.variant)});
  WB_TRY_ASSIGN(const Outcome<Subject> built,
                build_and_log(context, proposal.variant, proposal.configuration));
  if (!built) {
    answer["outcome"] = to_string(built.error().invalidity);
    answer["message"] = built.error().message;
    WB_TRY(tell_output(context, built.error().untrusted_output, answer));
    return answer;
  }
  answer["variant"] = built->label;
  const variant::BuildRecord& record = built->artifact.record;
  answer["cached"] = record.cached;
  answer["spill_bytes"] = spill_bytes(record.ptxas);
  WB_TRY(tell_output(context, record.log, answer));
  const std::vector<problem::Problem> problems = plain_problems(context.settings.suite);
  const std::size_t of_suite = problems.size();
  WB_TRY_ASSIGN(const auto judgements,
                judge_subject(context, *built, problems, Proof::whole, nullptr, Refusal::fails,
                              drawn_runs(context, *built, context.settings.suite)));
  tell_judgements(judgements, of_suite, answer);
  if (const auto failed = first_failure(judgements)) {
    WB_TRY(tell_subject_output(context, failed->output, answer));
  }
  WB_TRY(context.check_stop());  // a stop kills the worker, which is not the variant's doing
  WB_TRY(context.debit_device(built->label));
  return answer;
}

Result<std::optional<std::string>> stop_reason(const Context& context) {
  WB_TRY_ASSIGN(const session::SessionView* view,
                context.session->current(session::FoldDepth::brief));
  return stop_decision(*view, context.settings.budget, context.settings.stop, context.elapsed_s())
      .reason;
}

/// Right before wrong, among the right ones what spills less and errs less. Never by speed, which
/// nobody has measured.
std::tuple<int, std::int64_t, double> order_of(const Json& row) {
  const bool pass = row["pass"];
  const Json& share = row["worst_share"];
  return {pass                          ? 0
          : row["outcome"] == "refused" ? 2
                                        : 1,
          row["spill_bytes"].get<std::int64_t>(),
          share.is_number() ? share.get<double>() : std::numeric_limits<double>::infinity()};
}

}  // namespace

Result<Json> verb_propose(Context& context, const Json& args) {
  WB_TRY_ASSIGN(const auto stop, stop_reason(context));
  if (stop) {
    Json answer = blank_answer(args.value("parent", context.incumbent->label));
    answer.update({{"outcome", "stopped"},
                   {"message", "nothing more is built: " + *stop},
                   {"stop_reason", *stop}});
    return answer;
  }
  WB_TRY_ASSIGN(const Proposal proposal, read_arguments(context, args));
  WB_TRY_ASSIGN(Json answer, build_and_judge(context, proposal));
  WB_TRY_ASSIGN(const auto next, stop_reason(context));
  if (next) answer["stop_reason"] = *next;
  return answer;
}

Result<Json> verb_propose_many(Context& context, const Json& args) {
  Json rows = Json::array();
  std::int64_t number = 0;
  for (const Json& item : args["proposals"]) {
    WB_TRY(context.check_stop());
    WB_TRY_ASSIGN(const Json checked, check_arguments(*find_verb("propose"), item));
    auto answer = verb_propose(context, checked);
    if (!answer && ends_session(answer.error().code)) return answer;
    Json row = blank_answer(checked.value("parent", context.incumbent->label));
    if (answer) {
      row = *std::move(answer);
    } else {
      row["outcome"] = "refused";
      row["message"] = answer.error().message();
    }
    row["proposal"] = ++number;
    for (const char* key : {"problems", "variant_id"}) row.erase(key);
    rows.push_back(std::move(row));
  }
  if (rows.empty()) {
    return Error{ErrorCode::usage, "propose", "variants", "the list is empty",
                 "give 1 to 16 proposals"};
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Json& left, const Json& right) {
    return order_of(left) < order_of(right);
  });
  std::int64_t passed = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i]["rank"] = i + 1;
    passed += rows[i]["pass"].get<bool>() ? 1 : 0;
  }
  WB_TRY_ASSIGN(const auto stop, stop_reason(context));
  return Json{{"passed", passed},
              {"rows", std::move(rows)},
              {"stop_reason", stop ? Json(*stop) : Json(nullptr)}};
}

}  // namespace wb::engine
