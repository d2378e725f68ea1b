/** Steps for tests of customer authentication: a page that can show actions, and a customer at the sandbox bank. */
import type { AcquirerData } from "../../gateways/authentication-provider.ts";
import { recordConnection, recordVerified, setAcquirerData, stageCredentials } from "../../gateways/connections.ts";
import type { CardBehaviour } from "../../gateways/sandbox/card-behaviour.ts";
import { encodeId } from "../../platform/ids.ts";
import { Secret } from "../../platform/secrets.ts";
import type { Core } from "../core.ts";
import { cancelAction, findOpenAction, openAction, takeReturn, useActionTicket } from "../customer-actions.ts";
import { attemptIdOf } from "../record/open-attempt.ts";
import { recordRoutingRule } from "../record/routing-rules.ts";
import type { AuthenticationPolicy, AuthenticationRule, PaymentSession } from "../rows/entities.ts";
import { recoverSessionsOnce, resumeSession, submitPayment } from "../submit-payment.ts";
import { browser, type CoreFixture, startCoreFixture } from "./core.fixture.ts";

/** The same browser, and the data that its call sends about it. */
export const shopper = { browser, shopperIp: "192.0.2.7", shopperUserAgent: "Mozilla/5.0" };

const approve: CardBehaviour = { act: "approve" };
const number = "4000000000000077";

/** The behaviour of a gateway that runs a challenge, then decides as given. */
export const challengeAt = {
  A: (passed: CardBehaviour = approve, more: { when?: "if_asked"; losesCompletion?: boolean } = {}): CardBehaviour => ({
    act: "authenticate",
    when: "as_needed",
    code: "authentication_required",
    passed,
    ...more,
  }),
  B: (passed: CardBehaviour = approve, more: { when?: "if_asked" } = {}): CardBehaviour => ({
    act: "authenticate",
    when: "as_needed",
    code: "38",
    passed,
    ...more,
  }),
};

/** Starts a core with both sandbox gateways, of which each declines until a test says otherwise. */
export async function startAuthentication(): Promise<AuthenticationFixture> {
  const fixture = await startCoreFixture();
  await fixture.setRule(["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"]);
  return new AuthenticationFixture(fixture);
}

/** The merchant at both sandbox acquirers. */
const acquirer: AcquirerData = {
  mcc: "5411",
  country: "AT",
  merchantName: "Acme",
  networks: { visa: { acquirerBin: "438309", acquirerMerchantId: "00002000000" } },
};

const credentialsOf = {
  SANDBOX_3DS: { apiKey: "sandbox_test_one" },
  ADYEN_3DS: {
    apiKey: "AQEsandbox/of-the=tests",
    merchantAccount: "test_one",
    threeDSRequestorId: "10000001*00002000000",
    threeDSRequestorName: "Acme",
  },
};

/** Starts the same with a provider, SANDBOX_3DS by default, whose proof both gateways import. */
export async function startProvided(
  rule: {
    authentication?: AuthenticationRule;
    provider?: "ADYEN_3DS";
    ownOnly?: boolean;
    /** True if the gateways authenticate themselves. */
    withoutProvider?: boolean;
    policy?: Partial<AuthenticationPolicy>;
    /** The largest amount of an exemption at SANDBOX_A's acquirer. */
    exemptsUpTo?: number;
  } = {},
): Promise<AuthenticationFixture> {
  const base = await startCoreFixture();
  const { core, owner, connectionIds } = base;
  const { merchantId } = owner;
  const providerId = core.runtime.uuid();
  await core.database.transaction(async (tx) => {
    await recordConnection(tx, { id: providerId, merchantId, gateway: rule.provider ?? "SANDBOX_3DS", account: "one" });
    const credentials = credentialsOf[rule.provider ?? "SANDBOX_3DS"];
    const credentialVersion = await stageCredentials(tx, core.sealing, { connectionId: providerId, credentials });
    await recordVerified(tx, { connectionId: providerId, credentialVersion });
    const { exemptsUpTo: amountMinor } = rule;
    const exemptions = amountMinor ? [{ kind: "LOW_VALUE" as const, currency: "EUR", amountMinor }] : [];
    await setAcquirerData(tx, connectionIds[0]!, { ...acquirer, exemptions });
    await setAcquirerData(tx, connectionIds[1]!, { ...acquirer, ...(rule.ownOnly && { acceptsOwnOnly: true }) });
    const failoverOn = ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"] as const;
    const { authentication } = rule;
    const named = rule.withoutProvider ? {} : { providerId };
    const policy = { exemptions: [], stopsIfUnavailable: false, forbidsSecondChallenge: false, ...rule.policy };
    await recordRoutingRule(tx, { merchantId, connectionIds, failoverOn, authentication, policy, ...named });
  });
  return new AuthenticationFixture(base);
}

/** The steps of a payment whose customer is being authenticated, and views of it. */
export class AuthenticationFixture {
  readonly base: CoreFixture;

  constructor(base: CoreFixture) {
    this.base = base;
  }

  close(): Promise<void> {
    return this.base.close();
  }

  /** Submits a payment whose gateways behave as given. Resolves when the submit call answers. */
  async pay(
    at: { A: CardBehaviour; B?: CardBehaviour },
    options: { canShow?: boolean; core?: Core } = {},
  ): Promise<PaymentSession> {
    const { sandbox } = this.base;
    const { canShow = true, core = this.base.core } = options;
    await sandbox.setCard("A", number, at.A);
    await sandbox.setCard("B", number, at.B ?? { act: "decline", code: "23" });
    this.base.useCard(number);
    const session = await this.base.newSession();
    await submitPayment(core, {
      session,
      vaultToken: new Secret("tok_1"),
      signal: new AbortController().signal,
      ...(canShow && { shopper }),
    });
    await this.settled(core);
    return session;
  }

  /** Connects ADYEN, at its emulator, for payments that go there first. Returns the connection's id. */
  async connectAdyen(): Promise<string> {
    const { core, owner } = this.base;
    const connectionId = core.runtime.uuid();
    await core.database.transaction(async (tx) => {
      await recordConnection(tx, {
        id: connectionId,
        merchantId: owner.merchantId,
        gateway: "ADYEN",
        account: "test_one",
      });
      const { apiKey, merchantAccount } = credentialsOf.ADYEN_3DS;
      const credentials = { apiKey, merchantAccount, notificationHmacKey: "0F".repeat(32) };
      const credentialVersion = await stageCredentials(tx, core.sealing, { connectionId, credentials });
      await recordVerified(tx, { connectionId, credentialVersion });
    });
    return connectionId;
  }

  /** Opens the return address of the action with this text in place of the gateway's. */
  async forgeReturn(session: PaymentSession, text: string, core = this.base.core): Promise<void> {
    const { attempts } = await this.base.loadSession(session);
    const address = new URL(core.returnUrlOf({ sessionId: session.id, id: attempts.at(-1)!.id }));
    address.searchParams.set("redirectResult", text);
    await this.comeBack(address, core);
  }

  async payWith(card: string): Promise<PaymentSession> {
    this.base.useCard(card);
    const session = await this.base.newSession();
    const signal = new AbortController().signal;
    await submitPayment(this.base.core, { session, vaultToken: new Secret("tok_1"), signal, shopper });
    await this.settled();
    return session;
  }

  /**
   * Asks SANDBOX_B for a payment after the backup, so its database has no row of it. Returns our reference and the
   * address of the bank's page.
   */
  async askUnseen(session: PaymentSession): Promise<{ reference: string; url: string }> {
    const { core, connectionIds, sandbox } = this.base;
    await sandbox.setCard("B", number, challengeAt.B());
    this.base.useCard(number);
    const connectionId = connectionIds[1]!;
    const { connector, credentials } = (await core.bind(connectionId, "SANDBOX_B", 1))!;
    const reference = encodeId("att", attemptIdOf({ sessionId: session.id, connectionId }));
    const { amountMinor, currency, orderRef } = session;
    const { outcome } = await connector.authorize(
      { credentials, timeoutMs: 5_000, idempotencyKey: reference },
      {
        amountMinor,
        currency,
        orderRef,
        attemptReference: reference,
        sessionId: encodeId("ps", session.id),
        vaultToken: new Secret("tok_1"),
        authentication: { wish: "as_needed", browser, returnUrl: "https://shop.example/back" },
      },
    );
    if (outcome.type !== "actionNeeded") throw new Error(`expected an action, got ${outcome.type}`);
    return { reference, url: outcome.action.url };
  }

  /** Waits until this process no longer works on any session. */
  async settled(core = this.base.core): Promise<void> {
    while (core.inFlight.size > 0) await Promise.all(core.inFlight);
  }

  /** Returns the address of the bank's page, as the customer's page gets it. */
  async show(session: PaymentSession): Promise<string> {
    const { core } = this.base;
    const { session: read } = await this.base.loadSession(session);
    const action = await findOpenAction(core, read);
    if (action === undefined) throw new Error("nothing is asked of the customer");
    const ticket = await openAction(core, { sessionId: session.id, authenticationId: action.id });
    return (await useActionTicket(core, ticket)).url;
  }

  /** Answers at the bank. Returns the address to which the bank returns the customer. */
  async answer(url: string, answer: "pass" | "fail" | "cancel"): Promise<URL> {
    const body = new URLSearchParams(
      answer === "cancel" ? { cancel: "1" } : { code: answer === "pass" ? "123456" : "1" },
    );
    const response = await fetch(url, { method: "POST", body, redirect: "manual" });
    return new URL(response.headers.get("location") ?? "");
  }

  /** Shows the open action of a provider to its end: the device check reports, and the customer answers at the bank. */
  async showProvided(session: PaymentSession, answer: "pass" | "fail" | "cancel" = "pass"): Promise<void> {
    for (let page = await this.#shown(session); page !== undefined; page = await this.#shown(session)) {
      const action = /<form method="post" action="(\/acs[^"]+)"/.exec(page)?.[1];
      const code = new URLSearchParams(
        answer === "cancel" ? { cancel: "1" } : { code: answer === "pass" ? "123456" : "1" },
      );
      const origin = this.base.sandbox.origin;
      const last = action ? await (await fetch(origin + action, { method: "POST", body: code })).text() : page;
      const returnUrl = /action="(https:[^"]+)"/.exec(last)?.[1];
      const [, name = "", value = ""] = /name="(\w+)" value="([^"]+)"/.exec(last) ?? [];
      if (returnUrl === undefined) return;
      const url = new URL(returnUrl);
      url.searchParams.set(name, value);
      await this.comeBack(url);
    }
  }

  /** Shows the open action; undefined if there is none, or it was shown. */
  async #shown(session: PaymentSession): Promise<string | undefined> {
    const { core } = this.base;
    const { session: read } = await this.base.loadSession(session);
    const action = await findOpenAction(core, read);
    if (action === undefined || action.isOpened || action.kind === "REDIRECT") return undefined;
    const ticket = await openAction(core, { sessionId: session.id, authenticationId: action.id });
    const { url, fields } = await useActionTicket(core, ticket);
    return (await fetch(url, { method: "POST", body: new URLSearchParams(fields) })).text();
  }

  /** Follows the bank's return, and lets the session continue until it waits again. */
  async comeBack({ pathname, searchParams }: URL, core = this.base.core): Promise<void> {
    const sessionId = await takeReturn(core, pathname.split("/").at(-1)!, searchParams);
    // Recovery leaves out a session whose row is locked at the time, as by a notification.
    if (sessionId !== undefined) await resumeSession(core, sessionId);
    await this.recover(core);
  }

  async answerAndReturn(session: PaymentSession, answer: "pass" | "fail" | "cancel"): Promise<void> {
    await this.comeBack(await this.answer(await this.show(session), answer));
  }

  async cancel(session: PaymentSession): Promise<void> {
    const { core } = this.base;
    const { session: read } = await this.base.loadSession(session);
    const action = await findOpenAction(core, read);
    await cancelAction(core, { sessionId: session.id, authenticationId: action!.id });
    await this.recover();
  }

  /** Runs recovery once, as a worker does each second. */
  async recover(core = this.base.core): Promise<void> {
    await recoverSessionsOnce(core);
    await this.settled(core);
  }

  /** Returns the attempts and authentications of a session as short texts, and its end. */
  async story(session: PaymentSession): Promise<{ end: string; attempts: string[]; authentications: string[] }> {
    const { session: now, attempts, authentications } = await this.base.loadSession(session);
    return {
      end: [now.status, now.capturedVia ?? now.declineCode].filter(Boolean).join(" "),
      attempts: attempts.map((one) => `${one.gateway} ${one.status}${one.round === 0 ? "" : " again"}`),
      authentications: authentications.map(({ status }) => status),
    };
  }

  /** Returns the states of the holds at both gateways. */
  async atGateways(session: PaymentSession): Promise<string[]> {
    const { attempts } = await this.base.loadSession(session);
    const found = await Promise.all(attempts.map(({ id }) => this.base.sandbox.authorizations(encodeId("att", id))));
    return found.flat().map(({ acquirer, status }) => `${acquirer} ${status}`);
  }
}
