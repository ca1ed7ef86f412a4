// SPDX-License-Identifier: MIT
#include "variant/cuda_target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace wb::variant {

namespace {

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// The target for a device of that number from a source written for `written`; nothing when it
/// cannot run it.
std::optional<CudaTarget> served(CudaTarget written, int number) {
  if (written.suffix == 'a') {
    return written.number == number ? std::optional(written) : std::nullopt;
  }
  if (written.number > number) return std::nullopt;
  if (written.suffix == 'f') {
    const bool same_family = written.number / 10 == number / 10;
    return same_family ? std::optional(CudaTarget{number, 'f'}) : std::nullopt;
  }
  return CudaTarget{number, 0};
}

/// The most specific target that the list allows for that device: its own, its family's, plain.
std::optional<CudaTarget> best_for(const std::vector<std::string>& architectures, int number) {
  if (architectures.empty()) return CudaTarget{number, 0};
  const auto rank = [](CudaTarget target) {
    return target.suffix == 'a' ? 2 : target.suffix == 'f' ? 1 : 0;
  };
  std::optional<CudaTarget> best;
  for (const std::string& word : architectures) {
    const auto written = parse_cuda_target(word);
    const auto target = written ? served(*written, number) : std::nullopt;
    if (target && (!best || rank(*target) > rank(*best))) best = target;
  }
  return best;
}

Error no_target(ErrorCode code, std::string cause, std::string next) {
  return Error{code, "choose the target of", "a CUDA build", std::move(cause), std::move(next)};
}

}  // namespace

std::optional<CudaTarget> parse_cuda_target(std::string_view word) {
  if (!word.starts_with("sm_")) return std::nullopt;
  word.remove_prefix(3);
  CudaTarget target;
  const char* end = word.data() + word.size();
  const auto [stop, fault] = std::from_chars(word.data(), end, target.number);
  const auto digits = stop - word.data();
  if (fault != std::errc() || word[0] == '-' || digits < 2 || digits > 3) return std::nullopt;
  if (stop == end) return target;
  target.suffix = *stop;
  const bool known = target.suffix == 'a' || target.suffix == 'f';
  return known && stop + 1 == end ? std::optional(target) : std::nullopt;
}

std::string to_text(CudaTarget target) {
  return "sm_" + fmt::to_string(target.number) +
         (target.suffix == 0 ? std::string() : std::string(1, target.suffix));
}

std::string gencode_of(CudaTarget target) {
  const std::string code = to_text(target);
  return "arch=compute_" + code.substr(3) + ",code=" + code;
}

Result<std::string> choose_cuda_target(const std::vector<std::string>& architectures,
                                       std::string_view device, std::string_view wanted) {
  const bool has_wish = !wanted.empty() && wanted != "native";
  if (!has_wish && device.empty()) {
    if (architectures.empty()) {
      return no_target(ErrorCode::environment,
                       "there is no device, and its manifest names no architecture",
                       "give --target, such as sm_90a");
    }
    if (parse_cuda_target(architectures.front())) return architectures.front();
    return no_target(ErrorCode::invalid,
                     "\"" + architectures.front() + "\" in its manifest is no CUDA architecture",
                     "name one such as sm_80 or sm_90a under \"architectures\"");
  }
  const std::string_view word = has_wish ? wanted : device;
  const auto asked = parse_cuda_target(word);
  if (!asked) {
    return no_target(ErrorCode::invalid, "\"" + std::string(word) + "\" is no CUDA architecture",
                     "name one such as sm_80, sm_90a or sm_100f");
  }
  auto best = best_for(architectures, asked->number);
  if (!best) {
    return no_target(ErrorCode::invalid,
                     "it is written for " + listed(architectures) + ", not for " + to_text(*asked),
                     has_wish ? "give --target one of these, or extend \"architectures\""
                              : "use a device that it is written for, or --target to build only");
  }
  if (has_wish && best->suffix == 0) best->suffix = asked->suffix;
  return to_text(*best);
}

}  // namespace wb::variant
