// SPDX-License-Identifier: MIT
// How many threads or processes the system lets this user start. Limits of several kinds (of a
// user, of control groups, of the machine) stand against that, so it is tried instead of computed.
// Who calls: worker (threads of a variant), variant (processes of a compiler).
#pragma once

namespace wb {

/// How many threads more start in this process, at most `wanted`; the limits count processes
/// likewise. They end before it returns.
int startable_threads(int wanted);

}  // namespace wb
