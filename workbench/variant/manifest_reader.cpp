// SPDX-License-Identifier: MIT
// The strict manifest reader: every key is known, every name is in its closed list and every path
// stays inside the folder, so that later stages can trust a manifest.
#include "core/json.hpp"
#include "variant/manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "core/files.hpp"
#include "variant/restriction.hpp"

namespace wb::variant {

namespace {

constexpr std::size_t k_manifest_max_bytes = 256u << 10;
constexpr std::size_t k_tune_params_max = 32;
constexpr std::size_t k_values_per_param_max = 256;
constexpr std::int64_t k_value_max = std::int64_t{1} << 40;
constexpr std::size_t k_list_max = 256;
constexpr std::size_t k_text_max = 4096;

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// TILE_M, STAGES: at least two characters, so that no parameter hides a problem letter, and never
/// WB_..., the prefix of the workbench's macros.
bool is_parameter_name(std::string_view word) {
  if (word.size() < 2 || word.size() > 64 || !is_upper(word[0])) return false;
  if (word.starts_with("WB_")) return false;
  return std::all_of(word.begin(), word.end(),
                     [](char c) { return is_upper(c) || is_digit(c) || c == '_'; });
}

/// A name of a header folder, a library or an architecture, without characters that a command line
/// or path could misread.
bool is_plain_word(std::string_view word) {
  if (word.empty() || word.size() > 64) return false;
  const char first = word[0];
  if (!is_lower(first) && !is_upper(first) && !is_digit(first)) return false;
  return std::all_of(word.begin(), word.end(), [](char c) {
    return is_lower(c) || is_upper(c) || is_digit(c) || c == '_' || c == '-' || c == '.' ||
           c == '+';
  });
}

bool is_identifier(std::string_view word) {
  if (word.empty() || word.size() > 64 || is_digit(word[0])) return false;
  return std::all_of(word.begin(), word.end(),
                     [](char c) { return is_lower(c) || is_upper(c) || is_digit(c) || c == '_'; });
}

std::string_view source_extension(Backend backend) {
  switch (backend) {
    case Backend::cpu:
      return ".cpp";
    case Backend::cuda:
      return ".cu";
    case Backend::python:
      return ".py";
  }
  return "";
}

template <typename T, typename Parse>
std::vector<T> words(ObjectReader& reader, std::string_view key, Parse parse) {
  std::vector<T> values;
  for (const std::string& word : reader.strings_or(key, {})) {
    const auto value = parse(word);
    if (!value) {
      reader.fail(key, "unknown word \"" + word + "\"");
    } else if (std::find(values.begin(), values.end(), *value) != values.end()) {
      reader.fail(key, "\"" + word + "\" is listed twice");
    } else {
      values.push_back(*value);
    }
  }
  return values;
}

std::vector<std::string> word_list(ObjectReader& reader, std::string_view key,
                                   bool (*allowed)(std::string_view), std::string_view rule) {
  std::vector<std::string> list = reader.strings_or(key, {});
  if (list.size() > k_list_max) reader.fail(key, "more than 256 entries");
  std::set<std::string> seen;
  for (const std::string& word : list) {
    if (!allowed(word)) reader.fail(key, "\"" + word + "\" is not " + std::string(rule));
    if (!seen.insert(word).second) reader.fail(key, "\"" + word + "\" is listed twice");
  }
  return list;
}

/// The integers of a JSON list, each in [min, max]; an absent key gives an empty list.
std::vector<std::int64_t> integers(ObjectReader& reader, std::string_view key, const Json* list,
                                   std::int64_t min, std::int64_t max) {
  std::vector<std::int64_t> values;
  if (list == nullptr) return values;
  if (!list->is_array() || list->size() > k_values_per_param_max) {
    reader.fail(key, "must be a list of at most 256 integers");
    return values;
  }
  for (const Json& item : *list) {
    const auto value = whole_number(item);
    if (!value || *value < min || *value > max) {
      reader.fail(key, "every value must be an integer from " + fmt::to_string(min) + " to " +
                           fmt::to_string(max) + ", not " + item.dump());
      return values;
    }
    if (std::find(values.begin(), values.end(), *value) != values.end()) {
      reader.fail(key, fmt::to_string(*value) + " is listed twice");
    }
    values.push_back(*value);
  }
  return values;
}

Result<Support> parse_support(const Json* json, std::string_view what) {
  Support support;
  if (json == nullptr) return support;
  ObjectReader reader(*json, std::string(what) + ", \"supports\"");
  support.dtypes = words<Dtype>(reader, "dtypes", parse_dtype);
  support.head_dims = integers(reader, "head_dims", reader.member("head_dims"), 1, 1 << 20);
  support.head_dim_multiple = reader.integer_or("head_dim_multiple", 1, 1, 1 << 20);
  support.head_dim_max = reader.integer_or("head_dim_max", 1 << 20, 1, 1 << 20);
  support.causal = words<problem::Causal>(reader, "causal", problem::parse_causal);
  support.masks = words<problem::MaskKind>(reader, "masks", problem::parse_mask_kind);
  support.layouts = words<problem::Layout>(reader, "layouts", problem::parse_layout);
  support.gqa = reader.boolean_or("gqa", true);
  support.dv_differs = reader.boolean_or("dv_differs", true);
  support.rows_without_keys = reader.boolean_or("rows_without_keys", true);
  support.stride_multiple = reader.integer_or("stride_multiple", 0, 0, 4096);
  if (std::popcount(static_cast<std::uint64_t>(support.stride_multiple)) > 1) {
    reader.fail("stride_multiple", "must be a power of two: bytes that strides are multiples of");
  }
  constexpr std::int64_t k_seq_max = std::int64_t{1} << 31;
  support.seq_q_max = reader.integer_or("seq_q_max", k_seq_max, 1, k_seq_max);
  support.seq_kv_max = reader.integer_or("seq_kv_max", k_seq_max, 1, k_seq_max);
  WB_TRY(reader.finish());
  return support;
}

void read_tune_params(ObjectReader& reader, Manifest& manifest) {
  if (const Json* params = reader.member("tune_params")) {
    if (!params->is_object() || params->size() > k_tune_params_max) {
      reader.fail("tune_params", "must be an object of at most 32 parameters");
      return;
    }
    for (const auto& [name, list] : params->items()) {
      if (!is_parameter_name(name)) {
        reader.fail("tune_params", "\"" + name +
                                       "\" is not a parameter name (capital letters, digits and "
                                       "'_', at least two characters, not WB_...)");
      }
      auto values = integers(reader, "tune_params." + name, &list, -k_value_max, k_value_max);
      if (values.empty()) reader.fail("tune_params." + name, "has no values");
      manifest.tune_params[name] = std::move(values);
    }
  }
  if (const Json* defaults = reader.member("defaults")) {
    if (!defaults->is_object()) {
      reader.fail("defaults", "must be an object");
      return;
    }
    for (const auto& [name, value] : defaults->items()) {
      const auto whole = whole_number(value);
      const auto param = manifest.tune_params.find(name);
      if (param == manifest.tune_params.end()) {
        reader.fail("defaults", "\"" + name + "\" is not in tune_params");
      } else if (!whole || std::find(param->second.begin(), param->second.end(), *whole) ==
                               param->second.end()) {
        reader.fail("defaults", name + " = " + value.dump() + " is not among its values");
      } else {
        manifest.defaults[name] = *whole;
      }
    }
  }
  for (const auto& [name, values] : manifest.tune_params) {
    if (!manifest.defaults.contains(name)) {
      reader.fail("defaults", "no default for " + name + "; every parameter needs one");
    }
  }
}

void read_sources(ObjectReader& reader, Manifest& manifest) {
  manifest.sources = reader.strings_or("sources", {});
  const std::string_view extension = source_extension(manifest.backend);
  if (manifest.sources.empty()) reader.fail("sources", "names no file; the first is compiled");
  if (manifest.sources.size() > k_list_max) reader.fail("sources", "more than 256 files");
  std::set<std::string> seen;
  for (const std::string& source : manifest.sources) {
    if (!is_inside(source) || source.size() > 255 || source.find('\\') != std::string::npos ||
        source.starts_with("-") ||
        std::any_of(source.begin(), source.end(), [](char c) { return c > 0 && c < ' '; })) {
      reader.fail("sources", "\"" + source + "\" is not a path inside the kernel's folder");
    }
    if (!seen.insert(source).second) reader.fail("sources", "\"" + source + "\" is listed twice");
  }
  if (!manifest.sources.empty() && !manifest.sources.front().ends_with(extension)) {
    reader.fail("sources", "the first file of backend " + std::string(to_string(manifest.backend)) +
                               " must end in " + std::string(extension));
  }
}

void read_entry(ObjectReader& reader, Manifest& manifest) {
  manifest.entry = reader.string_or("entry", "");
  if (manifest.backend != Backend::python) {
    if (!manifest.entry.empty()) reader.fail("entry", "is for backend python only");
    return;
  }
  const std::size_t colon = manifest.entry.find(':');
  const std::string module = manifest.entry.substr(0, colon);
  const bool well_formed = colon != std::string::npos && is_identifier(module) &&
                           is_identifier(std::string_view(manifest.entry).substr(colon + 1));
  if (!well_formed) {
    reader.fail("entry", "backend python needs \"module:function\"");
  } else if (std::find(manifest.sources.begin(), manifest.sources.end(), module + ".py") ==
             manifest.sources.end()) {
    reader.fail("entry", module + ".py is not among the sources");
  }
}

void read_restrictions(ObjectReader& reader, Manifest& manifest) {
  manifest.restrictions = reader.strings_or("restrictions", {});
  if (manifest.restrictions.size() > k_list_max) reader.fail("restrictions", "more than 256");
  for (const std::string& text : manifest.restrictions) {
    const auto parsed = Restriction::parse(text);
    if (!parsed.ok()) {
      reader.fail("restrictions", "\"" + text + "\": " + parsed.error().cause);
      continue;
    }
    for (const std::string& name : parsed->names()) {
      if (!manifest.tune_params.contains(name) && !is_problem_name(name)) {
        reader.fail("restrictions",
                    "\"" + text + "\": " + name + " is neither a parameter nor a problem letter");
      }
    }
  }
}

/// {"async_copy": "ASYNC_COPY == 1"}: words of `techniques`, expressions over parameters only.
void read_technique_conditions(ObjectReader& reader, Manifest& manifest) {
  const Json* conditions = reader.member("techniques_if");
  if (conditions == nullptr) return;
  if (!conditions->is_object()) {
    reader.fail("techniques_if", "must be an object of expressions");
    return;
  }
  for (const auto& [word, text] : conditions->items()) {
    const auto& known = manifest.techniques;
    if (std::find(known.begin(), known.end(), word) == known.end()) {
      reader.fail("techniques_if", word + " is not one of its techniques");
      continue;
    }
    if (!text.is_string()) {
      reader.fail("techniques_if", word + " must be an expression");
      continue;
    }
    const auto parsed = Restriction::parse(text.get<std::string>());
    if (!parsed.ok()) {
      reader.fail("techniques_if", "\"" + text.get<std::string>() + "\": " + parsed.error().cause);
      continue;
    }
    for (const std::string& name : parsed->names()) {
      if (!manifest.tune_params.contains(name)) {
        reader.fail("techniques_if", text.get<std::string>() + ": " + name + " is no parameter");
      }
    }
    manifest.technique_conditions[word] = text.get<std::string>();
  }
}

}  // namespace

bool is_kernel_name(std::string_view word) {
  if (word.empty() || word.size() > 64 || !is_lower(word[0])) return false;
  return std::all_of(word.begin(), word.end(),
                     [](char c) { return is_lower(c) || is_digit(c) || c == '_'; });
}

Result<Manifest> parse_manifest(std::string_view text, std::string_view what) {
  WB_TRY_ASSIGN(const Json json, parse_json(text, what, {k_manifest_max_bytes, 8}));
  ObjectReader reader(json, std::string(what));
  Manifest manifest;
  manifest.name = reader.string("name");
  if (!is_kernel_name(manifest.name)) {
    reader.fail("name", "\"" + manifest.name +
                            "\" is not a kernel name (lower-case letters, digits and '_')");
  }
  manifest.about = reader.string_or("about", "");
  if (manifest.about.size() > k_text_max) reader.fail("about", "longer than 4096 bytes");
  manifest.parent = reader.string_or("parent", "");
  if (!manifest.parent.empty() && !is_kernel_name(manifest.parent)) {
    reader.fail("parent", "\"" + manifest.parent + "\" is not a kernel name");
  }
  const std::string backend = reader.string("backend");
  if (const auto parsed = parse_backend(backend)) {
    manifest.backend = *parsed;
  } else {
    reader.fail("backend", "\"" + backend + "\" is not one of cpu, cuda, python");
  }
  manifest.architectures = word_list(reader, "architectures", is_plain_word, "an architecture");
  WB_TRY_ASSIGN(manifest.support, parse_support(reader.member("supports"), what));
  read_sources(reader, manifest);
  read_tune_params(reader, manifest);
  read_restrictions(reader, manifest);
  manifest.techniques = word_list(
      reader, "techniques",
      [](std::string_view word) { return std::ranges::binary_search(known_techniques(), word); },
      "a known technique (docs/guide/add_a_kernel.md lists them)");
  read_technique_conditions(reader, manifest);
  manifest.includes = word_list(reader, "includes", is_plain_word, "a plain name");
  manifest.libraries = word_list(reader, "libraries", is_plain_word, "a plain name");
  read_entry(reader, manifest);
  manifest.compile_flags = reader.strings_or("compile_flags", {});
  if (manifest.compile_flags.size() > k_list_max) reader.fail("compile_flags", "more than 256");
  WB_TRY(reader.finish());
  WB_TRY_ASSIGN(const auto violated, violated_restriction(manifest, manifest.defaults, nullptr));
  if (violated) {
    return Error{ErrorCode::invalid, "read the manifest", std::string(what),
                 "its defaults break its own restriction \"" + *violated + "\"",
                 "change the defaults or the restriction"};
  }
  return manifest;
}

}  // namespace wb::variant
