/** Connects STRIPE, ADYEN and PAYPAL beside the two sandbox gateways of a demo's first merchant, and routes to one of them. */
import type { Gateway } from "../../gateways/connector.ts";
import { emulatorAccounts, notificationKey } from "../testing/emulator-accounts.ts";
import { callRpc } from "../testing/run-command.ts";
import type { SandboxControl } from "../testing/sandbox-control.ts";

export const fiveGateways = ["SANDBOX_A", "SANDBOX_B", "STRIPE", "ADYEN", "PAYPAL"] as const satisfies Gateway[];

const account = "test_fivegateways";

/** Returns a function that makes new payments use one gateway alone. */
export async function connectFiveGateways(demo: {
  readonly sandbox: SandboxControl;
  readonly stateFolder: string;
}): Promise<(gateway: Gateway) => Promise<void>> {
  const call = (method: string, request: object) => callRpc(method, request, ["--demo", demo.stateFolder]);
  for (const gateway of ["STRIPE", "ADYEN", "PAYPAL"] as const) {
    const credentials = emulatorAccounts[gateway].credentials(account);
    const added = { gateway, account: "five", credentials };
    const { connection, notificationUrl } = await call("GatewayConnectionService/AddGatewayConnection", added);
    if (gateway === "ADYEN") await demo.sandbox.setAccount(account, { notificationUrl, hmacKey: notificationKey });
    const { connectionId } = connection;
    await call("GatewayConnectionService/VerifyGatewayConnection", { connectionId });
  }
  const { connections } = (await call("GatewayConnectionService/ListGatewayConnections", {})) as {
    connections: { gateway: string; connectionId: string }[];
  };
  return async (wanted) => {
    const { connectionId } = connections.find(({ gateway }) => gateway === wanted)!;
    const failoverOn = ["HARD_DECLINE", "TIMEOUT", "GATEWAY_ERROR"];
    await call("RoutingRuleService/SetRoutingRule", { connectionIds: [connectionId], failoverOn });
  };
}
