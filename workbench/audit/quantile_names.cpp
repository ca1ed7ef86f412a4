// SPDX-License-Identifier: MIT
#include "audit/quantile_names.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "audit/document.hpp"
#include "core/ascii.hpp"

namespace wb::audit {

std::optional<QuantileName> quantile_of(const std::string& name) {
  struct Word {
    std::string_view word;
    double share;
  };
  static constexpr std::array<Word, 6> k_words{
      {{"min", 0}, {"minimum", 0}, {"median", 50}, {"med", 50}, {"max", 100}, {"maximum", 100}}};
  std::optional<QuantileName> rank;
  for (const Word& word : k_words) {
    const auto at = find_word(name, word.word);
    if (!at) continue;
    // "min(n.v)": a function.
    const std::size_t behind = *at + word.word.size();
    if (rank || (behind < name.size() && name[behind] == '(')) return std::nullopt;
    std::string rest = name;
    rank = QuantileName{word.share, trimmed(rest.erase(*at, word.word.size())), word.share == 50};
  }
  for (std::size_t at = name.find('p'); at != std::string::npos; at = name.find('p', at + 1)) {
    const bool begins = at == 0 || !ascii::is_alnum(name[at - 1]);
    double share = 0;
    const char* const end = name.data() + name.size();
    const auto [stop, fault] = std::from_chars(name.data() + at + 1, end, share);
    const bool ends = fault == std::errc() && (stop == end || !ascii::is_alnum(*stop));
    // "P95+" means the values above the quantile.
    if (!begins || !ends || name[at + 1] == '-' || (stop != end && *stop == '+')) continue;
    if (share == 999 || share == 995) share /= 10;
    if (share == 9999) share /= 100;
    // P4, P40 and P100 are GPUs and not quantiles.
    static constexpr std::array<double, 18> k_shares{1,  2,  5,  10, 20, 25, 50,   66,   70,
                                                     75, 80, 90, 95, 98, 99, 99.5, 99.9, 99.99};
    if (rank || std::find(k_shares.begin(), k_shares.end(), share) == k_shares.end()) {
      return std::nullopt;
    }
    std::string rest = name;
    rank = QuantileName{
        share, trimmed(rest.erase(at, static_cast<std::size_t>(stop - name.data()) - at)), true};
  }
  if (rank) {
    std::string& subject = rank->subject;
    std::replace(subject.begin(), subject.end(), '_', ' ');
    subject = trimmed(subject);
  }
  return rank;
}

bool is_bound(const std::string& subject) {
  static constexpr std::array<std::string_view, 16> k_words{
      "gate", "target", "limit",   "budget",   "goal",     "slo",       "sla",     "threshold",
      "cap",  "bound",  "ceiling", "expected", "required", "allowance", "allowed", "objective"};
  return std::any_of(k_words.begin(), k_words.end(),
                     [&](auto word) { return has_word(subject, word); });
}

void give_subjects(std::vector<QuantileName>& ranks) {
  const bool twice = std::any_of(ranks.begin(), ranks.end(), [&](const QuantileName& a) {
    return std::any_of(ranks.begin(), ranks.end(), [&](const QuantileName& b) {
      return &a != &b && a.share == b.share && a.subject.empty() && b.subject.empty();
    });
  });
  std::string left;
  for (QuantileName& rank : ranks) {
    if (!rank.subject.empty()) {
      left = rank.subject;
    } else if (twice) {
      rank.subject = left;
      rank.given = true;
    }
  }
}

bool is_difference(const std::string& lower) {
  static constexpr std::array<std::string_view, 13> k_words{
      "delta", "diff",  "difference", "change",    "improvement", "overhead", "reduction",
      "gain",  "saved", "savings",    "deviation", "std",         "error"};
  return std::any_of(k_words.begin(), k_words.end(),
                     [&](auto word) { return has_word(lower, word); });
}

}  // namespace wb::audit
