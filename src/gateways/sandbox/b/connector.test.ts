import { Secret } from "../../../platform/secrets.ts";
import { describeConformance } from "../../connector.conformance.ts";
import { SandboxBConnector } from "./connector.ts";
import { currencies } from "./currencies.ts";
import { declines } from "./declines.ts";

describeConformance({
  gateway: "SANDBOX_B",
  connect: (parts) => new SandboxBConnector(parts),
  credentials: {
    apiKey: new Secret("sandbox_test_conformance"),
    merchantAccount: new Secret("test_conformance"),
    notificationHmacKey: new Secret("ab".repeat(32)),
  },
  declines,
  currencies,
});
