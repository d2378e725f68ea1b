/** The process of the external vault's emulator; its parent controls it over IPC (vault-emulator-process.ts). */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { answerParent } from "../child-process.ts";
import { VaultEmulator } from "./emulator-server.ts";
import type { VaultEmulatorOptions, VaultFault } from "./orders.ts";

let vault: VaultEmulator | undefined;

answerParent({
  start: async (options: VaultEmulatorOptions) => {
    vault = new VaultEmulator(options);
    vault.server.listen(options.port, "127.0.0.1");
    await once(vault.server, "listening");
    return (vault.server.address() as AddressInfo).port;
  },
  setFaults: (faults: readonly VaultFault[]) => vault?.setFaults(faults),
  record: () => vault?.record,
});
