/** Connects STRIPE, ADYEN and PAYPAL beside the two sandbox gateways of a demo's first merchant, and routes to one of them. */
import type { Gateway } from "../../gateways/connector.ts";
import { emulatorAccounts, notificationKey } from "../testing/emulator-accounts.ts";
import { runCommand } from "../testing/run-command.ts";
import type { SandboxControl } from "../testing/sandbox-control.ts";

export const fiveGateways = ["SANDBOX_A", "SANDBOX_B", "STRIPE", "ADYEN", "PAYPAL"] as const satisfies Gateway[];

const account = "test_fivegateways";

/** Returns a function that makes new payments use one gateway alone. */
export async function connectFiveGateways(demo: {
  readonly sandbox: SandboxControl;
  readonly stateFolder: string;
}): Promise<(gateway: Gateway) => Promise<void>> {
  const run = async (parts: readonly string[], input?: string) => {
    const command = [...parts, "--demo", demo.stateFolder, "--json"];
    const { code, out, err } = await runCommand(command, input === undefined ? {} : { input });
    if (code !== 0) throw new Error(`${parts.join(" ")} failed: ${err}${out}`);
    return JSON.parse(out);
  };
  for (const gateway of ["STRIPE", "ADYEN", "PAYPAL"] as const) {
    const credentials = JSON.stringify(emulatorAccounts[gateway].credentials(account));
    const add = ["connection", "add", "--gateway", gateway, "--account", "five", "--credentials-file", "-"];
    const { connection, notificationUrl } = await run(add, credentials);
    if (gateway === "ADYEN") await demo.sandbox.setAccount(account, { notificationUrl, hmacKey: notificationKey });
    await run(["connection", "verify", connection.connectionId]);
  }
  const { connections } = (await run(["connection", "list"])) as {
    connections: { gateway: string; connectionId: string }[];
  };
  return async (wanted) => {
    const { connectionId } = connections.find(({ gateway }) => gateway === wanted)!;
    await run(["routing", "set", "--connections", connectionId]);
  };
}
