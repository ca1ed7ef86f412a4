// SPDX-License-Identifier: MIT
// What a process inherits from its parent: open descriptors, signal dispositions, umask, limit of
// open files, working folder. Our programs repair these first of all; inside a foreign program
// (Python) they are only checked, and an error names the obstacle.
#pragma once

#include <csignal>
#include <string>
#include <vector>

#include "core/error.hpp"

namespace wb {

/// For main() of our own programs, before any file is opened or thread started:
/// - fill_standard_descriptors();
/// - unblocks all signals, gives SIGCHLD its default (or the end of a child could not be seen) and
/// ignores SIGPIPE and SIGXFSZ, so that a failing write returns an error; other signals keep their
/// dispositions;
/// - clears the owner's bits of the umask, or we could not read what we write;
/// - raises the soft limits of open files and of the stack to what a session needs, within the hard
/// limits.
void put_inherited_in_order();

/// Opens closed descriptors among 0 to 2 on safe targets, so that none of our files gets such a
/// number and receives terminal output. Reads from 0 see the end of input, writes to 1 fail as
/// before, writes to 2 are lost.
void fill_standard_descriptors();

/// The signals that stop a run: SIGTERM, SIGHUP and SIGINT without those ignored now. A signal that
/// was ignored at start (nohup, a background job of a script) stays ignored.
sigset_t stop_signals();

/// Errors: not_found (the working folder was removed), io.
Result<void> check_working_folder();

/// For foreign host programs: reports inherited settings that would spoil our files. Errors: as
/// above, environment (an umask that takes the owner's rights).
Result<void> check_inherited();

/// A limit or priority, inherited by children too, that disturbs measuring, with its remedy.
struct Hindrance {
  std::string what, cure;
};
std::vector<Hindrance> inherited_hindrances();

}  // namespace wb
