/** Plays one order from the shop's create call to the outcome, with the behaviour of customers and shops in between. */
import { setTimeout as pause } from "node:timers/promises";
import { unreachable } from "../../../platform/errors.ts";
import type { Dice } from "../dice.ts";
import { describedBrowser, meet } from "./challenge.ts";
import { fieldsOfLater, settleLater } from "./later.ts";
import type { Order } from "./order.ts";
import { type RefundingShop, refundSome } from "./refunds.ts";
import { agreementConsent, agreementFields, renewSome } from "./renewals.ts";

export type Shop = RefundingShop & {
  readonly vaultOrigin: string;
  /** Card numbers, each as often as it should be used. */
  readonly cards: readonly string[];
  /** Acts once the time in which customers may answer their bank is over. */
  readonly later: (act: () => Promise<void>) => void;
  /** The orders in it, each with the answers so far. */
  readonly orders: Order[];
  expireIn(sessionId: string, ms: number): Promise<void>;
};

type Session = {
  readonly sessionId: string;
  readonly clientSecret: string;
  readonly sdkAuthorization: string;
  readonly amountMinor: number;
  /** True if its shop captures it later. */
  readonly isManual: boolean;
  /** True if it begins an agreement. */
  readonly isAgreed: boolean;
};

/** The end of the creation key of an order's second tab, and its mark in the session. */
export const secondTab = "-tab-2";

const currencies = ["EUR", "USD", "JPY"];
const repeatAllowed = 0.1;
const capturedLater = 0.3;
const subscribing = 0.5;
const callsMax = 8;
const pollsMax = 15;

/** Pays one order, or abandons it. Records every answer in `order`. Never throws for an answer. */
export async function pay(shop: Shop, dice: Dice, order: Order): Promise<void> {
  // The second tab is mostly simultaneous with the first; or late enough to come after a refund of it.
  if (order.key.endsWith(secondTab)) await pause(dice.pick([0, 0, dice.between(0, 500), dice.between(0, 30_000)]));
  const session = await create(shop, dice, order);
  if (session === undefined || dice.chance(0.08)) return;
  if (dice.chance(0.06)) await linger(shop, dice, session);
  const token = await tokenize(shop, dice, session);
  if (token === undefined || dice.chance(0.04)) return;
  const browser = dice.chance(0.8) ? { browser: describedBrowser } : {};
  await submit(shop, dice, { session, token, order, browser });
  const { amountMinor } = session;
  const wholly = order.heard.includes("SUCCEEDED") ? amountMinor : undefined;
  const captured = session.isManual ? await settleLater(shop, dice, order, session) : wholly;
  if (captured !== undefined) await refundSome(shop, dice, order, { ...session, amountMinor: captured });
  if (wholly !== undefined && session.isAgreed) await renewSome(shop, dice, order, session.sessionId);
}

/** Creates the session. The shop repeats its call with the same key, sometimes at two edges at once. */
async function create(shop: Shop, dice: Dice, order: Order): Promise<Session | undefined> {
  const isManual = dice.chance(capturedLater);
  const isAgreed = !isManual && dice.chance(subscribing);
  const body = {
    amountMinor: dice.between(1, 200_000),
    currency: dice.pick(currencies),
    orderRef: order.orderRef,
    ...(isManual && fieldsOfLater()),
    ...(isAgreed && { customerRef: order.key, ...agreementFields }),
    ...(order.key.endsWith(secondTab) && {
      metadata: { tab: secondTab },
      allowRepeatedOrder: dice.chance(repeatAllowed),
    }),
  };
  for (let round = 0; round < callsMax; round++) {
    const edges = dice.chance(0.1) ? shop.edges : [dice.pick(shop.edges)];
    const sent = { bearer: shop.secretKey, headers: { "idempotency-key": order.key }, body };
    // An impatient shop aborts the call, and repeats it with its key.
    const leave = dice.chance(0.05) ? { leave: AbortSignal.timeout(dice.between(1, 30)) } : {};
    const answers = await Promise.all(
      edges.map((edge) => shop.browser.call("create", { ...sent, ...leave, url: `${edge}/api/v1/payment-sessions` })),
    );
    const made = answers.flatMap((answer) => (answer?.status === 201 ? [answer.json] : []));
    order.created.push(...made.map(({ sessionId }) => String(sessionId)));
    const [first] = made;
    if (first !== undefined) {
      const { sdkAuthorization } = first.vault as { sdkAuthorization: string };
      const { amountMinor } = body;
      return {
        sessionId: String(first.sessionId),
        clientSecret: String(first.clientSecret),
        sdkAuthorization,
        amountMinor,
        isManual,
        isAgreed,
      };
    }
    await pause(dice.between(100, 2_000));
  }
  return undefined;
}

/** Waits like a page that is left open until its session is about to expire, or has just expired. */
async function linger(shop: Shop, dice: Dice, { sessionId }: Session): Promise<void> {
  await shop.expireIn(sessionId, dice.between(200, 3_000));
  await pause(dice.between(0, 3_500));
}

async function tokenize(shop: Shop, dice: Dice, session: Session): Promise<string | undefined> {
  const number = dice.pick(shop.cards);
  const card = {
    number,
    expMonth: 4,
    expYear: new Date().getUTCFullYear() + 3,
    cvc: number.length === 15 ? "1234" : "123",
  };
  for (let round = 0; round < callsMax; round++) {
    const answer = await shop.browser.call("tokenize", {
      url: `${shop.vaultOrigin}/tokens`,
      bearer: session.sdkAuthorization,
      body: card,
    });
    if (answer?.status === 201) return String(answer.json.token);
    // The session has expired, and its cards are deleted.
    if (answer?.status === 409) return undefined;
    await pause(dice.between(100, 2_000));
  }
  return undefined;
}

type Submission = {
  readonly session: Session;
  readonly token: string;
  readonly order: Order;
  /** The browser of a page that can show the bank's challenge. */
  readonly browser: { readonly browser?: typeof describedBrowser };
};

/** Submits once, twice at once, at both edges, with a second card as well, or aborts midway. */
async function submit(shop: Shop, dice: Dice, submission: Submission): Promise<void> {
  const edge = dice.pick(shop.edges);
  const manner = dice.weighted([
    [70, "once"],
    [8, "twice"],
    [8, "everywhere"],
    [6, "two cards"],
    [8, "leave"],
  ] as const);
  switch (manner) {
    case "once":
      return untilEnded(shop, dice, submission);
    case "twice":
      return void (await Promise.all([untilEnded(shop, dice, submission), send(shop, edge, submission)]));
    case "everywhere":
      return void (await Promise.all(shop.edges.map((each) => send(shop, each, submission))));
    case "two cards": {
      const token = await tokenize(shop, dice, submission.session);
      const other = token === undefined ? [] : [send(shop, edge, { ...submission, token })];
      return void (await Promise.all([untilEnded(shop, dice, submission), ...other]));
    }
    case "leave":
      return void (await send(shop, edge, submission, AbortSignal.timeout(dice.between(1, 4_000))));
    default:
      return unreachable(manner);
  }
}

/** Behaves like the widget: submits again without an answer, and polls for the outcome if it takes longer. */
async function untilEnded(shop: Shop, dice: Dice, submission: Submission): Promise<void> {
  const { session, order } = submission;
  let isSubmitted = false;
  const met = new Set<string>();
  for (let poll = 0; poll < pollsMax && !hasEnded(order); poll++) {
    const edge = dice.pick(shop.edges);
    const { asked } = order;
    if (asked !== undefined && !met.has(asked)) {
      met.add(asked);
      const [authenticationId = ""] = asked.split(" ");
      poll = 0;
      const { browser, edges, later } = shop;
      const rpc = (name: string, fields: object) => call(shop, dice.pick(edges), name, session, fields);
      if (!(await meet({ browser, edges, later, authenticationId, call: rpc }, dice))) return;
    } else if (!isSubmitted) {
      const status = await send(shop, edge, submission);
      // Refused permanently: expired, or being paid with another card.
      if (status !== undefined && status >= 400 && status < 500) return;
      isSubmitted = status === 200 && !order.isElsewhere;
    } else {
      hear(order, (await call(shop, edge, "GetCheckout", session, {}))?.json);
    }
    if (!hasEnded(order)) await pause(dice.between(500, 3_000));
  }
}

function hasEnded({ heard, heldVia }: Order): boolean {
  return heard.length > 0 || heldVia !== undefined;
}

async function send(
  shop: Shop,
  edge: string,
  submission: Submission,
  leave?: AbortSignal,
): Promise<number | undefined> {
  const { session, token, order } = submission;
  const fields = { vaultToken: token, ...submission.browser, ...(session.isAgreed && agreementConsent) };
  const answer = await call(shop, edge, "SubmitPayment", session, fields, leave);
  if (answer?.status === 200) hear(order, answer.json);
  return answer?.status;
}

function call(shop: Shop, edge: string, rpc: string, session: Session, fields: object, leave?: AbortSignal) {
  return shop.browser.call(rpc, {
    url: `${edge}/payments.v1.CheckoutService/${rpc}`,
    bearer: session.clientSecret,
    body: { sessionId: session.sessionId, ...fields },
    ...(leave ? { leave } : {}),
  });
}

/** Records a session's status from an answer, to compare it with the end. */
function hear(order: Order, json: Readonly<Record<string, unknown>> | undefined): void {
  type Checkout = {
    status?: string;
    processing?: boolean;
    nextAction?: { authenticationId: string; kind: string };
    outcome?: { success?: { capturedVia: string }; decline?: { declineCode: string } };
  };
  const { status, processing, nextAction, outcome } = (json?.checkout ?? {}) as Checkout;
  if (processing) order.submitted = true;
  order.isElsewhere = status === "CREATED" && outcome?.decline?.declineCode === "order_being_paid";
  // The device check and the challenge of a provider have one id.
  order.asked = nextAction && `${nextAction.authenticationId} ${nextAction.kind}`;
  if (status === "CREATED") order.heldVia = outcome?.success?.capturedVia ?? order.heldVia;
  if (status === undefined || status === "CREATED") return;
  order.heard.push(status);
  if (status !== "EXPIRED") order.submitted = true;
}
