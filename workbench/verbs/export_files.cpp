// SPDX-License-Identifier: MIT
// The files of an exported package that depend on the proof; the others are copied from
// kernels/export.
#include "verbs/export_files.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "core/hash.hpp"
#include "core/json.hpp"
#include "engine/recorded.hpp"
#include "engine/subject.hpp"
#include "session/storage.hpp"
#include "variant/restriction.hpp"
#include "verbs/proven.hpp"

namespace wb::verbs {

using engine::configuration_of;
using engine::member_of;
using engine::Subject;
using engine::text_of;

namespace {

const char* c_name(Dtype value) {
  return value == Dtype::f32 ? "WB_F32" : value == Dtype::f16 ? "WB_F16" : "WB_BF16";
}

/// Bit n for the n-th value: the enums of problem.hpp and of the ABI have the same order.
template <typename Set>
unsigned bits(const Set& set) {
  unsigned word = 0;
  for (const auto item : set) word |= 1u << static_cast<unsigned>(item);
  return word;
}

/// The inside of a C string literal.
std::string c_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

/// A restriction's expression is also valid C, since its grammar is a part of C's.
std::string restriction_function(const Subject& subject) {
  const auto& restrictions = subject.variant.manifest.restrictions;
  std::string text =
      "/* The manifest's restrictions; NULL when all hold. */\n"
      "static inline const char* wb_restriction(const wb_sdpa_problem* p) {\n";
  if (restrictions.empty()) return text + "  (void)p;\n  return NULL;\n}\n";
  std::map<std::string, std::string> values{
      {"B", "p->batch"},      {"Hq", "p->heads_q"},
      {"Hkv", "p->heads_kv"}, {"Sq", "p->seq_q"},
      {"Skv", "p->seq_kv"},   {"D", "p->dim"},
      {"Dv", "p->dim_v"},     {"causal", "p->causal"},
      {"mask", "p->mask"},    {"dtype_bytes", "p->dtype == WB_F32 ? 4 : 2"}};
  for (const auto& [name, value] : subject.configuration) values[name] = fmt::to_string(value);
  std::set<std::string> used;
  for (const std::string& restriction : restrictions) {
    const auto parsed = variant::Restriction::parse(restriction);
    if (!parsed) continue;  // a manifest with such a restriction is refused when read
    for (const std::string& name : parsed->names()) used.insert(name);
  }
  for (const std::string& name : used) {
    text += fmt::format("  const int64_t {} = {};\n", name, values[name]);
  }
  text += "  (void)p;\n";
  for (const std::string& restriction : restrictions) {
    text += fmt::format("  if (!({0})) return \"the restriction \\\"{1}\\\" does not hold\";\n",
                        restriction, c_escaped(restriction));
  }
  return text + "  return NULL;\n}\n";
}

std::string architecture_of(const Proven& proven) {
  return text_of(member_of(proven.environment, "device"), "architecture");
}

std::string command_of(const variant::BuildRecord& record) {
  std::string text;
  for (const std::string& word : record.argv) {
    const bool plain = word.find_first_of(" \"'$()<>&|;*") == std::string::npos;
    text += (text.empty() ? "" : " ") + (plain ? word : "'" + word + "'");
  }
  return text;
}

std::string domain_table(const Proven& proven) {
  std::string text =
      "| dtype | D | Dv | causal | masks | layouts | GQA | Sq up to | Skv up to |\n"
      "|---|---|---|---|---|---|---|---|---|\n";
  const auto words = [](const auto& set) {
    std::string list;
    for (const auto item : set) list += (list.empty() ? "" : ", ") + std::string(to_string(item));
    return list;
  };
  for (const ProvenEntry& entry : proven.domain) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", to_string(entry.dtype),
                        entry.D, entry.Dv, words(entry.causal), words(entry.masks),
                        words(entry.layouts),
                        entry.gqa.size() == 2      ? "with and without"
                        : entry.gqa.contains(true) ? "with"
                                                   : "without",
                        entry.seq_q_max, entry.seq_kv_max);
  }
  return text;
}

}  // namespace

std::string proven_header(const Proven& proven, const std::string& package) {
  const Subject& subject = proven.subject;
  const variant::Manifest& manifest = subject.variant.manifest;
  std::string text = fmt::format(
      "/* SPDX-License-Identifier: MIT\n"
      " * What `sdpa-wb export` wrote of {}: see PROVENANCE.json. Included by wb_domain.h. */\n"
      "#ifndef WB_PROVEN_H\n#define WB_PROVEN_H\n\n"
      "#define WB_PROVEN_NAME {}\n"
      "#define WB_PROVEN_ARTIFACT_ID \"{}\"\n"
      "#define WB_PROVEN_CUDA {}\n"
      "#define WB_PROVEN_TARGET \"{}\"\n"
      "#define WB_PROVEN_ARCHITECTURE \"{}\" /* of the device that it passed on */\n"
      "#define WB_PROVEN_ROWS_WITHOUT_KEYS {}\n\n"
      "static const wb_proven_entry k_wb_proven[] = {{\n",
      subject.label, package, subject.artifact.id,
      manifest.backend == variant::Backend::cuda ? 1 : 0, c_escaped(subject.artifact.record.target),
      c_escaped(architecture_of(proven)), manifest.support.rows_without_keys ? 1 : 0);
  for (const ProvenEntry& entry : proven.domain) {
    text +=
        fmt::format("    {{{}, {}, {}, {}, {}, 0x{:x}u, 0x{:x}u, 0x{:x}u, 0x{:x}u}},\n",
                    c_name(entry.dtype), entry.D, entry.Dv, entry.seq_q_max, entry.seq_kv_max,
                    bits(entry.causal), bits(entry.masks), bits(entry.layouts), bits(entry.gqa));
  }
  return text + "};\n\n" + restriction_function(subject) + "\n#endif\n";
}

Json provenance(const Proven& proven, const std::string& package, const std::string& kind,
                const std::string& workbench_version) {
  const Subject& subject = proven.subject;
  const variant::BuildRecord& record = subject.artifact.record;
  Json sources = Json::object();
  for (const auto& [path, content] : subject.variant.files) {
    sources["kernel/" + path] = sha256_hex(content);
  }
  return Json{
      {"format", 1},
      {"package", package},
      {"kind", kind},
      {"backend", to_string(subject.variant.manifest.backend)},
      {"variant",
       {{"name", subject.variant.manifest.name},
        {"about", subject.variant.manifest.about},
        {"label", label(subject.variant)},
        {"variant_id", subject.variant.id},
        {"configuration", variant::to_json(subject.configuration)},
        {"techniques", variant::techniques_in(subject.variant.manifest, subject.configuration)},
        {"sources", std::move(sources)}}},
      {"artifact",
       {{"label", subject.label},
        {"artifact_id", subject.artifact.id},
        {"sha256", subject.artifact.content_sha256},
        {"compiler", record.compiler},
        {"target", record.target},
        {"command", record.argv}}},
      {"session", {{"name", session::session_name(proven.session)}, {"log_head", proven.log_head}}},
      {"environment", proven.environment},
      {"domain", domain_json(proven)},
      {"verdicts", proven.passes},
      {"figures", proven.figures},
      {"versions", {{"workbench", workbench_version}, {"subject", proven.versions}}}};
}

std::string export_readme(const Proven& proven, const std::string& package,
                          const std::string& kind) {
  const Subject& subject = proven.subject;
  std::string text = fmt::format(
      "# {0}\n\n{1}\n\n`{2}`, written by `sdpa-wb export` from the session `{3}`. "
      "`PROVENANCE.json` has its ids, the verdicts (events of that session's log), figures and "
      "versions.\n\n",
      package, subject.variant.manifest.about, subject.label,
      session::session_name(proven.session));
  if (kind == "torch") {
    text += fmt::format(
        "```sh\npip install --no-build-isolation .   # compiles csrc/ against the installed "
        "PyTorch; needs a C++ compiler, no CUDA toolkit\npytest test_op.py\n```\n\n"
        "```python\nimport {0}\n\nout = {0}.sdpa(q, k, v, causal=\"top_left\")   # or "
        "torch.ops.{0}.forward(q, k, v, None, \"top_left\", None)\nprint({0}.counts(), "
        "{0}.last_reason())\n```\n\n"
        "Where the table below does not cover a call, `F.scaled_dot_product_attention` answers it. "
        "There is no backward. CUDA graphs and `torch.compile` may hold the call; graph replays "
        "are not counted.\n\n",
        package);
  } else {
    text +=
        "`include/wb_domain.h` has the six functions of the ABI (`include/sdpa_abi.h`) and "
        "`wb_outside(&problem)`: NULL when the passes cover it, else why not. "
        "`add_subdirectory` of this folder gives the target `sdpa_variant`; "
        "`cmake -B build && cmake --build build && ctest --test-dir build` tries it.\n\n";
  }
  text += "## What passed\n\n" + domain_table(proven);
  text +=
      "\nEach causal kind, mask, layout and GQA of a row passed at least once with that dtype and "
      "head dim, sizes up to the largest that passed; not each combination was judged. Passes had "
      "packed tensors and one mask for all heads: other strides rest on the ABI's rules.\n\n";
  text += fmt::format(
      "## Source\n\n`kernel/` has every file. The library was made there by\n\n"
      "```sh\n{}\n```\n\nA library that you build yourself is not the one that "
      "passed.\n",
      command_of(subject.artifact.record));
  return text;
}

Result<std::optional<variant::Configuration>> wanted_configuration(const Json& args) {
  if (!args.contains("configuration")) return std::optional<variant::Configuration>();
  return std::optional(configuration_of(args["configuration"]));
}

}  // namespace wb::verbs
