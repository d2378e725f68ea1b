/** The origin of each real gateway, and the emulators that may replace it in test. */
import { optional, text } from "../platform/setting.ts";
import type { SettingReader } from "../platform/setting-reader.ts";

/** The gateways outside the sandbox. */
type RealGateway = "STRIPE" | "ADYEN" | "PAYPAL" | "THREEDSECUREIO";

/** Origins of emulators that replace gateways, only in test. */
export type EmulatorOrigins = Readonly<Partial<Record<RealGateway, string>>>;

const pair = String.raw`(STRIPE|ADYEN|PAYPAL|THREEDSECUREIO)=https?:\/\/[\w.:[\]-]+`;
const pairs = new RegExp(`^${pair}(,${pair})*$`);

/** The emulators that an operator configures; none by default. */
export const emulatorSetting = optional("SWITCHYARD_TEST_GATEWAY_ORIGINS", {
  roles: ["edge", "worker", "dashboard", "vault"],
  kind: text(pairs, "gateways and origins such as STRIPE=http://127.0.0.1:4404, with commas between"),
  about: "emulators of real gateways, in test alone, such as `STRIPE=http://127.0.0.1:4404`",
  example: "STRIPE=http://127.0.0.1:4404,ADYEN=http://127.0.0.1:4404",
});

/** Reads the emulators that an operator has configured; none by default. */
export function readEmulatorOrigins(reader: SettingReader): EmulatorOrigins {
  const named = reader.read(emulatorSetting)?.split(",") ?? [];
  return Object.fromEntries(named.map((one) => one.split("=", 2)));
}

/** Returns the hosts, with port, to which the vault sends cards in test as if they were the gateways. */
export function emulatorHosts(origins: EmulatorOrigins): string[] {
  return Object.values(origins).flatMap((origin) => (URL.canParse(origin) ? [new URL(origin).host] : []));
}
