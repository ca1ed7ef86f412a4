// SPDX-License-Identifier: MIT
// Why a compiler process failed: the source, one of our limits, the machine, or the compiler
// itself. The toolchains confirm a suspected machine fault by a second run.
#pragma once

#include <string>
#include <string_view>

#include "core/process.hpp"

namespace wb::variant {

enum class CompileFault {
  source,        ///< the compiler refused the source
  timeout,       ///< our deadline
  memory_limit,  ///< our address-space limit
  file_limit,    ///< our file-size limit
  machine,       ///< looks like a full disk or a broken installation; the text alone is no proof
  killed,        ///< SIGKILL by someone else: most likely the system ran out of memory
  crashed        ///< the compiler crashed
};

/// Classifies by the process's exit and output.
CompileFault classify_compile_fault(const ProcessOutcome& outcome);

/// One sentence for the Failure's message.
std::string describe(CompileFault fault, std::string_view compiler, const ProcessSpec& spec);

}  // namespace wb::variant
