/** The process that the stand-in of an external vault runs in; its parent asks it over IPC (vault-stand-in.ts). */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { answerParent } from "../child-process.ts";
import type { VaultFault, VaultStandInOptions } from "./orders.ts";
import { VaultStandIn } from "./stand-in-server.ts";

let vault: VaultStandIn | undefined;

answerParent({
  start: async (options: VaultStandInOptions) => {
    vault = new VaultStandIn(options);
    vault.server.listen(options.port, "127.0.0.1");
    await once(vault.server, "listening");
    return (vault.server.address() as AddressInfo).port;
  },
  setFaults: (faults: readonly VaultFault[]) => vault?.setFaults(faults),
  record: () => vault?.record,
});
