/** The emulators that may replace real gateways. */
import { optional, text } from "../platform/setting.ts";
import type { SettingReader } from "../platform/setting-reader.ts";

/** The gateways outside the sandbox. */
type RealGateway = "STRIPE" | "ADYEN" | "PAYPAL" | "THREEDSECUREIO";

/** Origins of emulators that replace gateways: in test, and in live where it has only sandbox gateways. */
export type EmulatorOrigins = Readonly<Partial<Record<RealGateway, string>>>;

const pair = String.raw`(STRIPE|ADYEN|PAYPAL|THREEDSECUREIO)=https?:\/\/[\w.:[\]-]+`;
const pairs = new RegExp(`^${pair}(,${pair})*$`);

/** The emulators that an operator configures; none by default. */
export const emulatorSetting = optional("SWITCHYARD_TEST_GATEWAY_ORIGINS", {
  roles: ["edge", "worker", "dashboard", "vault"],
  kind: text(pairs, "gateways and origins such as STRIPE=http://127.0.0.1:4404, with commas between"),
  about:
    "emulators of real gateways, such as `STRIPE=http://127.0.0.1:4404`: for test, and for live where `SWITCHYARD_SANDBOX_ORIGIN` is set",
  example: "STRIPE=http://127.0.0.1:4404,ADYEN=http://127.0.0.1:4404",
});

/** Reads the emulators that an operator has configured; none by default. */
export function readEmulatorOrigins(reader: SettingReader): EmulatorOrigins {
  const named = reader.read(emulatorSetting)?.split(",") ?? [];
  return Object.fromEntries(named.map((one) => one.split("=", 2)));
}

/** Returns the emulators that replace gateways in an environment. Live has some only where it has no real gateway. */
export function emulatorsIn(
  environment: "test" | "live",
  installation: { readonly emulatorOrigins: EmulatorOrigins; readonly sandboxOrigin: string | undefined },
): EmulatorOrigins {
  return environment === "test" || installation.sandboxOrigin !== undefined ? installation.emulatorOrigins : {};
}

/** Returns the hosts, with port, to which the vault sends cards as if they were the gateways. */
export function emulatorHosts(origins: EmulatorOrigins): string[] {
  return Object.values(origins).flatMap((origin) => (URL.canParse(origin) ? [new URL(origin).host] : []));
}
