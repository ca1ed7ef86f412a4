// SPDX-License-Identifier: MIT
#include "verbs/package_name.hpp"

#include <string_view>

#include "core/process.hpp"

namespace wb::verbs {
namespace {

// Each list has words between blanks; only names of lower-case letters, digits and '_' are looked
// up.

constexpr std::string_view k_python_keywords =
    " and as assert async await break class continue def del elif else except finally for from "
    "global if import in is lambda nonlocal not or pass raise return try while with yield ";

/// Modules of Python 3.9 to 3.14, so that the result does not depend on the version.
constexpr std::string_view k_standard_library =
    " abc aifc annotationlib antigravity argparse array ast asynchat asyncio asyncore atexit "
    "audioop base64 bdb binascii bisect builtins bz2 calendar cgi cgitb chunk cmath cmd code "
    "codecs codeop collections colorsys compileall compression concurrent configparser contextlib "
    "contextvars copy copyreg crypt csv ctypes curses dataclasses datetime dbm decimal difflib dis "
    "distutils doctest email encodings ensurepip enum errno faulthandler fcntl filecmp fileinput "
    "fnmatch fractions ftplib functools gc genericpath getopt getpass gettext glob graphlib grp "
    "gzip hashlib heapq hmac html http idlelib imaplib imghdr imp importlib inspect io ipaddress "
    "itertools json keyword lib2to3 linecache locale logging lzma mailbox mailcap marshal math "
    "mimetypes mmap modulefinder msilib msvcrt multiprocessing netrc nis nntplib nt ntpath "
    "nturl2path numbers opcode operator optparse os ossaudiodev pathlib pdb pickle pickletools "
    "pipes pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty pwd "
    "py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re readline reprlib resource "
    "rlcompleter runpy sched secrets select selectors shelve shlex shutil signal site "
    "sitecustomize "
    "smtpd smtplib sndhdr socket socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl "
    "stat "
    "statistics string stringprep struct subprocess sunau symtable sys sysconfig syslog tabnanny "
    "tarfile telnetlib tempfile termios test textwrap this threading time timeit tkinter token "
    "tokenize tomllib trace traceback tracemalloc tty turtle turtledemo types typing unicodedata "
    "unittest urllib usercustomize uu uuid venv warnings wave weakref webbrowser winreg winsound "
    "wsgiref xdrlib "
    "xml xmlrpc zipapp zipfile zipimport zlib zoneinfo ";

/// Packages that PyTorch installs or is built with, and names in torch.ops.
constexpr std::string_view k_pytorch =
    " torch torchgen functorch caffe2 triton numpy aten prim prims aoti_torch c10d c10d_functional "
    "cuda debug_mode_ops debugprims dist_autograd export fsdp higher_order image import_module "
    "inductor inductor_prims load_library loaded_libraries metal_prepack mkl mkldnn "
    "mkldnn_prepacked nvprims onednn onnx prepacked profiler quantization quantized "
    "quantized_decomposed rngprims sparse static_runtime streams symm_mem tensorexpr torchvision "
    "vulkan_prepack xnnpack ";

/// Tools that build and install packages, and our own names.
constexpr std::string_view k_tools =
    " pip setuptools wheel pkg_resources pytest sdpa_workbench sdpa_wb ";

/// Names beside the package in its folder (docs/guide/export.md).
constexpr std::string_view k_beside = " build csrc kernel setup test_op ";

/// C and C++ keywords; the last ones are macros of these compilers.
constexpr std::string_view k_cpp_keywords =
    " alignas alignof and and_eq asm atomic_cancel atomic_commit auto bitand bitor bool break case "
    "catch char char8_t char16_t char32_t class co_await co_return co_yield compl concept const "
    "const_cast consteval constexpr constinit continue decltype default delete do double "
    "dynamic_cast else enum explicit export extern false float for friend goto if inline int long "
    "mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public "
    "register reinterpret_cast requires restrict return short signed sizeof static static_assert "
    "static_cast struct switch synchronized template this thread_local throw true try typedef "
    "typeid typename typeof union unsigned using virtual void volatile wchar_t while xor xor_eq "
    "linux unix errno ";

/// Prints the owner of the name: a module that Python would import, or a distribution that pip
/// would replace ("_" and "-" are equal for pip). A package from an earlier export does not count.
constexpr std::string_view k_ask = R"(
import importlib.metadata as metadata, importlib.util as util, os, sys
name = sys.argv[1]
sys.path = [folder for folder in sys.path if folder]
try:
    found = util.find_spec(name)
except (ImportError, ValueError):
    found = None
folders = list(found.submodule_search_locations or []) if found else []
if not any(os.path.exists(os.path.join(folder, "PROVENANCE.json")) for folder in folders):
    if found:
        print(found.origin or next(iter(folders), "built in"))
    else:
        try:
            print(metadata.distribution(name).metadata["Name"] + ", as pip names it")
        except metadata.PackageNotFoundError:
            pass
)";

bool is_in(std::string_view words, const std::string& name) {
  return words.find(" " + name + " ") != std::string_view::npos;
}

/// Python's owner of this name; empty when there is none or Python does not run.
std::string installed_as(const std::string& name, const std::string& python) {
  ProcessSpec spec;
  spec.argv = {python, "-B", "-c", std::string(k_ask), name};
  spec.deadline = std::chrono::seconds(20);
  const auto done = run_process(spec);
  if (!done || !done->success()) return {};
  return done->out.substr(0, done->out.find('\n'));
}

}  // namespace

std::optional<std::string> owner_of_name(const std::string& name, const std::string& kind,
                                         const std::string& python) {
  if (is_in(k_cpp_keywords, name)) return "a word of C or C++";
  if (kind != "torch") return std::nullopt;
  if (is_in(k_python_keywords, name)) return "a keyword of Python";
  if (is_in(k_standard_library, name)) return "a module of Python's standard library";
  if (is_in(k_pytorch, name)) return "PyTorch's";
  if (is_in(k_tools, name)) return "a package that this one is built or used with";
  if (is_in(k_beside, name)) return "a folder or file of the exported package itself";
  if (python.empty()) return std::nullopt;
  const std::string installed = installed_as(name, python);
  if (installed.empty()) return std::nullopt;
  return "installed already (" + printable(installed, 200) + ")";
}

}  // namespace wb::verbs
