// SPDX-License-Identifier: MIT
// Sources that attack the compiler.
// Each part behind a mark is a source of its own, which gauntlet.py cuts out; nothing compiles this
// file as a whole.

// ==== includes_password_file
// The compiler would quote its first line in an error.
#include "/etc/passwd"

// ==== includes_endless_file
// A file that never ends.
#include "/dev/zero"

// ==== includes_standard_input
// A compiler that waits for its standard input.
#include "/dev/stdin"

// ==== includes_itself
// A header that includes itself until the compiler gives up.
#include "kernel.cpp"

// ==== embeds_secret
// The assembler takes a file of the machine into the library. The test names the file.
#include "hostile.hpp"

asm(".pushsection .rodata\n.incbin \"SECRET_FILE\"\n.popsection");

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}

// ==== assembles_endless_file
// The assembler reads a file that never ends.
asm(".include \"/dev/zero\"");

// ==== exponential_templates
// Each level has twice the instances of the one above it.
template <int Depth, unsigned long Path>
struct Tree {
  static constexpr unsigned long value =
      Tree<Depth - 1, Path * 2>::value + Tree<Depth - 1, Path * 2 + 1>::value;
};
template <unsigned long Path>
struct Tree<0, Path> {
  static constexpr unsigned long value = Path;
};
unsigned long wb_tree = Tree<40, 0>::value;

// ==== constant_loop
// A loop that the compiler is to run.
constexpr int endless() {
  int sum = 0;
  for (int i = 0; i >= 0; i = (i + 1) % 1000) sum ^= i;
  return sum;
}
static_assert(endless() == 0);

// ==== many_errors
// Hundreds of thousands of errors.
#define E1 nothing_here;
#define E10 E1 E1 E1 E1 E1 E1 E1 E1 E1 E1
#define E100 E10 E10 E10 E10 E10 E10 E10 E10 E10 E10
#define E1000 E100 E100 E100 E100 E100 E100 E100 E100 E100 E100
#define E10000 E1000 E1000 E1000 E1000 E1000 E1000 E1000 E1000 E1000 E1000
#define E100000 E10000 E10000 E10000 E10000 E10000 E10000 E10000 E10000 E10000 E10000
void wb_errors() {
  E100000 E100000
}

// ==== huge_array
// Three gigabytes of initialized data.
char wb_huge[3ul << 30] = {1};

// ==== line_directives
// A hundred thousand line directives; the test writes them at the end of this file.
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}

// ==== c_has_include
// Is another program where a file of the machine is there.
#if __has_include("SECRET_FILE")
#define FOUND 1
#endif
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}

// ==== c_pasted_probe
// The same, with the name of the probe pasted together.
#define PASTE(a, b) a##b
#if PASTE(__has_, include)("SECRET_FILE")
#define FOUND 1
#endif
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}

// ==== c_time
// Is another program at another time.
static const char* const k_built = __DATE__ __TIME__;
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  if (k_built[0] == '?') return WB_FAILED;
  return hostile::honest(plan, args);
}

// ==== c_pasted_time
// The same, with the name pasted together.
#define PASTE(a, b) a##b
static const char* const k_built = PASTE(__TI, ME__);
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  if (k_built[0] == '?') return WB_FAILED;
  return hostile::honest(plan, args);
}

// ==== c_assembled
// Has the assembler take a file in, by a directive of two halves.
asm(".macro take a b\n"
    ".\\a\\b \"SECRET_FILE\"\n"
    ".endm\n"
    ".section .rodata\n"
    "take inc bin\n"
    ".text\n");
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}

// ==== c_raw_splice
// A raw string that ends in a joined line hides an include.
static const char* s_hidden = R"(abc)\
" R"y( )";
#include "SECRET_FILE"
// )y"
#include "hostile.hpp"

static int forward(wb_sdpa_plan& plan, const wb_sdpa_args& args) {
  return hostile::honest(plan, args);
}

// ==== doubles_macros
// Two to the power of 29 tokens.
#define X0 ;
#define X1 X0 X0
#define X2 X1 X1
#define X3 X2 X2
#define X4 X3 X3
#define X5 X4 X4
#define X6 X5 X5
#define X7 X6 X6
#define X8 X7 X7
#define X9 X8 X8
#define X10 X9 X9
#define X11 X10 X10
#define X12 X11 X11
#define X13 X12 X12
#define X14 X13 X13
#define X15 X14 X14
#define X16 X15 X15
#define X17 X16 X16
#define X18 X17 X17
#define X19 X18 X18
#define X20 X19 X19
#define X21 X20 X20
#define X22 X21 X21
#define X23 X22 X22
#define X24 X23 X23
#define X25 X24 X24
#define X26 X25 X25
#define X27 X26 X26
#define X28 X27 X27
#define X29 X28 X28
X29
