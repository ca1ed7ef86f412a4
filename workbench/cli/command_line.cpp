// SPDX-License-Identifier: MIT
#include "cli/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "core/ascii.hpp"
#include "core/json.hpp"
#include "variant/variant.hpp"
#include "verbs/verb.hpp"

namespace wb::cli {

using verbs::ArgumentKind;
using verbs::ArgumentSpec;
using verbs::VerbSpec;

namespace {

constexpr std::size_t k_json_max_bytes = 16u << 20;

/// The values that CLI11 fills for one verb, before conversion to JSON.
struct Values {
  std::map<std::string, std::string> words;
  std::map<std::string, std::vector<std::string>> lists;
  std::map<std::string, bool> flags;
};

std::string dashed(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

bool is_list(ArgumentKind kind) {
  return kind == ArgumentKind::id_list || kind == ArgumentKind::configuration ||
         kind == ArgumentKind::file_map;
}

bool is_json(ArgumentKind kind) {
  return kind == ArgumentKind::edit_list || kind == ArgumentKind::proposal_list;
}

std::string description(const ArgumentSpec& spec) {
  std::string text(spec.doc);
  if (!spec.unit.empty()) text += fmt::format(" ({})", spec.unit);
  if (!spec.choices.empty()) text += fmt::format(" [{}]", fmt::join(spec.choices, "|"));
  return text;
}

void add_argument(CLI::App& command, const ArgumentSpec& spec, Values& values) {
  const std::string key(spec.name);
  const std::string flag = "--" + dashed(spec.name);
  CLI::Option* option = nullptr;
  if (spec.kind == ArgumentKind::boolean) {
    option = command.add_flag(flag, values.flags[key], description(spec));
  } else if (is_list(spec.kind)) {
    option = command.add_option(spec.is_positional ? key + "," + flag : flag, values.lists[key],
                                description(spec));
    option->type_name(spec.kind == ArgumentKind::id_list ? "NAME ..." : "NAME=VALUE ...");
  } else {
    option = command.add_option(spec.is_positional ? key + "," + flag : flag, values.words[key],
                                description(spec));
    option->type_name(is_json(spec.kind) ? "JSON|@FILE" : std::string(to_string(spec.kind)));
  }
  if (spec.is_required) option->required();
}

/// An option from 0 to `most`, parsed like the integers of all verbs.
void add_whole(CLI::App& app, const char* option, std::int64_t& target, std::int64_t most,
               const char* description) {
  const auto take = [option, &target, most](const std::string& word) {
    const auto value = ascii::whole(word);
    if (!value || *value < 0 || *value > most) {
      throw CLI::ValidationError(option,
                                 fmt::format("\"{}\" is not an integer from 0 to {}", word, most));
    }
    target = *value;
  };
  app.add_option_function<std::string>(option, take, description)->type_name("INT");
}

void add_globals(CLI::App& app, GlobalOptions& options) {
  // An empty value, as from an unset variable in a script, is refused, since the default would be
  // another place.
  const auto names_something = [](const std::string& word) {
    return word.empty() ? "it names nothing" : std::string();
  };
  app.add_flag("--json", options.json, "print one JSON object on standard output");
  app.add_flag("--quiet", options.quiet, "no progress");
  app.add_flag("--detach", options.detach,
               "go on as a job in the background: `get job` waits for it, `cancel job` stops it");
  app.add_flag("--no-color", options.no_color, "no colors (also: the variable NO_COLOR)");
  app.add_option("--session", options.session,
                 "the session's folder; to read it, its archive serves as well")
      ->check(names_something)
      ->type_name("DIR");
  app.add_option("--path", options.paths, "a folder with kernels/ and playbooks/, repeatable")
      ->type_name("DIR");
  app.add_option("--cache", options.cache, "where built artifacts are kept")->type_name("DIR");
  app.add_option("--sessions", options.sessions_root, "where new sessions go")
      ->check(names_something)
      ->type_name("DIR");
  app.add_option("--compiler", options.compiler, "C++ compiler for CPU variants")
      ->type_name("PROGRAM");
  app.add_option("--nvcc", options.nvcc,
                 "nvcc for CUDA variants (else CUDACXX, CUDA_HOME, CUDA_PATH, PATH)")
      ->type_name("PROGRAM");
  app.add_option("--host-compiler", options.host_compiler, "C++ compiler that nvcc calls")
      ->type_name("PROGRAM");
  app.add_option("--allow-include", options.allowed_includes,
                 "a folder that variants may include from, repeatable")
      ->type_name("DIR");
  app.add_option("--python", options.python, "interpreter for Python subjects")
      ->type_name("PROGRAM");
  app.add_option("--worker", options.worker, "the sdpa-wb-worker to start")->type_name("PROGRAM");
  app.add_option("--transport", options.transport,
                 "command prefix for the worker, such as: --transport ssh node7 --")
      ->type_name("WORD ...");
  add_whole(app, "--threads", options.threads, k_most_threads,
            "threads a CPU variant may use (0: all)");
  app.add_option("--cpu-set", options.cpu_set, "CPUs to measure on, such as 0-1");
  add_whole(app, "--gpu", options.gpu, k_most_gpu,
            "the GPU for CUDA variants, counted from 0 as CUDA does");
  app.add_option("--isolation", options.isolation,
                 "confine subjects at most so: rlimits, landlock, seccomp, namespaces (else as "
                 "strongly as the machine can)")
      ->check(CLI::IsMember(
          std::vector<std::string>(k_isolation_levels.begin(), k_isolation_levels.end())));
  app.add_option("--device-lock", options.device_lock,
                 "queue for the device at this file, not at the machine's (also: the variable "
                 "WB_DEVICE_LOCK)")
      ->type_name("FILE");
  app.add_option(
         "--on-event", options.on_event,
         "run at a win, a failure, 50 and 80 % of the budget and the end: $WB_EVENT, $1 as JSON")
      ->type_name("COMMAND");
  app.add_option("--request-id", options.request_id,
                 "repeat-safe calls: the same id gives the first answer");
}

/// `option`: the user's name for it.
std::optional<Error> put_number(Json& args, const ArgumentSpec& spec, const std::string& word,
                                const std::string& option) {
  const std::string key(spec.name);
  if (spec.kind == ArgumentKind::integer) {
    if (const auto value = ascii::whole(word)) {
      args[key] = *value;
      return std::nullopt;
    }
  } else if (const auto value = ascii::number<double>(word)) {
    args[key] = *value;
    return std::nullopt;
  }
  return Error{ErrorCode::usage, "read option", option,
               fmt::format("\"{}\" is not {}", word,
                           spec.kind == ArgumentKind::integer ? "an integer" : "a number"),
               std::string(spec.doc)};
}

/// NAME=VALUE pairs of a configuration or file map.
std::optional<Error> put_pairs(Json& args, const ArgumentSpec& spec,
                               const std::vector<std::string>& pairs,
                               const FileSystem& file_system) {
  Json map = Json::object();
  const std::string option = "--" + dashed(spec.name);
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error{ErrorCode::usage, "read option", option,
                   fmt::format("\"{}\" is not NAME=VALUE", pair), std::string(spec.doc)};
    }
    const std::string name = pair.substr(0, equals), value = pair.substr(equals + 1);
    if (map.contains(name)) {
      return Error{ErrorCode::usage, "read option", option, fmt::format("{} stands twice", name),
                   "give each name once"};
    }
    if (spec.kind == ArgumentKind::configuration) {
      Json number;
      const ArgumentSpec integer{.name = name, .kind = ArgumentKind::integer, .doc = spec.doc};
      if (auto fault = put_number(number, integer, value, option + " " + name)) return fault;
      map[name] = number[name];
    } else if (value.starts_with('@')) {
      auto text = file_system.read(value.substr(1), 1u << 20);
      if (!text) return text.error();
      map[name] = *std::move(text);
    } else {
      map[name] = value;
    }
  }
  args[std::string(spec.name)] = std::move(map);
  return std::nullopt;
}

/// A list of maps as JSON, or the file with it after an '@'.
std::optional<Error> put_json(Json& args, const ArgumentSpec& spec, std::string word,
                              const FileSystem& file_system) {
  if (word.starts_with('@')) {
    auto text = file_system.read(word.substr(1), k_json_max_bytes);
    if (!text) return text.error();
    word = *std::move(text);
  }
  auto value = parse_json(word, "option --" + dashed(spec.name));
  if (!value) return value.error();
  args[std::string(spec.name)] = *std::move(value);
  return std::nullopt;
}

Result<Json> to_args(const VerbSpec& verb, const CLI::App& command, const Values& values,
                     const FileSystem& file_system) {
  Json args = Json::object();
  for (const ArgumentSpec& spec : verb.arguments) {
    const std::string key(spec.name);
    if (command.get_option("--" + dashed(key))->count() == 0) continue;
    if (spec.kind == ArgumentKind::boolean) {
      args[key] = values.flags.at(key);
    } else if (spec.kind == ArgumentKind::id_list) {
      args[key] = values.lists.at(key);
    } else if (is_list(spec.kind)) {
      if (auto fault = put_pairs(args, spec, values.lists.at(key), file_system)) return *fault;
    } else if (is_json(spec.kind)) {
      if (auto fault = put_json(args, spec, values.words.at(key), file_system)) return *fault;
    } else if (spec.kind == ArgumentKind::integer || spec.kind == ArgumentKind::real) {
      if (auto fault = put_number(args, spec, values.words.at(key), "--" + dashed(key)))
        return *fault;
    } else {
      args[key] = values.words.at(key);
    }
  }
  return args;
}

/// The whole application. Shared pointers keep the values alive.
struct Application {
  CLI::App app{
      "The SDPA Workbench: make attention kernels faster, one honest iteration at a time."};
  GlobalOptions options;
  std::map<std::string, std::shared_ptr<Values>> values;
  std::vector<std::pair<const VerbSpec*, CLI::App*>> commands;

  explicit Application(verbs::Table table) {
    app.require_subcommand(1);
    app.fallthrough();
    app.set_version_flag("--version", WB_VERSION);
    add_globals(app, options);
    std::map<std::string, CLI::App*> groups;
    for (const verbs::Verb* one : table) {
      const VerbSpec& verb = one->spec;
      const std::string name(verb.name);
      const std::size_t split = name.find('_');
      CLI::App* parent = &app;
      if (split != std::string::npos) {
        CLI::App*& group = groups[name.substr(0, split)];
        if (group == nullptr) {
          group = app.add_subcommand(name.substr(0, split), "more about " + name.substr(0, split));
          group->require_subcommand(1);
          group->fallthrough();
        }
        parent = group;
      }
      CLI::App* command = parent->add_subcommand(
          split == std::string::npos ? name : name.substr(split + 1), std::string(verb.doc));
      command->fallthrough();
      if (split == std::string::npos) groups[name] = command;  // `propose`, and `propose many`
      values[name] = std::make_shared<Values>();
      for (const ArgumentSpec& spec : verb.arguments) add_argument(*command, spec, *values[name]);
      commands.emplace_back(&verb, command);
    }
  }

  const VerbSpec* parsed_verb() const {
    for (const auto& [verb, command] : commands) {
      if (command->parsed() && command->get_subcommands().empty()) return verb;
    }
    return nullptr;
  }
};

/// A suggestion for the first unknown word.
std::string suggestion(const Application& application, const std::vector<std::string>& words) {
  std::vector<std::string> known;
  const CLI::App* current = &application.app;
  const auto collect = [&](const CLI::App* from) {
    known.clear();
    for (const CLI::App* sub : from->get_subcommands([](const CLI::App*) { return true; })) {
      known.push_back(sub->get_name());
    }
    for (const CLI::App* app : {from, &application.app}) {
      for (const CLI::Option* option : app->get_options()) {
        for (const auto& name : option->get_lnames()) known.push_back("--" + name);
      }
    }
  };
  collect(current);
  for (const std::string& word : words) {
    const bool option = word.starts_with("--");
    const std::string plain = option ? word.substr(0, word.find('=')) : word;
    if (std::find(known.begin(), known.end(), plain) != known.end()) {
      if (option) continue;
      current = current->get_subcommand(plain);
      collect(current);
      continue;
    }
    const bool expects_command =
        !current->get_subcommands([](const CLI::App*) { return true; }).empty();
    if (!option && !expects_command) continue;
    const std::string near = variant::did_you_mean(plain, known);
    if (!near.empty()) return fmt::format("; did you mean {}?", near);
  }
  return {};
}

}  // namespace

std::variant<Command, PrintAndExit> parse_command_line(const std::vector<std::string>& words,
                                                       const FileSystem& file_system,
                                                       verbs::Table table) {
  Application application(table);
  std::vector<std::string> reversed(words.rbegin(), words.rend());
  try {
    application.app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    return PrintAndExit{application.app.help(), "", 0};
  } catch (const CLI::CallForAllHelp&) {
    return PrintAndExit{application.app.help("", CLI::AppFormatMode::All), "", 0};
  } catch (const CLI::CallForVersion&) {
    return PrintAndExit{fmt::format("sdpa-wb {}\n", WB_VERSION), "", 0};
  } catch (const CLI::ParseError& error) {
    std::string cause = error.what();
    std::replace(cause.begin(), cause.end(), '\n', ' ');
    return PrintAndExit{"",
                        fmt::format("sdpa-wb: {}{}\nsdpa-wb --help lists the commands\n", cause,
                                    suggestion(application, words)),
                        2};
  }
  const VerbSpec* verb = application.parsed_verb();
  const CLI::App* command = nullptr;
  for (const auto& [spec, app] : application.commands) {
    if (spec == verb) command = app;
  }
  Command result;
  result.verb = verb->name;
  result.options = application.options;
  auto args =
      to_args(*verb, *command, *application.values.at(std::string(verb->name)), file_system);
  if (!args) return PrintAndExit{"", "sdpa-wb: " + args.error().message() + "\n", 2};
  result.args = *std::move(args);
  return result;
}

std::string command_reference(verbs::Table table) {
  Application application(table);
  std::string page;
  for (const auto& [verb, command] : application.commands) {
    std::string name(verb->name);
    std::replace(name.begin(), name.end(), '_', ' ');
    page += fmt::format("### `sdpa-wb {}`\n\n{}.\n\n", name, verb->doc);
    if (!verb->arguments.empty()) page += "| option | kind | meaning |\n|---|---|---|\n";
    for (const ArgumentSpec& spec : verb->arguments) {
      std::string meaning = description(spec);
      for (std::size_t bar = 0; (bar = meaning.find('|', bar)) != std::string::npos; bar += 2) {
        meaning.insert(bar, "\\");
      }
      page += fmt::format("| `{}{}`{} | {} | {} |\n", spec.is_positional ? "" : "--",
                          spec.is_positional ? std::string(spec.name) : dashed(spec.name),
                          spec.is_required ? " (required)" : "", to_string(spec.kind), meaning);
    }
    if (!verb->arguments.empty()) page += "\n";
    if (!verb->result.empty()) page += "Result:\n\n";
    for (const auto& [field, meaning] : verb->result) {
      page += fmt::format("- `{}` – {}\n", field, meaning);
    }
    page += "\n";
  }
  return page;
}

}  // namespace wb::cli
