// SPDX-License-Identifier: MIT
// `kernels`: lists the available kernels.
#include "core/json.hpp"
#include "engine/parts.hpp"
#include "variant/variant.hpp"
#include "verbs/answer_forms.hpp"
#include "verbs/arguments.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using engine::Context;

namespace {

Result<Json> kernels_body(Context& context, const Json& args) {
  Json rows = Json::array();
  std::optional<std::string> name;
  if (args.contains("name")) name = args["name"].get<std::string>();
  for (const auto& [entry, variant] : catalogue_of(context).read_all(name)) {
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
  if (rows.empty() && name) WB_TRY(catalogue_of(context).find(*name));  // gives the did-you-mean
  return Json{{"kernels", std::move(rows)}};
}

std::string kernels_text(const Json& answer) {
  if (answer["kernels"].size() == 1) return json_text(answer["kernels"][0], 2) + "\n";
  return rows_of(answer["kernels"], {"name", "backend", "about"});
}

}  // namespace

const Verb& verb_kernels() {
  static const Verb verb{
      .spec =
          {.name = "kernels",
           .doc = "the kernels that can be found",
           .arguments = {id_argument("name", "only this one, with its parameters").positional()},
           .result = {{"kernels", "list: name, about, backend, parameters, folder"}},
           .reads_only = true},
      .body = [](const Call& call) { return kernels_body(call.context, call.args); },
      .text = kernels_text};
  return verb;
}

}  // namespace wb::verbs
