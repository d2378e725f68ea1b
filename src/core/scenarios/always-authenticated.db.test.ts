/**
 * Tests that a customer cannot leave authentication out: each rule with and without a browser, against each fourth test card; against every one
 * in always-authenticated.db.long.test.ts.
 */
import { describe, expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import type { AuthorizeRequest } from "../../gateways/connector.ts";
import { authenticationCards } from "../../gateways/sandbox/authentication-cards.ts";
import { providerCards } from "../../gateways/sandbox/provider-cards.ts";
import { testCards } from "../../gateways/sandbox/test-cards.ts";
import { Secret } from "../../platform/secrets.ts";
import type { Core, Timing } from "../core.ts";
import { loadSession } from "../record/load-session.ts";
import { recordRoutingRule } from "../record/routing-rules.ts";
import type { AuthenticationPolicy, AuthenticationRule, RoutingCases } from "../rows/entities.ts";
import type { Payment } from "../rows/payment.ts";
import { resumeSession, submitPayment } from "../submit-payment.ts";
import { shopper, startProvided } from "./authentication.fixture.ts";
import { everyCard } from "./every-card.fixture.ts";
import { withAnswers } from "./recovery.fixture.ts";

const cards = [...testCards, ...authenticationCards, ...providerCards]
  .map(({ number }) => number)
  .filter((_, index) => everyCard.isPlayed || index % 4 === 0);
// Some cards let a gateway say nothing.
const hasty = { attemptTimeoutMs: 250, submissionBudgetMs: 45_000 };
const approved = "4242424242424242";
const declinedUnlessAuthenticated = "4000008400001280";
const none = { shopperIp: "192.0.2.7" };

const fixture = await forFile(startProvided);
let requests: AuthorizeRequest[];
let forgotten: string[];
const { base } = fixture;
const { rows } = await base.asOwner.pool.query("SELECT id FROM connection WHERE gateway = 'SANDBOX_3DS'");
const providerId: string = rows[0].id;
const recording = withAnswers(base.core, (own) => ({
  authorize: (call, request) => {
    requests.push(request);
    return own.authorize(call, request);
  },
}));
const core: Core = {
  ...recording,
  vault: { ...base.core.vault, forget: (sessionId) => void forgotten.push(sessionId) },
};

type Rule = {
  readonly authentication: AuthenticationRule;
  readonly by?: "provider" | "own";
  readonly policy?: Partial<AuthenticationPolicy>;
  readonly cases?: RoutingCases;
};

async function setRule({ authentication, by = "own", policy, cases: ruled }: Rule): Promise<void> {
  const { owner, connectionIds } = fixture.base;
  await core.database.transaction((tx) =>
    recordRoutingRule(tx, {
      merchantId: owner.merchantId,
      connectionIds,
      authentication,
      cases: ruled,
      failoverOn: ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"],
      policy: { exemptions: [], stopsIfUnavailable: false, forbidsSecondChallenge: false, ...policy },
      providerId: by === "provider" ? providerId : null,
    }),
  );
}

/** Submits a payment that is captured later: its gateways' part is over once one of them holds the amount. */
async function pay(
  card: string,
  from: typeof shopper | typeof none,
  { timing, currency = "EUR" }: { timing?: Timing; currency?: string } = {},
): Promise<Payment> {
  const { base } = fixture;
  [requests, forgotten] = [[], []];
  base.useCard(card);
  const session = await base.newSession({ capture: "manual", currency });
  const { signal } = new AbortController();
  const paid = timing ? { ...core, timing } : core;
  await submitPayment(paid, { session, vaultToken: new Secret("tok_1"), signal, shopper: from });
  await fixture.settled(core);
  return loadSession(core.database, session.id);
}

const asked = () =>
  requests.map(({ authentication, proof }) => authentication?.wish ?? (proof && "proof") ?? "nothing");

describe.each(["provider", "own"] as const)("by %s", (by) => {
  describe.each([false, true])("where the rule stops without its provider: %s", (stopsIfUnavailable) => {
    it("declines a submission without a browser under ALWAYS before any gateway is called", async () => {
      await setRule({ authentication: "ALWAYS", by, policy: { stopsIfUnavailable } });
      for (const card of cards) {
        const { session, attempts, authentications } = await pay(card, none, { timing: hasty });
        const { id, status, phase, declineCode, plan, skipped, vaultToken } = session;
        const end = { status, phase, declineCode, plan, attempts, authentications, vaultToken };
        expect(end, card).toEqual({
          status: "DECLINED",
          phase: "DONE",
          declineCode: "authentication_required",
          plan: [],
          attempts: [],
          authentications: [],
          vaultToken: null,
        });
        expect(skipped?.map(({ because }) => because)).toEqual(
          Array(2).fill(expect.stringMatching(/no data of a brow/)),
        );
        expect([requests, forgotten]).toEqual([[], [id]]);
        expect(await fixture.base.eventTypes(session)).toEqual(["payment_session.declined"]);
      }
    });

    it("sends no request without the mandate or a proof under ALWAYS", async () => {
      await setRule({ authentication: "ALWAYS", by, policy: { stopsIfUnavailable } });
      for (const card of cards) {
        await pay(card, shopper, { timing: hasty });
        expect(new Set([...asked(), "always", "proof"]), card).toEqual(new Set(["always", "proof"]));
      }
    });

    it("pays a submission without a browser as under NEVER where the rule says so", async () => {
      await setRule({ authentication: "ALWAYS", by, policy: { stopsIfUnavailable, withoutBrowser: "PAY" } });
      for (const card of cards) {
        const { authentications } = await pay(card, none, { timing: hasty });
        expect(authentications).toEqual([]);
        expect(new Set(asked()), card).toEqual(new Set(["nothing"]));
      }
    });
  });
});

describe("a submission without a browser under ALWAYS", () => {
  it("is declined once, however often it is sent", async () => {
    await setRule({ authentication: "ALWAYS" });
    const session = await fixture.base.newSession();
    const submission = { session, vaultToken: new Secret("tok_1"), signal: new AbortController().signal };
    const answers = await Promise.all(Array.from({ length: 5 }, () => submitPayment(core, submission)));
    expect(new Set(answers.map(({ declineCode }) => declineCode))).toEqual(new Set(["authentication_required"]));
    expect(await fixture.base.eventTypes(session)).toEqual(["payment_session.declined"]);
  });
});

describe("a payment under ALWAYS whose process is gone", () => {
  it("is continued with the browser that it was submitted with, which is gone at its end", async () => {
    const { base } = fixture;
    await setRule({ authentication: "ALWAYS" });
    [requests, forgotten] = [[], []];
    base.useCard(approved);
    await base.sandbox.hold("a.authorize");
    const session = await base.newSession();
    const { signal } = new AbortController();
    const dying: Core = { ...core, inFlight: new Set() };
    const paying = submitPayment(dying, { session, vaultToken: new Secret("tok_1"), signal, shopper });
    await base.sandbox.paused({ operation: "a.authorize" });
    await base.lapseLease(session);
    await resumeSession(core, session.id);
    await fixture.settled(core);
    expect(asked()).toEqual(["always", "always"]);
    await base.sandbox.release({ operation: "a.authorize" });
    expect(await paying).toMatchObject({ status: "SUCCEEDED", capturedVia: "SANDBOX_B" });
    await fixture.settled(dying);
    const { rows } = await base.asOwner.pool.query("SELECT browser_sealed FROM payment_session WHERE id = $1", [
      session.id,
    ]);
    expect(rows).toEqual([{ browser_sealed: null }]);
  });
});

describe.each(["AS_NEEDED", "NEVER"] as const)(
  "a case that demands ALWAYS, where the rule says %s",
  (authentication) => {
    const euros = { name: "euros", conditions: { currencies: ["EUR"] }, authentication: "ALWAYS" as const };
    const cased = () => {
      const list = [{ ...euros, connectionIds: fixture.base.connectionIds }];
      return setRule({ authentication, cases: { list, cardRanges: [] } });
    };

    it("declines its payments without a browser, and no other", async () => {
      await cased();
      const { session } = await pay(approved, none);
      expect(session).toMatchObject({ status: "DECLINED", declineCode: "authentication_required" });
      expect(session.routedBy).toMatchObject({ case: "euros", authentication: "ALWAYS" });
      expect(requests).toEqual([]);
      await pay(approved, none, { currency: "USD" });
      expect(asked()).toEqual(["nothing"]);
    });

    it("has its payments authenticated, and no other", async () => {
      await cased();
      await pay(approved, shopper);
      expect(asked()).toEqual(["always"]);
      await pay(approved, shopper, { currency: "USD" });
      expect(asked()).toEqual([authentication === "NEVER" ? "nothing" : "as_needed"]);
    });

    it("does not say that no authentication is asked for", async () => {
      await cased();
      const { attempts } = await pay(declinedUnlessAuthenticated, shopper);
      expect(attempts.at(-1)?.nextBecause).toMatch(/^The customer has to authenticate, which another gateway/);
    });
  },
);
