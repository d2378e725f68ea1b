/** Tests that a customer who begins an agreement is authenticated, unless the merchant leaves that to the routing rule. */
import { v7 } from "uuid";
import { expect, it } from "vitest";
import { forFile } from "../../dev/testing/for-file.ts";
import type { AuthorizeAnswer, AuthorizeRequest } from "../../gateways/connector.ts";
import { createSession } from "../create-session.ts";
import { recordRoutingRule } from "../record/routing-rules.ts";
import { withAnswers } from "../scenarios/recovery.fixture.ts";
import { startRenewals } from "./renewals/renewals.fixture.ts";
import { createSetUp } from "./set-ups.ts";
import { consent } from "./stored-cards.fixture.ts";

const { base, core } = await forFile(startRenewals);
const { merchantId } = base.owner;
const terms = { type: "RECURRING", text: "Monthly.", everyDays: 28, endsOn: "2031-12-31" } as const;
const refused: AuthorizeAnswer = {
  outcome: { type: "declined", kind: "HARD_DECLINE", stop: "none", declineCode: "card_declined", gatewayCode: "1" },
};

async function setRule(savingAsRule: boolean) {
  const policy = { exemptions: [], stopsIfUnavailable: false, forbidsSecondChallenge: false, savingAsRule };
  const rule = { merchantId, connectionIds: base.connectionIds, failoverOn: [], policy };
  await core.database.transaction((tx) => recordRoutingRule(tx, rule));
}

/** Submits a payment, and returns the request that the first gateway gets. */
async function ask(saveCard: object, given: object = { consent }): Promise<AuthorizeRequest | undefined> {
  const requests: AuthorizeRequest[] = [];
  const watched = withAnswers(core, {
    authorize: async (_, request) => {
      requests.push(request);
      return refused;
    },
  });
  const order = { amountMinor: 900, currency: "EUR", orderRef: v7(), customerRef: v7() };
  const { session } = await createSession(core, base.owner, { ...order, ...saveCard });
  await base.submitWith(session, { number: "4242424242424242", token: `tok_${v7()}`, core: watched, ...given });
  return requests[0];
}

it("has the bank challenge the customer, with the agreement's terms", async () => {
  await setRule(false);
  expect((await ask({ saveCard: { agreement: terms } }))?.authentication).toMatchObject({
    wish: "always",
    mandate: { purpose: "recurring", terms: { everyDays: 28, endsOn: new Date("2031-12-31") } },
  });
});

it("declines the payment before a gateway where the page sends no browser", async () => {
  await setRule(false);
  expect(await ask({ saveCard: { agreement: terms } }, { consent, shopper: {} })).toBeUndefined();
});

it("has the bank challenge whoever stores a card without paying", async () => {
  await setRule(false);
  const { session } = await createSetUp(core, base.owner, { customerRef: v7(), currency: "EUR" });
  const submitted = await base.submitWith(session, { number: "4000000000007270", token: `tok_${v7()}`, consent });
  expect(submitted.awaitingSince).toEqual(expect.any(Date));
});

it("leaves a card that only its customer uses to the rule", async () => {
  await setRule(false);
  expect((await ask({ saveCard: {} }))?.authentication).toMatchObject({ wish: "as_needed", mandate: undefined });
});

it("leaves agreements to the rule where the merchant wants it", async () => {
  await setRule(true);
  expect((await ask({ saveCard: { agreement: terms } }))?.authentication).toMatchObject({
    wish: "as_needed",
    mandate: undefined,
  });
});
