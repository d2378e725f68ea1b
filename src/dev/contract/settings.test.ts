import { describe, expect, it } from "vitest";
import { readContractSetting } from "./settings.ts";
import { contractSubjects } from "./subjects.ts";

const [stripe, adyen] = contractSubjects as [(typeof contractSubjects)[0], (typeof contractSubjects)[0]];
const secretKey = "SWITCHYARD_CONTRACT_STRIPE_SECRET_KEY";
const origin = "SWITCHYARD_CONTRACT_STRIPE_ORIGIN";

describe("readContractSetting()", () => {
  it("names the variables of an account if none is set", () => {
    expect(readContractSetting(stripe, {})).toEqual({ type: "none", reason: `set ${secretKey}` });
    expect(readContractSetting(adyen, { SWITCHYARD_CONTRACT_ADYEN_API_KEY: "" })).toMatchObject({
      reason: "set SWITCHYARD_CONTRACT_ADYEN_API_KEY, SWITCHYARD_CONTRACT_ADYEN_MERCHANT_ACCOUNT",
    });
  });

  it("accepts a test account, at its sandbox or at an emulator on this machine", () => {
    const account = { [secretKey]: "sk_test_4eC39HqLyjWDarjtT1zdp7dc" };
    expect(readContractSetting(stripe, account)).toMatchObject({ type: "account", origin: "https://api.stripe.com" });
    const emulator = { ...account, [origin]: "http://127.0.0.1:4404" };
    expect(readContractSetting(stripe, emulator)).toMatchObject({ origin: "http://127.0.0.1:4404" });
  });

  it("refuses live keys, another origin and a part of an account, and repeats no value", () => {
    const messageOf = (subject: (typeof contractSubjects)[0], variables: Record<string, string>) => {
      try {
        readContractSetting(subject, variables);
      } catch (error) {
        return (error as Error).message;
      }
      throw new Error("it was accepted");
    };
    for (const key of ["sk_live_4eC39HqLyjWDarjtT1zdp7dc", "rk_live_4eC39HqLyjWDarjtT1zdp7dc"]) {
      const message = messageOf(stripe, { [secretKey]: key });
      expect(message).toContain(`${secretKey} is missing or is not a test credential`);
      expect(message).not.toContain(key);
    }
    for (const elsewhere of ["https://api.stripe.com", "http://127.0.0.1.example.com:80", "http://10.0.0.1:80"]) {
      const variables = { [secretKey]: "sk_test_4eC39HqLyjWDarjtT1zdp7dc", [origin]: elsewhere };
      expect(messageOf(stripe, variables)).toContain("only name an emulator");
    }
    expect(messageOf(adyen, { SWITCHYARD_CONTRACT_ADYEN_MERCHANT_ACCOUNT: "YourCompanyECOM" })).toContain("API_KEY");
  });
});
