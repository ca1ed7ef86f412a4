// SPDX-License-Identifier: MIT
// What the command says: answers on standard output, messages on standard error. Both may be full,
// closed, or read by someone who leaves.
#pragma once

#include <string>
#include <string_view>

namespace wb::cli {

/// An answer, and the exit code with which the command then ends: `code` where all is written or
/// its reader has left (`| head`), who has what he wanted. Else 74, after a sentence on standard
/// error that ends with `next`, or with what can be done where that is empty.
int print(std::string_view text, int code, const std::string& next = {});

/// A message. Where even that cannot be written, nobody is left to be told.
void say(std::string_view text);

}  // namespace wb::cli
