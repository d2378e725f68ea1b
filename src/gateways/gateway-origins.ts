/** Where each real gateway is spoken to, and the stand-ins that may take its place in test. */
import { optional, text } from "../platform/setting.ts";
import type { SettingReader } from "../platform/setting-reader.ts";

/** The gateways of the real world. */
export type RealGateway = "STRIPE" | "ADYEN" | "PAYPAL";

/** Origins that stand for gateways, in test and nowhere else. */
export type StandInOrigins = Readonly<Partial<Record<RealGateway, string>>>;

const pair = String.raw`(STRIPE|ADYEN|PAYPAL)=https?:\/\/[\w.:[\]-]+`;
const pairs = new RegExp(`^${pair}(,${pair})*$`);

/** The stand-ins that an operator names; none usually. */
export const standInSetting = optional("SWITCHYARD_TEST_GATEWAY_ORIGINS", {
  roles: ["edge", "worker", "dashboard", "vault"],
  kind: text(pairs, "gateways and origins such as STRIPE=http://127.0.0.1:4404, with commas between"),
  about: "stand-ins of real gateways, in test alone, such as `STRIPE=http://127.0.0.1:4404`",
  example: "STRIPE=http://127.0.0.1:4404,ADYEN=http://127.0.0.1:4404",
});

/** The stand-ins that an operator has named; none usually. */
export function readStandInOrigins(reader: SettingReader): StandInOrigins {
  const named = reader.read(standInSetting)?.split(",") ?? [];
  return Object.fromEntries(named.map((one) => one.split("=", 2)));
}

/** Hosts, with port, to which the vault sends cards in test as if they were the gateways. */
export function standInHosts(origins: StandInOrigins): string[] {
  return Object.values(origins).flatMap((origin) => (URL.canParse(origin) ? [new URL(origin).host] : []));
}
