import { describe, expect, it } from "vitest";
import { checkOptions, checkSession, type MountOptions } from "./options.ts";

const right = {
  container: "#card",
  apiBase: "https://pay.example",
  sessionId: "ps_01abc",
  clientSecret: "ps_01abc_secret_t1_0123abcd",
  vault: { mode: "self_hosted", sdkUrl: "https://vault.example/sdk.js", sdkAuthorization: "grant-value" },
  onSuccess: () => undefined,
  onDeclined: () => undefined,
} satisfies MountOptions;

/** Returns the error of mount for these options; the container is checked last, so no page is needed. */
function complaintAbout(change: object): string {
  try {
    checkOptions({ ...right, ...change });
  } catch (error) {
    return (error as Error).message;
  }
  return "";
}

describe("checkOptions()", () => {
  it.each([
    [{ onSuccess: undefined }, "onSuccess must be a function"],
    [{ onDeclined: "no" }, "onDeclined must be a function"],
    [{ onPending: 1 }, "onPending must be a function"],
    [{ onSucces: () => undefined }, "onSucces is not an option"],
    [{ apiBase: "pay.example" }, "apiBase must be an absolute URL"],
    [{ apiBase: "http://pay.example" }, "apiBase must be https"],
    [{ apiBase: "http://127.0.0.1.pay.example" }, "apiBase must be https"],
    [{ apiBase: "javascript:alert(1)" }, "apiBase must be https"],
    [{ apiBase: "https://user:word@pay.example" }, "apiBase must not hold credentials"],
    [{ apiBase: "https://pay.example/api/v1" }, "apiBase must be the service's origin alone"],
    [{ sessionId: "order-7" }, "sessionId must be the sessionId"],
    [{ clientSecret: undefined }, "clientSecret must be the clientSecret"],
    [{ clientSecret: "switchyard_test_sk_abc123" }, "clientSecret holds a secret of your server"],
    [{ clientSecret: "switchyard_live_rk_abc123" }, "clientSecret holds a secret of your server"],
    [{ clientSecret: "switchyard_live_whsec_abc123" }, "clientSecret holds a secret of your server"],
    [{ clientSecret: "switchyard_test_pk_abc123" }, "clientSecret holds a publishable key"],
    [{ clientSecret: "ps_01xyz_secret_t1_0123abcd" }, "clientSecret belongs to another session"],
    [{ vault: null }, "vault must be the vault object"],
    [{ vault: { ...right.vault, sdkUrl: "http://vault.example/sdk.js" } }, "vault.sdkUrl must be https"],
    [{ vault: { ...right.vault, sdkUrl: "http://vault.example/a.localhost/sdk.js" } }, "vault.sdkUrl must be https"],
    [{ vault: { sdkUrl: right.vault.sdkUrl } }, "vault.sdkAuthorization is missing"],
    [{ locale: "not a locale" }, "locale must be a language tag"],
    [{ submitButton: "no" }, "submitButton must be true or false"],
    [{ wallets: "apple_pay" }, "wallets must be a list"],
  ])("refuses %o and names the option", (change, complaint) => {
    expect(complaintAbout(change)).toContain(`Switchyard.mount: ${complaint}`);
  });

  it("never repeats the value of a wrong option", () => {
    for (const option of ["apiBase", "sessionId", "clientSecret", "locale"]) {
      const complaint = complaintAbout({ [option]: "s3cr3t value_test_sk_" });
      expect(complaint).not.toContain("s3cr3t");
      expect(complaint).toContain(option);
    }
  });

  it("accepts every character that a client secret may contain", () => {
    const clientSecret = `${right.sessionId}_secret_t1_-_AZaz09-_AZaz09-_AZaz09-_AZaz09-_AZaz09-_-`;
    expect(checkSession({ ...right, clientSecret })).toMatchObject({ clientSecret });
  });

  it("accepts http on the local machine", () => {
    for (const host of ["localhost:8080", "127.0.0.1:8080", "[::1]:8080", "shop.localhost"]) {
      // Everything before the container is right: the next thing it needs is a page.
      expect(complaintAbout({ apiBase: `http://${host}` })).not.toContain("apiBase");
    }
  });
});

describe("checkSession()", () => {
  it("keeps what the vault's script needs and leaves the rest of the vault object unchanged", () => {
    const vault = { ...right.vault, framePolicy: "policy", profileId: "p", publishableKey: "pk" };
    expect(checkSession({ ...right, vault }).vault).toEqual({
      publishableKey: "pk",
      sdkUrl: new URL("https://vault.example/sdk.js"),
      sdkAuthorization: "grant-value",
      framePolicy: "policy",
      storedCards: undefined,
      wallets: "",
    });
  });
});
