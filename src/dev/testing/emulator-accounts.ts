/** Accounts at the sandbox gateways and the emulators: any well-formed credentials open one, so no set-up is needed. */
import type { Gateway } from "../../gateways/connector.ts";
import type { AcquirerName } from "../../sandbox/ledger.ts";

export const notificationKey = "0F".repeat(32);

/**
 * The server of each gateway, and the credentials of an account there, whose name begins with `test_` and has letters
 * and digits after it.
 */
export const emulatorAccounts: Readonly<
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
      apiKey: "AQEanykeyof/the=emulator",
      merchantAccount: account,
      hmacKey: notificationKey,
    }),
  },
  PAYPAL: {
    acquirer: "PAYPAL",
    credentials: (account) => ({ clientId: `ClientOfTheEmulator_${account}`, clientSecret: "SecretOfTheEmulator00" }),
  },
  SANDBOX_A: { acquirer: "A", credentials: (account) => ({ apiKey: `sandbox_${account}` }) },
  SANDBOX_B: {
    acquirer: "B",
    credentials: (account) => ({
      apiKey: `sandbox_${account}`,
      merchantAccount: account,
      notificationHmacKey: notificationKey,
    }),
  },
};
