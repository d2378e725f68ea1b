/** Runs the contract checks at the emulators, to test the runner itself before it uses an account. */
import { Secret } from "../../platform/secrets.ts";
import { startSandbox } from "../../sandbox/main.ts";
import { forFile } from "../testing/for-file.ts";
import { describeContract } from "./contract.conformance.ts";
import { contractSubjects } from "./subjects.ts";

const sandbox = await forFile(() => startSandbox({ port: 0 }));

const credentials: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  STRIPE: { secretKey: "sk_test_contract000" },
  ADYEN: { apiKey: "AQEcontract/of-the=emulator", merchantAccount: "test_contract", hmacKey: "0".repeat(64) },
  PAYPAL: { clientId: "ClientOfTheContract_test_contract", clientSecret: "SecretOfTheContract0" },
};

for (const subject of contractSubjects) {
  const secrets = Object.entries(credentials[subject.gateway]!).map(([name, value]) => [name, new Secret(value)]);
  describeContract(subject, () => ({
    type: "account",
    origin: sandbox.origin,
    credentials: Object.fromEntries(secrets),
  }));
}
