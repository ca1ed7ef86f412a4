// SPDX-License-Identifier: MIT
// `record usage`: logs the cost of an agent's model.
#include "core/json.hpp"
#include "engine/context.hpp"
#include "engine/spending.hpp"
#include "verbs/arguments.hpp"
#include "verbs/fake_engine.hpp"
#include "verbs/verb.hpp"

namespace wb::verbs {

using engine::Context;
using engine::StopDecision;
using session::CostItem;
using session::FoldDepth;
using session::SessionView;

namespace {

Result<Json> record_usage_body(Context& context, const Json& args) {
  const auto input = args["input_tokens"].get<std::int64_t>();
  const auto output = args["output_tokens"].get<std::int64_t>();
  const auto tokens = static_cast<double>(input) + static_cast<double>(output);
  const auto usd = args.contains("usd") ? std::optional(args["usd"].get<double>())
                                        : session::price_usd(context.settings.prices.rates,
                                                             CostItem::tokens, tokens);
  context.spending->spent.debit(CostItem::tokens, tokens, usd);
  const Json price = usd ? Json(*usd) : Json(nullptr);
  const Json cached = args.value("cached_tokens", Json(nullptr));
  WB_TRY_ASSIGN(
      const std::int64_t event,
      context.log(
          "cost_debited",
          {{"iteration", nullptr},
           {"item", to_string(CostItem::tokens)},
           {"quantity", tokens},
           {"unit", session::unit_of(CostItem::tokens)},
           {"usd", price},
           {"parts",
            {{"input_tokens", input}, {"output_tokens", output}, {"cached_tokens", cached}}},
           {"priced_by", args.contains("usd") ? "caller" : "rate"},
           {"what", args["model"]}}));
  WB_TRY_ASSIGN(const SessionView* view, context.session->current(FoldDepth::brief));
  const Json ledger = to_json(view->ledger);
  const StopDecision stop =
      stop_decision(*view, context.settings.budget, context.settings.stop, context.elapsed_s());
  return Json{{"event", event},
              {"tokens", input + output},
              {"usd", price},
              {"total_tokens", ledger["items"]["tokens"]["quantity"]},
              {"total_usd", ledger["total_usd"]},
              {"stop_reason", stop.reason ? Json(*stop.reason) : Json(nullptr)},
              {"warning", stop.warning ? Json(*stop.warning) : Json(nullptr)}};
}

Result<Json> record_usage_sample(FakeEngine& fake, const Json& args) {
  const auto tokens =
      args["input_tokens"].get<std::int64_t>() + args["output_tokens"].get<std::int64_t>();
  fake.tokens += tokens;
  return Json{{"event", fake.calls().size()},
              {"tokens", tokens},
              {"usd", nullptr},
              {"total_tokens", fake.tokens},
              {"total_usd", nullptr},
              {"stop_reason", nullptr},
              {"warning", nullptr}};
}

}  // namespace

const Verb& verb_record_usage() {
  static const Verb verb{
      .spec = {.name = "record_usage",
               .doc = "debit what an agent's model used; the session's token rate gives the price",
               .session = SessionNeed::writes,
               .arguments = {string_argument("model", "the model's name").required(),
                             integer_argument("input_tokens", "read by the model, cached ones too")
                                 .in("tokens")
                                 .between(0, 1e12)
                                 .required(),
                             integer_argument("output_tokens", "written by the model")
                                 .in("tokens")
                                 .between(0, 1e12)
                                 .required(),
                             integer_argument("cached_tokens",
                                              "those of input_tokens that were cached")
                                 .in("tokens")
                                 .between(0, 1e12),
                             real_argument("usd", "what its provider billed (default: by the rate)")
                                 .in("USD")
                                 .between(0, 1e6)},
               .result = {{"event", "int: its event id"},
                          {"tokens", "int: of this call"},
                          {"usd", "real or null: its price; null: no rate was given (USD)"},
                          {"total_tokens", "real: of the session so far"},
                          {"total_usd", "real or null: of the session so far, all items (USD)"},
                          {"stop_reason", "string or null: why the session should end now"},
                          {"warning", "string or null: costs that no budget can count"}},
               .only_logs = true},
      .body = [](const Call& call) { return record_usage_body(call.context, call.args); },
      .sample = record_usage_sample};
  return verb;
}

}  // namespace wb::verbs
