// SPDX-License-Identifier: MIT
// Output of the command: answers on standard output, messages on standard error. Both may be full,
// closed, or read by a process that ends early.
#pragma once

#include <string>
#include <string_view>

namespace wb::cli {

/// Prints an answer and returns the exit code: `code` if all was written or the reader has left (`|
/// head`). Else 74, after a sentence on standard error that ends with `next`, or with a remedy if
/// `next` is empty.
int print(std::string_view text, int code, const std::string& next = {});

/// Prints a message; a failure to write is ignored.
void say(std::string_view text);

}  // namespace wb::cli
