// SPDX-License-Identifier: MIT
// What a process has from whoever started it: open descriptors, what it does about signals, the
// umask, the limit of open files, the working folder. Our programs put it in order before all else;
// in a program of somebody else (Python) it is looked at, and an error names what stands in the
// way.
#pragma once

#include <csignal>
#include <string>
#include <vector>

#include "core/error.hpp"

namespace wb {

/// For the main() of our own programs, before anything is opened and any thread starts:
/// - fill_standard_descriptors();
/// - no signal is blocked, SIGCHLD has its default (else no child's end could be known), SIGPIPE
///   and SIGXFSZ are ignored, so that a write which fails says so. All others stay as they are;
/// - the umask leaves the owner's rights alone, or we could not read what we write;
/// - soft limits of open files and of the stack are what a session with its children needs, as far
///   as the hard limits allow.
void put_inherited_in_order();

/// Opens what is closed of the descriptors 0 to 2, so that no file of ours gets such a number and
/// with it what is meant for a terminal. Reading 0 finds the end, writing to 1 fails as before, and
/// what 2 would have shown is lost.
void fill_standard_descriptors();

/// Of SIGTERM, SIGHUP and SIGINT those that are not ignored now: they stop a run. One that was
/// ignored when the program was started (nohup, a background job of a script) stays so.
sigset_t stop_signals();

/// Errors: not_found (the working folder was removed), io.
Result<void> check_working_folder();

/// For programs of others: what of theirs would spoil our files. Errors: as above, environment (an
/// umask that takes the owner's rights).
Result<void> check_inherited();

/// A limit or a priority of this process that its children have, too, and that measuring suffers
/// from, with what would change it.
struct Hindrance {
  std::string what, cure;
};
std::vector<Hindrance> inherited_hindrances();

}  // namespace wb
