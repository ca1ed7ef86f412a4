// SPDX-License-Identifier: MIT
#include "catalogue/dispatch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "catalogue/list.hpp"
#include "core/ascii.hpp"
#include "core/hash.hpp"
#include "core/json.hpp"
#include "variant/restriction.hpp"

namespace wb::catalogue {

using variant::Restriction;

namespace {

constexpr std::size_t k_rules_max = 10'000;

bool is_unconditional(const DispatchRule& rule) {
  return rule.device.empty() && rule.when.empty() && rule.dtypes.empty();
}

Result<DispatchRule> parse_rule(const Json& json, const std::string& what) {
  ObjectReader reader(json, what);
  DispatchRule rule;
  rule.device = reader.string_or("device", "");
  ProblemKind kind = read_problem_kind(reader);
  rule.when = std::move(kind.when);
  rule.dtypes = std::move(kind.dtypes);
  rule.variant = reader.string("variant");
  if (!variant::is_kernel_name(rule.variant)) {
    reader.fail("variant", "\"" + rule.variant + "\" is not a kernel name");
  }
  if (const Json* configuration = reader.member("configuration")) {
    if (!configuration->is_object()) {
      reader.fail("configuration", "must be an object of integers");
    } else {
      for (const auto& [name, value] : configuration->items()) {
        if (const auto whole = whole_number(value)) {
          rule.configuration[name] = *whole;
        } else {
          reader.fail("configuration", name + " is not an integer");
        }
      }
    }
  }
  rule.artifact_id = reader.string_or("artifact_id", "");
  rule.session = reader.string_or("session", "");
  if (!rule.artifact_id.empty() && !is_sha256(rule.artifact_id)) {
    reader.fail("artifact_id", "must be 64 hex digits");
  }
  WB_TRY(reader.finish());
  return rule;
}

}  // namespace

Result<DispatchTable> parse_dispatch(std::string_view text, std::string_view what) {
  WB_TRY_ASSIGN(const Json json, parse_json(text, what));
  ObjectReader reader(json, std::string(what));
  reader.integer("version", 1, 1);
  reader.string_or("about", "");
  const Json* rules = reader.member("rules");
  if (rules == nullptr || !rules->is_array() || rules->empty() || rules->size() > k_rules_max) {
    reader.fail("rules", "must be a list of 1 to 10,000 rules");
  }
  WB_TRY(reader.finish());
  DispatchTable table;
  for (std::size_t i = 0; i < rules->size(); ++i) {
    const std::string name = std::string(what) + ", rule " + fmt::to_string(i + 1);
    WB_TRY_ASSIGN(DispatchRule rule, parse_rule((*rules)[i], name));
    const bool last = i + 1 == rules->size();
    const auto refuse = [&](std::string cause, std::string next) {
      return Error{ErrorCode::invalid, "read the dispatch table", name, std::move(cause),
                   std::move(next)};
    };
    if (last && !is_unconditional(rule)) {
      return refuse("the last rule has a condition", "end with a rule that takes every problem");
    }
    if (!last && is_unconditional(rule)) {
      return refuse("it has no condition, so the rules after it are never reached",
                    "move it to the end");
    }
    if (!last && (rule.artifact_id.empty() || rule.session.empty())) {
      return refuse("only the fallback may lack artifact_id and session",
                    "name the artifact and the session that proved it");
    }
    table.rules.push_back(std::move(rule));
  }
  return table;
}

bool is_for_device(const DispatchRule& rule, std::string_view device_name) {
  return rule.device.empty() ||
         std::search(device_name.begin(), device_name.end(), rule.device.begin(), rule.device.end(),
                     [](char a, char b) { return ascii::lower(a) == ascii::lower(b); }) !=
             device_name.end();
}

Result<bool> takes(const DispatchRule& rule, const problem::Problem& problem) {
  if (!rule.dtypes.empty() &&
      std::find(rule.dtypes.begin(), rule.dtypes.end(), problem.dtype) == rule.dtypes.end()) {
    return false;
  }
  if (rule.when.empty()) return true;
  WB_TRY_ASSIGN(const Restriction predicate, Restriction::parse(rule.when));
  auto holds = predicate.holds(variant::problem_values(problem));
  if (holds.ok()) return *holds;
  Error error = std::move(holds).error();
  error.subject = "\"" + rule.when + "\" for " + problem::to_text(problem);
  return error;
}

Result<DispatchRule> choose(const DispatchTable& table, std::string_view device_name,
                            const problem::Problem& problem) {
  for (const DispatchRule& rule : table.rules) {
    if (!is_for_device(rule, device_name)) continue;
    WB_TRY_ASSIGN(const bool is_taken, takes(rule, problem));
    if (is_taken) return rule;
  }
  return Error{ErrorCode::invalid, "choose a kernel for", to_text(problem),
               "no rule of the dispatch table takes it", "end the table with a fallback"};
}

}  // namespace wb::catalogue
