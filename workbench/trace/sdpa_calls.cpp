// SPDX-License-Identifier: MIT
#include "trace/sdpa_calls.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "trace/op_sizes.hpp"

namespace wb::trace {
namespace {

class Finder {
 public:
  explicit Finder(const Trace& trace) : m_trace(trace), m_owner(trace.host.size(), k_none) {}

  SdpaCalls run() {
    mark_dispatchers();
    find_operators();
    find_steps();
    std::sort(m_calls.begin(), m_calls.end(), [this](const SdpaCall& a, const SdpaCall& b) {
      return m_trace.host[a.host].uid < m_trace.host[b.host].uid;
    });
    give_kernels();
    return keep_timed();
  }

 private:
  [[nodiscard]] const HostEvent& host(std::uint32_t i) const { return m_trace.host[i]; }

  /// The rule of a name id, cached because names are few and events many.
  const std::optional<OpRule>& rule(std::uint32_t name) {
    if (m_rules.size() <= name) m_rules.resize(m_trace.strings.size());
    auto& entry = m_rules[name];
    if (!entry) entry = rule_of(m_trace.text(name));
    return *entry;
  }

  /// A dispatching operator with another attention operator inside does not count itself.
  void mark_dispatchers() {
    m_dispatched.assign(m_trace.host.size(), false);
    for (std::uint32_t i = 0; i < m_trace.host.size(); ++i) {
      if (host(i).kind != HostKind::cpu_op || !rule(host(i).name)) continue;
      // All operators around a marked one are marked already.
      for (std::uint32_t at = host(i).parent; at != k_none && !m_dispatched[at];
           at = host(at).parent) {
        m_dispatched[at] = true;
      }
    }
  }

  /// Outer events come first, so a parent's owner is already known.
  void find_operators() {
    for (std::uint32_t i = 0; i < m_trace.host.size(); ++i) {
      const HostEvent& event = host(i);
      const std::uint32_t outer = event.parent == k_none ? k_none : m_owner[event.parent];
      m_owner[i] = outer;
      if (outer != k_none || event.kind != HostKind::cpu_op) continue;
      const std::string& name = m_trace.text(event.name);
      if (const auto& found = rule(event.name)) {
        if (found->dispatches && m_dispatched[i]) continue;
        m_owner[i] = add({.name = name, .host = i, .rule = *found});
      } else if (is_kv_cache(event.name)) {
        SdpaCall call{.name = name, .host = i, .kind = CallKind::kv_cache};
        call.rule.attention = Attention::paged;
        m_owner[i] = add(std::move(call));
      }
    }
  }

  bool is_kv_cache(std::uint32_t name) {
    const std::string& text = m_trace.text(name);
    return text.find("::") != std::string::npos && writes_kv_cache(text);
  }

  std::uint32_t add(SdpaCall call) {
    m_calls.push_back(std::move(call));
    return static_cast<std::uint32_t>(m_calls.size() - 1);
  }

  /// Finds, per thread, a product, a softmax and a product in sequence, none inside another step.
  void find_steps() {
    std::vector<std::uint32_t> steps;
    std::vector<bool> in_step(m_trace.host.size(), false);  // a step, or inside of one
    for (std::uint32_t i = 0; i < m_trace.host.size(); ++i) {
      if (i > 0 && host(i).thread != host(i - 1).thread) steps.clear();
      const bool inside = host(i).parent != k_none && in_step[host(i).parent];
      in_step[i] = inside;
      if (inside || host(i).kind != HostKind::cpu_op) continue;
      const Step step = step_of(m_trace.text(host(i).name));
      in_step[i] = step != Step::none;
      if (m_owner[i] != k_none || step == Step::none) continue;
      steps.push_back(i);
      if (step == Step::product) close_steps(steps);
    }
  }

  [[nodiscard]] std::uint32_t operator_around(std::uint32_t i) const {
    std::uint32_t at = host(i).parent;
    while (at != k_none && host(at).kind != HostKind::cpu_op) at = host(at).parent;
    return at;
  }

  /// Steps with inconsistent sizes count if one operator with attention in its name contains them
  /// all.
  [[nodiscard]] bool in_one_attention(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    const std::uint32_t around = operator_around(a);
    return around != k_none && around == operator_around(b) && around == operator_around(c) &&
           names_attention(m_trace.text(host(around).name));
  }

  [[nodiscard]] std::uint32_t last_of(const std::vector<std::uint32_t>& steps, std::size_t end,
                                      Step wanted) const {
    for (std::size_t i = end; i > 0; --i) {
      if (step_of(m_trace.text(host(steps[i - 1]).name)) == wanted) {
        return static_cast<std::uint32_t>(i - 1);
      }
    }
    return k_none;
  }

  /// Called at a product: whether it completes an attention. Steps before the last product are
  /// dropped.
  void close_steps(std::vector<std::uint32_t>& steps) {
    const std::size_t last = steps.size() - 1;
    const std::uint32_t first = last_of(steps, last, Step::product);
    const std::uint32_t softmax = last_of(steps, last, Step::softmax);
    const bool in_order = first != k_none && softmax != k_none && softmax > first;
    if (in_order && softmax_of_product(m_trace, steps[first], steps[softmax]) &&
        (softmax_in_product(m_trace, steps[softmax], steps[last]) ||
         in_one_attention(steps[first], steps[softmax], steps[last]))) {
      SdpaCall call{.name = std::string(k_unfused_name), .host = steps[first]};
      call.rule.attention = Attention::standard;
      call.steps = {steps[first], steps[softmax], steps[last]};
      for (std::size_t i = first; i < softmax; ++i) {
        call.masked = call.masked || adds_mask(m_trace.text(host(steps[i]).name));
      }
      const std::uint32_t id = add(std::move(call));
      for (std::size_t i = first; i <= last; ++i) m_owner[steps[i]] = id;
    }
    steps.erase(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(last));
  }

  [[nodiscard]] std::uint32_t owner_of(std::uint32_t at) const {
    while (at != k_none && m_owner[at] == k_none) at = host(at).parent;
    return at == k_none ? k_none : m_owner[at];
  }

  void give_kernels() {
    // The calls were sorted after they were numbered.
    std::vector<std::uint32_t> place(m_calls.size());
    std::vector<std::uint32_t> by_host(m_trace.host.size(), k_none);
    for (std::uint32_t i = 0; i < m_calls.size(); ++i) by_host[m_calls[i].host] = i;
    for (std::uint32_t i = 0; i < m_trace.host.size(); ++i) {
      if (by_host[i] != k_none && m_owner[i] != k_none) place[m_owner[i]] = by_host[i];
    }
    for (std::uint32_t i = 0; i < m_trace.gpu.size(); ++i) {
      const std::uint32_t owner = owner_of(m_trace.gpu[i].host);
      if (owner != k_none) {
        m_calls[place[owner]].kernels.push_back(i);
      } else if (m_trace.gpu[i].kind == GpuKind::kernel &&
                 is_attention_kernel(m_trace.text(m_trace.gpu[i].name))) {
        m_nobodys.push_back(i);
      }
    }
  }

  SdpaCalls keep_timed() {
    SdpaCalls result;
    result.unclaimed_kernels = m_nobodys.size();
    tell_nobodys(result);
    for (SdpaCall& call : m_calls) {
      const auto untimed = [this](std::uint32_t i) { return m_trace.gpu[i].dur_us < 0; };
      if (call.kernels.empty()) {
        result.without_kernels += 1;
      } else if (std::any_of(call.kernels.begin(), call.kernels.end(), untimed)) {
        result.without_time += 1;
      } else {
        std::sort(call.kernels.begin(), call.kernels.end(),
                  [this](auto a, auto b) { return m_trace.gpu[a].ts_us < m_trace.gpu[b].ts_us; });
        call.kernel_us = busy_us(m_trace, call.kernels);
        result.calls.push_back(std::move(call));
      }
    }
    tell_ranks(result);
    return result;
  }

  /// Adds the time of several ranks' events, because each rank has its own clock.
  [[nodiscard]] double busy_of_ranks(const std::vector<std::uint32_t>& events) const {
    std::map<std::uint32_t, std::vector<std::uint32_t>> of_ranks;
    for (const std::uint32_t i : events) of_ranks[m_trace.rank_of(m_trace.gpu[i])].push_back(i);
    double sum = 0;
    for (auto& [rank, own] : of_ranks) sum += busy_us(m_trace, std::move(own));
    return sum;
  }

  void tell_nobodys(SdpaCalls& result) const {
    result.unclaimed_us = busy_of_ranks(m_nobodys);
    if (m_nobodys.empty()) return;
    std::vector<std::uint32_t> all;
    for (std::uint32_t i = 0; i < m_trace.gpu.size(); ++i) {
      if (m_trace.gpu[i].kind == GpuKind::kernel) all.push_back(i);
    }
    const double all_us = busy_of_ranks(all);
    result.unclaimed_percent = all_us > 0 ? 100 * result.unclaimed_us / all_us : 0;
    std::map<std::pair<std::uint32_t, std::uint32_t>, SdpaCalls::Unclaimed> by_name;
    for (const std::uint32_t i : m_nobodys) {
      const GpuEvent& event = m_trace.gpu[i];
      std::uint32_t around = event.host;
      if (around != k_none && host(around).kind != HostKind::cpu_op)
        around = operator_around(around);
      SdpaCalls::Unclaimed& entry =
          by_name[{event.name, around == k_none ? k_none : host(around).name}];
      entry.name = m_trace.text(event.name);
      if (around != k_none) entry.launched_by = m_trace.text(host(around).name);
      entry.count += 1;
      entry.us += std::max(event.dur_us, 0.0);
    }
    for (auto& [key, entry] : by_name) result.unclaimed.push_back(std::move(entry));
    std::stable_sort(result.unclaimed.begin(), result.unclaimed.end(),
                     [](const auto& a, const auto& b) { return a.us > b.us; });
  }

  void tell_ranks(SdpaCalls& result) const {
    if (m_trace.ranks.size() < 2) return;
    for (const std::string& name : m_trace.ranks) result.ranks.push_back({name, 0, 0});
    for (const SdpaCall& call : result.calls) {
      const std::uint32_t rank = m_trace.rank_of(m_trace.gpu[call.kernels.front()]);
      if (call.kind != CallKind::attention || rank >= result.ranks.size()) continue;
      result.ranks[rank].calls += 1;
      result.ranks[rank].kernel_us += call.kernel_us;
    }
  }

  const Trace& m_trace;
  std::vector<std::uint32_t> m_owner;  // by host event: the call it belongs to
  std::vector<bool> m_dispatched;
  std::vector<std::optional<std::optional<OpRule>>> m_rules;
  std::vector<SdpaCall> m_calls;
  std::vector<std::uint32_t> m_nobodys;  // kernels named like attention, of no call
};

}  // namespace

SdpaCalls find_sdpa_calls(const Trace& trace) {
  return Finder(trace).run();
}

double busy_us(const Trace& trace, std::vector<std::uint32_t> events) {
  const auto ts = [&](std::uint32_t i) { return trace.gpu[i].ts_us; };
  std::sort(events.begin(), events.end(), [&](auto a, auto b) { return ts(a) < ts(b); });
  // Durations are added as recorded; ends are only compared. A start of 10^12 us is precise to a
  // nanosecond, a duration keeps all its digits.
  double busy = 0;
  std::uint32_t last = k_none;
  double reach = 0;  // latest end so far, relative to the start of `last`
  for (const std::uint32_t i : events) {
    const double duration = std::max(trace.gpu[i].dur_us, 0.0);
    const double after = last == k_none ? 0 : ts(i) - ts(last);
    if (last == k_none || after >= reach) {
      busy += duration;
      reach = duration;
    } else {
      const double more = std::max(after + duration - reach, 0.0);
      busy += more;
      reach = std::max(reach - after, duration);
    }
    last = i;
  }
  return busy;
}

}  // namespace wb::trace
