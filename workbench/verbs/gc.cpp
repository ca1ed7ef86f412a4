// SPDX-License-Identifier: MIT
// `gc`: trims the cache of built artifacts.
#include <fmt/format.h>

#include "core/json.hpp"
#include "core/text.hpp"
#include "engine/parts.hpp"
#include "engine/services.hpp"
#include "variant/builder.hpp"
#include "variant/cache.hpp"
#include "verbs/arguments.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using engine::Context;

namespace {

constexpr double k_default_days = 30;
constexpr double k_seconds_a_day = 86'400;

std::string size_text(std::uint64_t bytes) {
  const BinarySize size = binary_size(static_cast<double>(bytes), BinaryUnit::kib, BinaryUnit::mib);
  return fmt::format("{:.1f} {}", size.value, size.unit);
}

std::string text_of_result(const variant::TrimResult& result, const fs::path& root, bool dry_run) {
  std::string text = fmt::format("{} {} of {} entries and {} leftovers, {} of {}, in {}\n",
                                 dry_run ? "would remove" : "removed", result.removed,
                                 result.entries, result.leftovers, size_text(result.freed_bytes),
                                 size_text(result.bytes), root.string());
  if (result.in_use > 0) {
    text += fmt::format("kept {}: a running process uses them\n", result.in_use);
  }
  if (result.recent > 0) {
    text += fmt::format("kept {}: used in the last 10 minutes\n", result.recent);
  }
  if (result.failed > 0) {
    text +=
        fmt::format("kept {}: the file system refused; are they someone else's?\n", result.failed);
  }
  return text;
}

Result<Json> gc_body(Context& context, const Json& args) {
  variant::TrimRule rule;
  rule.dry_run = args.value("dry_run", false);
  if (args.contains("max_bytes")) rule.max_bytes = args["max_bytes"].get<std::uint64_t>();
  if (args.contains("older_than") || !rule.max_bytes) {
    const double days = args.value("older_than", k_default_days);
    rule.older_than = std::chrono::seconds(static_cast<std::int64_t>(days * k_seconds_a_day));
  }
  const fs::path& root = cache_of(context).root();
  WB_TRY_ASSIGN(const variant::TrimResult result,
                variant::trim_cache(root, rule, services_of(context).clock.now()));
  return Json{{"removed", result.removed},
              {"freed_bytes", result.freed_bytes},
              {"entries", result.entries},
              {"bytes", result.bytes},
              {"leftovers", result.leftovers},
              {"in_use", result.in_use},
              {"recent", result.recent},
              {"failed", result.failed},
              {"dry_run", rule.dry_run},
              {"folder", root.string()},
              {"text", text_of_result(result, root, rule.dry_run)}};
}

}  // namespace

const Verb& verb_gc() {
  static const Verb verb{
      .spec = {.name = "gc",
               .doc = "trim the cache of built artifacts; what a running process uses stays",
               .arguments =
                   {integer_argument("max_bytes",
                                     "then remove the longest unused until so much is left")
                        .in("bytes")
                        .between(0, 1e15),
                    real_argument(
                        "older_than",
                        "remove what was not used for so long (default 30 without --max-bytes)")
                        .in("days")
                        .between(0, 100000),
                    flag_argument("dry_run", "remove nothing")},
               .result = {{"removed", "int: entries"},
                          {"freed_bytes", "int: of entries and leftovers (bytes)"},
                          {"entries", "int: before"},
                          {"bytes", "int: before (bytes)"},
                          {"leftovers", "int: folders of killed builders"},
                          {"in_use", "int: due, but a running process uses them"},
                          {"recent", "int: due, but used in the last 10 minutes"},
                          {"failed", "int: due, but the file system refused"},
                          {"dry_run", "bool: nothing was removed"},
                          {"folder", "string: the cache"},
                          {"text", "string: the same for people"}},
               .destructive = true,
               .in_playbook = false},
      .body = [](const Call& call) { return gc_body(call.context, call.args); }};
  return verb;
}

}  // namespace wb::verbs
