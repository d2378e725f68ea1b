import { Secret } from "../../../platform/secrets.ts";
import { describeConformance } from "../../connector.conformance.ts";
import { SandboxAConnector } from "./connector.ts";
import { currencies } from "./currencies.ts";
import { declines } from "./declines.ts";

describeConformance({
  gateway: "SANDBOX_A",
  connect: (parts) => new SandboxAConnector(parts),
  credentials: { apiKey: new Secret("sandbox_test_conformance") },
  declines,
  currencies,
});
