/** Refunds at Stripe's emulator: made at once, and readable one by one or as the list of a payment. */

import { unreachable } from "../../platform/errors.ts";
import type { Issuer } from "../issuer.ts";
import type { Ledger, Refund, RefundRefusal } from "../ledger.ts";
import type { Route } from "../routes.ts";
import type { EmulatorIntents } from "./emulator-intents.ts";
import { type Answered, type Asked, type Intent, refundView, refusal, releasedValue } from "./emulator-objects.ts";

export type RefundParts = { readonly ledger: Ledger; readonly issuer: Issuer };

export class EmulatorRefunds {
  readonly #parts: RefundParts;
  readonly #intents: EmulatorIntents;

  constructor(parts: RefundParts, intents: EmulatorIntents) {
    this.#parts = parts;
    this.#intents = intents;
  }

  create({ account, form }: Asked): Answered {
    const intent = this.#intents.find(form.get("payment_intent") ?? "");
    if (intent?.account !== account.id) return refusal(404, "resource_missing", { param: "payment_intent" });
    const { authorization } = intent;
    if (authorization === undefined) return uncaptured;
    const reference = form.get("metadata[refund_id]") ?? "";
    const left = this.#parts.ledger.refund(authorization, { reference, value: Number(form.get("amount")) });
    if (typeof left === "string") return { ...refusalOf(left), about: authorization.reference };
    if (authorization.refund === "slow") {
      void this.#parts.issuer.refundDelay(authorization).then(() => {
        this.#parts.ledger.makeRefund(authorization, left);
      });
    } else {
      this.#parts.ledger.makeRefund(authorization, left);
    }
    return { status: 200, body: refundView(intent, left), about: authorization.reference };
  }

  read({ account, request }: Asked): Answered {
    const found = this.#parts.ledger.findRefund("STRIPE", account.id, request.parameters.id ?? "");
    const intent = found && this.#intents.findByAuthorization(found.authorization);
    if (found === undefined || intent === undefined) return refusal(404, "resource_missing", { param: "id" });
    return { status: 200, body: refundView(intent, found.refund), about: found.authorization.reference };
  }

  /** Lists a payment's refunds, the newest first: https://docs.stripe.com/api/refunds/list (2026). */
  list({ account, request }: Asked): Answered {
    const intent = this.#intents.find(request.query.get("payment_intent") ?? "");
    if (intent?.account !== account.id) return refusal(404, "resource_missing", { param: "payment_intent" });
    const limit = Number(request.query.get("limit") ?? "10");
    if (!(limit >= 1 && limit <= 100)) return refusal(400, "parameter_invalid_integer", { param: "limit" });
    const newest = refundsOf(intent).toReversed();
    const after = request.query.get("starting_after");
    const from = after === null ? 0 : newest.findIndex(({ id }) => id === after) + 1;
    const data = newest.slice(from, from + limit).map((refund) => refundView(intent, refund));
    const hasMore = newest.length > from + limit;
    const body = { object: "list", data, has_more: hasMore, url: "/v1/refunds" };
    return { status: 200, body, about: intent.authorization?.reference ?? "" };
  }
}

/**
 * Wraps a route so that the first answer to a refund is lost on its way back if the card says so; outside the memory of
 * keys.
 */
export function losingRefunds(intents: EmulatorIntents, { issuer }: RefundParts, route: Route): Route {
  return {
    ...route,
    async handle(request) {
      const intent: Intent | undefined = intents.find(
        new URLSearchParams(request.body).get("payment_intent") ?? undefined,
      );
      return (await issuer.carryRefund(intent?.authorization, () => route.handle(request))) ?? "hang_up";
    },
  };
}

/**
 * Returns every refund of a payment. The release of what a partial capture left of the hold is the first of them:
 * https://github.com/solidusio/solidus_stripe/pull/268 (2023).
 */
function refundsOf({ id, authorization }: Intent): readonly Refund[] {
  if (authorization === undefined) return [];
  const { refunds, openedAt } = authorization;
  const value = releasedValue(authorization);
  const release: Refund = { id: id.replace("pi_", "re_"), reference: "", value, openedAt, status: "succeeded" };
  return value > 0 ? [release, ...refunds] : refunds;
}

const uncaptured = refusal(400, "payment_intent_unexpected_state", { param: "payment_intent" });

/**
 * Returns Stripe's refusal for each reason not to refund: https://docs.stripe.com/error-codes and
 * https://docs.stripe.com/refunds (2026). Too high an amount has no code: https://github.com/woocommerce/woocommerce-gateway-stripe/issues/1315
 * (2020) quotes its message.
 */
function refusalOf(reason: RefundRefusal): Answered {
  switch (reason) {
    case "amount":
      return refusal(400, "parameter_invalid_integer", { param: "amount" });
    case "amount_exceeds_captured":
      return refusal(400, undefined, { param: "amount", message: "Refund amount is greater than unrefunded amount." });
    case "refund_not_allowed":
      return refusal(400, "charge_disputed");
    case "not_captured":
    case "already_voided":
    case "already_declined":
      return uncaptured;
    default:
      return unreachable(reason);
  }
}
