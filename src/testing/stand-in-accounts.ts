/** Accounts at the pretend acquirers and the stand-ins: any well-formed credentials open one, so nothing has to be set up first. */
import type { Gateway } from "../gateways/connector.ts";
import type { AcquirerName } from "../gateways/sandbox/ledger.ts";

/** The key with which notices of these accounts are signed. */
export const noticeKey = "0F".repeat(32);

/** Who answers for a gateway, and the credentials of an account there, whose name begins with `test_` and has letters and digits after it. */
export const standInAccounts: Readonly<
  Record<
    Gateway,
    {
      readonly acquirer: AcquirerName;
      readonly credentials: (account: string) => Readonly<Record<string, string>>;
    }
  >
> = {
  STRIPE: { acquirer: "STRIPE", credentials: (account) => ({ secretKey: `sk_${account}` }) },
  ADYEN: {
    acquirer: "ADYEN",
    credentials: (account) => ({
      apiKey: "AQEanykeyof/the=stand-in",
      merchantAccount: account,
      hmacKey: noticeKey,
    }),
  },
  PAYPAL: {
    acquirer: "PAYPAL",
    credentials: (account) => ({ clientId: `ClientOfTheStandIn_${account}`, clientSecret: "SecretOfTheStandIn00" }),
  },
  SANDBOX_A: { acquirer: "A", credentials: (account) => ({ apiKey: `sandbox_${account}` }) },
  SANDBOX_B: {
    acquirer: "B",
    credentials: (account) => ({
      apiKey: `sandbox_${account}`,
      merchantAccount: account,
      notificationHmacKey: noticeKey,
    }),
  },
};
