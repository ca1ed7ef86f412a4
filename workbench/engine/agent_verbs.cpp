// SPDX-License-Identifier: MIT
#include "engine/agent_verbs.hpp"

namespace wb::engine {
namespace {

using K = ArgumentKind;

VerbSpec spec_of_propose() {
  return {.name = "propose",
          .doc =
              "store, compile and check a new variant, by files or by edits of a parent; nothing "
              "is timed",
          .session = SessionNeed::writes,
          .arguments = {{.name = "parent",
                         .kind = K::id,
                         .doc = "kernel or label it derives from, one that failed too (default: "
                                "the incumbent)"},
                        {.name = "edits",
                         .kind = K::edit_list,
                         .doc = "replacements {path, search, replace}; search must stand in the "
                                "parent's file exactly once"},
                        {.name = "files",
                         .kind = K::file_map,
                         .doc = "whole files to replace or add: path -> content"},
                        {.name = "configuration",
                         .kind = K::configuration,
                         .doc = "tunable parameters, NAME=VALUE; the rest as in the parent"},
                        {.name = "name", .kind = K::string, .doc = "name of the new variant"}},
          .result = {{"pass", "bool: it takes a problem of the suite and every verdict passed"},
                     {"outcome", "string: pass, stopped, or why it is invalid"},
                     {"message", "string: what happened"},
                     {"variant", "string: label, for iterate, race and as a parent"},
                     {"variant_id", "string: hash of its sources"},
                     {"parent", "string: what it derives from"},
                     {"cached", "bool: nothing was compiled"},
                     {"worst_share", "real or null: the largest share of the error budget"},
                     {"problems", "list: per problem outcome, message and worst_share"},
                     {"compiler_output", "string: the compiler's words"},
                     {"output_ref", "string or null: for read_ref, the whole of them"},
                     {"subject_output", "string: what the variant printed before it failed"},
                     {"subject_output_ref", "string or null: for read_ref, the whole of that"},
                     {"spill_bytes", "int: registers spilled, as ptxas says (bytes)"},
                     {"stop_reason", "string or null: why the session should end now"}},
          .is_long = true};
}

VerbSpec spec_of_propose_many() {
  return {.name = "propose_many",
          .doc =
              "propose several variants and rank them: right ones first, by spills and error; "
              "race times them",
          .session = SessionNeed::writes,
          .arguments = {{.name = "proposals",
                         .kind = K::proposal_list,
                         .doc = "1 to 16 maps, each with the arguments of propose",
                         .required = true}},
          .result = {{"passed", "int: how many passed"},
                     {"rows",
                      "list: rank, proposal (its place in the list, from 1), and what propose "
                      "answers; outcome refused: it could not be read"},
                     {"stop_reason", "string or null: why the session should end now"}},
          .is_long = true};
}

VerbSpec spec_of_record_usage() {
  const auto tokens = [](std::string_view name, std::string_view doc, bool required) {
    return ArgumentSpec{.name = name,
                        .kind = K::integer,
                        .unit = "tokens",
                        .doc = doc,
                        .required = required,
                        .min = 0,
                        .max = 1e12};
  };
  return {.name = "record_usage",
          .doc = "debit what an agent's model used; the session's token rate gives the price",
          .session = SessionNeed::writes,
          .arguments =
              {{.name = "model", .kind = K::string, .doc = "the model's name", .required = true},
               tokens("input_tokens", "read by the model, cached ones too", true),
               tokens("output_tokens", "written by the model", true),
               tokens("cached_tokens", "those of input_tokens that were cached", false),
               {.name = "usd",
                .kind = K::real,
                .unit = "USD",
                .doc = "what its provider billed (default: by the rate)",
                .min = 0,
                .max = 1e6}},
          .result = {{"event", "int: its event id"},
                     {"tokens", "int: of this call"},
                     {"usd", "real or null: its price; null: no rate was given (USD)"},
                     {"total_tokens", "real: of the session so far"},
                     {"total_usd", "real or null: of the session so far, all items (USD)"},
                     {"stop_reason", "string or null: why the session should end now"},
                     {"warning", "string or null: costs that no budget can count"}}};
}

VerbSpec spec_of_read_ref() {
  return {
      .name = "read_ref",
      .doc =
          "read a long text by its reference, piece by piece: sources, events, compiler "
          "output, answers that were cut",
      .session = SessionNeed::reads,
      .arguments = {{.name = "ref",
                     .kind = K::id,
                     .doc = "cpu_tiled/kernel.cpp or LABEL/kernel.cpp (file), LABEL (its "
                            "files), e12 (event), i3 (iteration), or 64 digits of an answer",
                     .required = true,
                     .positional = true},
                    {.name = "offset",
                     .kind = K::integer,
                     .unit = "bytes",
                     .doc = "where to begin (default 0; next_offset of the piece before)",
                     .min = 0,
                     .max = 1e12},
                    {.name = "limit",
                     .kind = K::integer,
                     .unit = "bytes",
                     .doc = "at most so much (default 3000)",
                     .min = 1,
                     .max = 65536}},
      .result = {{"ref", "string: as asked for"},
                 {"offset", "int: where the text begins (bytes)"},
                 {"text", "string: the piece"},
                 {"next_offset", "int or null: where the next one begins; null: it is the last"},
                 {"total_bytes", "int: of the whole text"}},
      .reads_only = true};
}

}  // namespace

std::vector<VerbSpec> agent_verb_specs() {
  return {spec_of_propose(), spec_of_propose_many(), spec_of_record_usage(), spec_of_read_ref()};
}

}  // namespace wb::engine
