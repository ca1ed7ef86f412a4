// SPDX-License-Identifier: MIT
#include "variant/include_scan.hpp"

#include "support/catch.hpp"

using namespace wb;
using namespace wb::variant;
using Names = std::vector<std::string>;

namespace {

Names names(const std::string& text) {
  const auto found = scan_includes(text, "k/kernel.cpp");
  INFO((found.ok() ? std::string() : found.error().message()));
  REQUIRE(found.ok());
  return *found;
}

}  // namespace

TEST_CASE("quoted includes are found as the compiler finds them", "[variant][include]") {
  CHECK(names("#include \"a.h\"\n#include <cmath>\n  #  include\t\"b/c.h\" // x\n") ==
        Names{"a.h", "b/c.h"});
  CHECK(names("/* x */ # /* y */ include /* z */ \"a.h\"") == Names{"a.h"});
  CHECK(names("#inc\\\nlude \"a.h\"") == Names{"a.h"});
  CHECK(names("#include \\  \n \"a.h\"") == Names{"a.h"});
  CHECK(names("%:include \"a.h\"") == Names{"a.h"});
  CHECK(names("#if 0\n#include \"a.h\"\n#endif\r\n#include \"b.h\"\r\n") == Names{"a.h", "b.h"});
  CHECK(names("int a = 1'000; // it's\n#include \"a.h\"") == Names{"a.h"});
  CHECK(names("char c = '\"';\n#include \"a.h\"\nchar d = '\\'';\n#include \"b.h\"") ==
        Names{"a.h", "b.h"});
  CHECK(names("#error it's\n#include \"a.h\"") == Names{"a.h"});
}

TEST_CASE("what only looks like an include is left alone", "[variant][include]") {
  CHECK(names("// #include \"a.h\"\n/*\n#include \"b.h\"\n*/\n").empty());
  CHECK(names("const char* s = \"\\\n#include \\\"a.h\\\"\";").empty());
  CHECK(names("auto s = R\"(\n#include \"a.h\"\n)\";").empty());
  CHECK(names("auto s = u8R\"xy(\n)\"\n#include \"a.h\"\n)xy\";\n#include \"b.h\"") ==
        Names{"b.h"});
  CHECK(names("int x; #include \"a.h\"").empty());
  CHECK(names("#included \"a.h\"").empty());
  CHECK(names("").empty());
}

TEST_CASE("includes that hide their target are refused", "[variant][include][hostile]") {
  for (const std::string text :
       {"#include MACRO", "#include", "#include_next \"a.h\"", "#import \"a.h\"",
        "#embed \"/etc/passwd\"", "#include </etc/passwd>", "#include <../../x.h>",
        "#define X \"a.h\"\n#include X"}) {
    INFO(text);
    const auto found = scan_includes(text, "k/kernel.cpp");
    REQUIRE_FALSE(found.ok());
    CHECK(found.error().code == ErrorCode::invalid);
    CHECK(found.error().message().find("k/kernel.cpp") != std::string::npos);
  }
}

TEST_CASE("a raw string hides nothing by a joined line", "[variant][include][hostile]") {
  // The compilers undo the splice inside a raw string: the string ends in the first line.
  CHECK(names("auto s = R\"(abc)\\\n\" R\"y( )\";\n#include \"a.h\"\n// )y\"\n") == Names{"a.h"});
  CHECK(names("auto s = R\"(\\\n#include \"a.h\"\n)\";\n#include \"b.h\"\n") == Names{"b.h"});
  CHECK(names("#define A \\\n  1\nauto s = R\"(\\\n\\\n)\"; int x;\\\n\n#include \"a.h\"\n") ==
        Names{"a.h"});
}

TEST_CASE("what would make a build depend on more than its files is refused",
          "[variant][include][hostile]") {
  for (const std::string text :
       {"#if __has_include(\"/etc/passwd\")\n#endif", "#if __has_include(</etc/passwd>)\n#endif",
        "#if __has_include(\"../x.h\")\n#endif", "#define H __has_include\n#if H(<a>)\n#endif",
        "#define F \"/x\"\n#if __has_include(F)\n#endif", "#if __has_embed(\"/x\")\n#endif",
        "#define C(a, b) a##b\n#if C(__has_, include)(</x>)\n#endif",
        "#define C(a, b) a##b\n#if C(_, _has_include)(</x>)\n#endif",
        "#define C(a, b) a%:%:b\n#if C(__has_inc, lude)(</x>)\n#endif", "auto s = __DATE__;",
        "auto s = __TI\\\nME__;", "auto s = \"a\" __TIMESTAMP__;", "asm(\".incbin \\\"/x\\\"\");",
        "asm(\".inc\" \"bin \\\"/x\\\"\");", "asm(R\"(.include \"/x\")\");"}) {
    INFO(text);
    const auto found = scan_includes(text, "k/kernel.cpp");
    REQUIRE_FALSE(found.ok());
    CHECK(found.error().code == ErrorCode::invalid);
  }
  CHECK(
      names("#if defined(__has_include) && __has_include(<bit>)\n#include <bit>\n#endif").empty());
  CHECK(names("#ifdef __has_include\n#if __has_include(\"a.h\")\n#endif\n#endif").empty());
  CHECK(names("// __DATE__ and __has_include(\"/x\")\nauto s = \"__TIME__\";").empty());
  CHECK(names("#define C(a, b) a##b\nint __has_builtin_of_mine, has;").empty());
}

TEST_CASE("unfinished text ends the scan", "[variant][include][hostile]") {
  for (const std::string text : {"#", "#include \"a", "#include <a", "/*", "\"", "'", "R\"(", "R\"",
                                 "R\"01234567890123456789(", "\\", "\\\n", "'\\"}) {
    INFO(text);
    CHECK(names(text).empty());
  }
}

TEST_CASE("imports from common are found in Python", "[variant][include]") {
  CHECK(scan_common_imports("import torch\nfrom common.torch_sdpa import only, sdpa\n") ==
        Names{"torch_sdpa"});
  CHECK(scan_common_imports("def f():\n    import common.a_1 as a\n\tfrom common.b import c\r\n") ==
        Names{"a_1", "b"});
  CHECK(scan_common_imports("# from common.x import y\nfrom common import z\nfrom common.\n")
            .empty());
  CHECK(scan_common_imports("from commons.x import y\ntext = 'import common.x'\n").empty());
}
