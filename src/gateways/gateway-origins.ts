/** The emulators that may replace real gateways. */
import { optional, text } from "../platform/setting.ts";
import type { SettingReader } from "../platform/setting-reader.ts";

/** The gateways outside the sandbox. */
type RealGateway = "STRIPE" | "ADYEN" | "PAYPAL" | "THREEDSECUREIO";

/** Origins of emulators that replace gateways of an environment. */
export type EmulatorOrigins = Readonly<Partial<Record<RealGateway, string>>>;

const gateways = "(STRIPE|ADYEN|PAYPAL|THREEDSECUREIO)";
const listOf = (pair: string) => new RegExp(`^${pair}(,${pair})*$`);
const roles = ["edge", "worker", "dashboard", "vault"] as const;

/** The emulators of test; none by default. */
export const emulatorSetting = optional("SWITCHYARD_TEST_GATEWAY_ORIGINS", {
  roles,
  kind: text(
    listOf(String.raw`${gateways}=https?:\/\/[\w.:[\]-]+`),
    "gateways and origins such as STRIPE=http://127.0.0.1:4404, with commas between",
  ),
  about: "emulators of real gateways, in test alone, such as `STRIPE=http://127.0.0.1:4404`",
  example: "STRIPE=http://127.0.0.1:4404,ADYEN=http://127.0.0.1:4404",
});

/**
 * The emulators of live; none by default. This is a separate setting, so that no real payment of live is looked up at
 * an emulator.
 */
export const liveEmulatorSetting = optional("SWITCHYARD_LIVE_GATEWAY_ORIGINS", {
  roles,
  kind: text(
    listOf(String.raw`${gateways}=http:\/\/(127\.0\.0\.1|localhost|\[::1\])(:\d+)?`),
    "gateways and origins on this machine such as STRIPE=http://127.0.0.1:4404, with commas between",
  ),
  about:
    "emulators of real gateways on this machine, for a rehearsal of going live; refused without `SWITCHYARD_SANDBOX_ORIGIN`",
  example: "STRIPE=http://127.0.0.1:4404,ADYEN=http://127.0.0.1:4404",
});

/** Reads the emulators that an operator has configured for each environment; none by default. */
export function readEmulatorOrigins(
  reader: SettingReader,
  sandboxOrigin: string | undefined,
): Readonly<Record<"test" | "live", EmulatorOrigins>> {
  const read = (setting: typeof emulatorSetting): EmulatorOrigins =>
    Object.fromEntries((reader.read(setting)?.split(",") ?? []).map((one) => one.split("=", 2)));
  const live = read(liveEmulatorSetting);
  if (sandboxOrigin === undefined && Object.keys(live).length > 0) {
    reader.problem(liveEmulatorSetting.name, "is for a rehearsal, and requires SWITCHYARD_SANDBOX_ORIGIN");
  }
  return { test: read(emulatorSetting), live };
}

/** Returns the credentials with which the emulator of a gateway opens an account, as sentences for people. */
export function credentialsOfEmulator(gateway: string, environment: "test" | "live"): string | undefined {
  const ofAdyen =
    environment === "test"
      ? ""
      : ", a merchant account that begins with live_ and a URL prefix such as 1797a841fbb37ca7-YourCompany";
  return {
    STRIPE: `An emulator stands in for Stripe here. Any key such as sk_${environment}_anythingyoulike opens an account.`,
    PAYPAL: `An emulator stands in for PayPal here. Any client ID such as AnyClientAtAll_${environment}_shop opens an account, with any secret of 20 letters.`,
    ADYEN: `An emulator stands in for Adyen here. Any API key of 20 characters that begins with AQE, such as AQEanyKeyOfTwentyCharacters, opens an account${ofAdyen}. Any 64 hexadecimal digits are its HMAC key.`,
  }[gateway];
}

/** Returns the hosts, with port, to which the vault sends cards as if they were the gateways. */
export function emulatorHosts(origins: EmulatorOrigins): string[] {
  return Object.values(origins).flatMap((origin) => (URL.canParse(origin) ? [new URL(origin).host] : []));
}
