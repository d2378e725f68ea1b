import { describe, expect, it } from "vitest";
import type { Candidate } from "../decide/plan-route.ts";
import { type PayingWallet, planWallet } from "./plan-wallet.ts";

const candidate = (gateway: string, change: Partial<Candidate> = {}): Candidate => ({
  connectionId: gateway,
  gateway,
  credentialVersion: 1,
  paused: false,
  failing: false,
  authenticates: true,
  imports: true,
  accepts: "any",
  exemptions: ["LOW_VALUE"],
  ...change,
});
const taking = { wallets: ["apple_pay", "google_pay"], networks: ["visa", "mastercard"] } as const;
const provider = { name: "SANDBOX_3DS", connectionId: "p", credentialVersion: 1 };
const policy = { exemptions: ["LOW_VALUE"], stopsIfUnavailable: false, forbidsSecondChallenge: false } as const;
const ruled = { version: 1, failoverOn: [], provider, policy };
const token: PayingWallet = { credential: "NETWORK_TOKEN", name: "apple_pay", network: "visa" };

const skippedOf = (accepts: Candidate["acceptsNetworkToken"], wallet: PayingWallet = token) =>
  planWallet({ ...ruled, candidates: [candidate("STRIPE", { acceptsNetworkToken: accepts })] }, wallet, {
    canAsk: true,
  }).skipped.map(({ because }) => because);

describe("planWallet() of a device's number", () => {
  it.each(["AS_NEEDED", "ALWAYS", "NEVER"] as const)(
    "plans no authentication, proof or exemption under %s",
    (authentication) => {
      const candidates = [candidate("ADYEN", { acceptsNetworkToken: taking })];
      const { plan, declineCode } = planWallet({ ...ruled, authentication, candidates }, token, { canAsk: false });
      expect(plan).toEqual([{ priority: 1, gateway: "ADYEN", connectionId: "ADYEN", credentialVersion: 1 }]);
      expect(declineCode).toBeUndefined();
    },
  );

  it.each<[string, Candidate["acceptsNetworkToken"], PayingWallet, string[]]>([
    ["none", undefined, token, ["STRIPE takes no device’s number from a wallet."]],
    [
      "other wallets",
      { ...taking, wallets: ["google_pay"] },
      token,
      ["STRIPE takes no device’s number from this wallet."],
    ],
    [
      "other wallets, of an unknown one",
      { ...taking, wallets: ["google_pay"] },
      { credential: "NETWORK_TOKEN" },
      ["STRIPE takes no device’s number from this wallet."],
    ],
    ["other networks", taking, { ...token, network: "unknown" }, ["STRIPE takes no device’s number of this network."]],
    ["it, while the vault is silent", taking, { credential: "NETWORK_TOKEN" }, []],
    ["it", taking, token, []],
  ])("asks a gateway that takes %s", (_, accepts, wallet, skipped) => {
    expect(skippedOf(accepts, wallet)).toEqual(skipped);
  });

  it("says first what keeps the gateway from every payment", () => {
    const { skipped } = planWallet({ ...ruled, candidates: [candidate("STRIPE", { paused: true })] }, token, {
      canAsk: true,
    });
    expect(skipped.map(({ because }) => because)).toEqual(["It is paused."]);
  });
});

describe("planWallet() of a card", () => {
  const card: PayingWallet = { credential: "PAN", name: "google_pay", network: "visa" };
  const candidates = [candidate("STRIPE")];

  it.each(["AS_NEEDED", "ALWAYS", "NEVER"] as const)(
    "authenticates each payment under %s, the provider first",
    (authentication) => {
      const { plan } = planWallet({ ...ruled, authentication, candidates }, card, { canAsk: true });
      expect(plan).toMatchObject([{ authentication: "always", provider, providerFirst: true }]);
      expect(plan[0]).not.toHaveProperty("exemption");
    },
  );

  it.each([undefined, "PAY"] as const)(
    "declines where the page cannot ask, also where a rule lets cards pay: %s",
    (withoutBrowser) => {
      const rule = { ...ruled, authentication: "ALWAYS" as const, policy: { ...policy, withoutBrowser }, candidates };
      expect(planWallet(rule, card, { canAsk: false })).toMatchObject({
        plan: [],
        declineCode: "authentication_required",
      });
    },
  );

  it("has no gateway where none can authenticate", () => {
    const unable = [candidate("STRIPE", { authenticates: false, imports: false })];
    const planned = planWallet({ version: 1, failoverOn: [], candidates: unable }, card, { canAsk: true });
    expect(planned).toMatchObject({ plan: [], skipped: [{ gateway: "STRIPE" }] });
  });
});
