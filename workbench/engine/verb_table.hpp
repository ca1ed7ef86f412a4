// SPDX-License-Identifier: MIT
// Private to engine: the parts of the verb table, and the arguments that several verbs share.
#pragma once

#include <vector>

#include "engine/verb.hpp"

namespace wb::engine::verbs {

using K = ArgumentKind;

inline const ArgumentSpec k_suite{
    .name = "suite",
    .kind = K::string,
    .doc = "a suite name, or names joined by '+'; part of one: prefill:gqa_*,fa_D64_*"};
inline const ArgumentSpec k_problem{
    .name = "problem",
    .kind = K::string,
    .doc =
        "one problem, such as 'B=1 Hq=8 Sq=512 D=64 f16 causal=none'; "
        "several joined by ';'"};
inline const ArgumentSpec k_variant{.name = "variant",
                                    .kind = K::id,
                                    .doc = "a kernel's name or a label",
                                    .required = true,
                                    .positional = true};
inline const ArgumentSpec k_plan{.name = "plan",
                                 .kind = K::enumeration,
                                 .doc = "how to time",
                                 .choices = {"hot", "cold", "eager"}};
inline const ArgumentSpec k_regime{
    .name = "regime",
    .kind = K::enumeration,
    .doc = "of hot turns: burst (default), or sustained, after up to two seconds of its calls",
    .choices = {"burst", "sustained"}};
inline const ArgumentSpec k_effort{.name = "effort",
                                   .kind = K::enumeration,
                                   .doc =
                                       "how many processes, placements and rounds: quick, standard "
                                       "(5 processes x 3 placements at confirmation) or thorough",
                                   .choices = {"quick", "standard", "thorough"}};
inline const ArgumentSpec k_configuration{.name = "configuration",
                                          .kind = K::configuration,
                                          .doc =
                                              "tunable parameters, NAME=VALUE; the rest from the "
                                              "manifest's defaults"};

inline const ArgumentSpec k_target{
    .name = "target",
    .kind = K::string,
    .doc =
        "of a CUDA variant the architecture, such as sm_90a (default: the device's, else the "
        "manifest's first), of a CPU variant such as x86-64-v3 (default native)"};

std::vector<VerbSpec> make_session_verbs();    ///< open, run, resume, note, close
std::vector<VerbSpec> make_iteration_verbs();  ///< iterate, tune, race
std::vector<VerbSpec> make_measuring_verbs();  ///< build, check, measure, compare
std::vector<VerbSpec> make_reading_verbs();    ///< what never writes

}  // namespace wb::engine::verbs
