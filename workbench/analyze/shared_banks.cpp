// SPDX-License-Identifier: MIT
#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <string_view>

#include "analyze/lanes.hpp"

namespace wb::analyze {
namespace {

constexpr std::int64_t k_bank_bytes = 4, k_banks = 32;

int bits_of_access(std::string_view opcode) {
  if (opcode.find(".128") != std::string_view::npos) return 128;
  return opcode.find(".64") != std::string_view::npos ? 64 : 32;
}

/// Wide accesses handle the warp in two or four groups of lanes; each group needs as many passes as
/// its fullest bank has different words.
int ways_of(const LaneValue& address, int bits) {
  const std::size_t group = 32 * 32 / static_cast<std::size_t>(bits);
  std::size_t worst = 1;
  for (std::size_t begin = 0; begin < address.lanes.size(); begin += group) {
    std::map<std::int64_t, std::set<std::int64_t>> words;
    for (std::size_t lane = begin; lane < begin + group; ++lane) {
      for (std::int64_t byte = 0; byte < bits / 8; byte += k_bank_bytes) {
        // An offset far from zero, so that division rounds all lanes alike.
        const std::int64_t word = (address.lanes[lane] + byte + (k_most_align >> 1)) / k_bank_bytes;
        words[word % k_banks].insert(word);
      }
    }
    for (const auto& [bank, different] : words) worst = std::max(worst, different.size());
  }
  return static_cast<int>(worst);
}

/// The possible successors of each instruction; nothing when one is computed.
std::optional<std::vector<std::vector<std::size_t>>> ways_through(
    const std::vector<SassLine>& code) {
  std::map<std::int64_t, std::size_t> place;
  for (std::size_t i = 0; i < code.size(); ++i) place[code[i].address] = i;
  std::vector<std::vector<std::size_t>> next(code.size());
  std::vector<std::size_t> meeting_points;  // of BSSY: where its threads reconverge
  for (std::size_t i = 0; i < code.size(); ++i) {
    const std::string_view opcode = code[i].opcode.substr(0, code[i].opcode.find('.'));
    const bool jumps = opcode == "BRA" || opcode == "BSSY";
    if (opcode == "BRX" || opcode == "JMX" || opcode == "JMP" || opcode == "BRXU") {
      return std::nullopt;
    }
    const auto operands = operands_of(code[i]);
    if (jumps) {
      const auto target = operands.empty() ? std::nullopt : immediate(operands.back());
      if (!target || !place.contains(*target)) return std::nullopt;
      next[i].push_back(place[*target]);
      if (opcode == "BSSY") meeting_points.push_back(place[*target]);
    }
    const bool ends =
        (opcode == "EXIT" || opcode == "RET" || (opcode == "BRA" && operands.size() == 1)) &&
        !code[i].is_predicated;
    if (!ends && i + 1 < code.size()) next[i].push_back(i + 1);
  }
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (!code[i].opcode.starts_with("BSYNC")) continue;
    next[i].insert(next[i].end(), meeting_points.begin(), meeting_points.end());
  }
  return next;
}

bool reads_more_dimensions(const std::vector<SassLine>& code) {
  return std::any_of(code.begin(), code.end(), [](const SassLine& line) {
    return line.operands.find("SR_TID.Y") != std::string_view::npos ||
           line.operands.find("SR_TID.Z") != std::string_view::npos;
  });
}

using Paths = std::vector<std::vector<std::size_t>>;

/// The first instructions of basic blocks: jump targets, and instructions after a branch.
std::set<std::size_t> heads_of(const Paths& next) {
  std::set<std::size_t> heads;
  for (std::size_t i = 0; i < next.size(); ++i) {
    for (const std::size_t to : next[i]) {
      if (to != i + 1 || next[i].size() > 1) heads.insert(to);
    }
  }
  return heads;
}

/// The register values before each basic block, joined over all paths. Every round reduces what is
/// known, so it terminates.
std::map<std::size_t, LaneState> states_of(const std::vector<SassLine>& code, const Paths& next,
                                           const std::set<std::size_t>& heads) {
  std::map<std::size_t, LaneState> begins{{0, LaneState{}}};
  std::deque<std::size_t> work{0};
  while (!work.empty()) {
    std::size_t i = work.front();
    work.pop_front();
    LaneState state = begins.at(i);
    for (;; ++i) {
      step(code[i], state);
      const bool goes_on = next[i].size() == 1 && next[i][0] == i + 1 && !heads.contains(i + 1);
      if (!goes_on) break;
    }
    for (const std::size_t to : next[i]) {
      const auto [slot, is_new] = begins.try_emplace(to, state);
      if (is_new) {
        work.push_back(to);
        continue;
      }
      LaneState met = slot->second;
      for (std::size_t r = 0; r < met.size(); ++r) met[r] = meet(met[r], state[r]);
      if (met == slot->second) continue;
      slot->second = met;
      work.push_back(to);
    }
  }
  return begins;
}

bool is_access(const SassLine& line) {
  const std::string_view base = line.opcode.substr(0, line.opcode.find('.'));
  return base == "LDS" || base == "STS";
}

void count_access(const SassLine& line, const std::optional<LaneState>& state, SharedBanks& banks) {
  const auto operands = operands_of(line);
  const std::size_t at = line.opcode.starts_with("LDS") ? 1 : 0;
  const bool is_followed = state && !line.is_predicated && at < operands.size();
  const Known address = is_followed ? address_of(operands[at], *state) : std::nullopt;
  if (address) {
    ++banks.ways[ways_of(*address, bits_of_access(line.opcode))];
  } else {
    ++banks.unknown;
  }
}

}  // namespace

SharedBanks shared_banks(const std::vector<SassLine>& code) {
  SharedBanks banks;
  const bool has_any = std::any_of(code.begin(), code.end(), is_access);
  if (!has_any) return banks;
  const auto next = ways_through(code);
  const bool is_followed = next && !reads_more_dimensions(code);
  const std::set<std::size_t> heads = is_followed ? heads_of(*next) : std::set<std::size_t>();
  std::map<std::size_t, LaneState> begins;
  if (is_followed) begins = states_of(code, *next, heads);
  std::optional<LaneState> state;  // nothing for unreachable code
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (const auto found = begins.find(i); found != begins.end()) {
      state = found->second;
    } else if (heads.contains(i)) {
      state.reset();
    }
    if (is_access(code[i])) count_access(code[i], state, banks);
    if (!state) continue;
    step(code[i], *state);
    const auto& after = (*next)[i];
    if (std::find(after.begin(), after.end(), i + 1) == after.end()) state.reset();
  }
  return banks;
}

}  // namespace wb::analyze
