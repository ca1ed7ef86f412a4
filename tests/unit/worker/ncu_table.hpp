// SPDX-License-Identifier: MIT
// Lines of a table as ncu prints it, for tests of its readers.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace wb::worker::test {

inline constexpr std::string_view k_header =
    R"("ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream",)"
    R"("Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit",)"
    R"("Metric Value","Rule Name","Rule Type","Rule Description")"
    "\n";

inline std::string metric(int id, const std::string& kernel, const std::string& name,
                          const std::string& unit, const std::string& value) {
  return fmt::format(
      R"--("{}","77","worker","127.0.0.1","{}","1","13","(128, 1, 1)","(64, 8, 1)","0","9.0",)--"
      R"--("A section","{}","{}","{}")--"
      "\n",
      id, kernel, name, unit, value);
}

}  // namespace wb::worker::test
