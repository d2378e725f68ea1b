/** Where each real gateway is spoken to, and the stand-ins that may take its place in test. */
import type { SettingReader } from "../platform/setting-reader.ts";

/** The gateways of the real world. */
export type RealGateway = "STRIPE" | "ADYEN" | "PAYPAL";

/** Origins that stand for gateways, in test and nowhere else. */
export type StandInOrigins = Readonly<Partial<Record<RealGateway, string>>>;

const pair = String.raw`(STRIPE|ADYEN|PAYPAL)=https?:\/\/[\w.:[\]-]+`;
const pairs = new RegExp(`^(${pair}(,${pair})*)?$`);

/** The stand-ins that an operator has named; none usually. */
export function readStandInOrigins(reader: SettingReader): StandInOrigins {
  const text = reader.text(
    "SWITCHYARD_TEST_GATEWAY_ORIGINS",
    pairs,
    "gateways and origins such as STRIPE=http://127.0.0.1:4404, with commas between",
    "",
  );
  return Object.fromEntries(
    text
      .split(",")
      .filter(Boolean)
      .map((one) => one.split("=", 2)),
  );
}

/** Hosts, with port, to which the vault sends cards in test as if they were the gateways. */
export function standInHosts(origins: StandInOrigins): string[] {
  return Object.values(origins).flatMap((origin) => (URL.canParse(origin) ? [new URL(origin).host] : []));
}
