/** `npm run test:contract`: runs the contract checks at the sandboxes whose accounts the variables name. */
import { describe } from "vitest";
import { readContractVariables } from "../../config/config.ts";
import { describeContract } from "./contract.conformance.ts";
import { readContractSetting } from "./settings.ts";
import { contractSubjects } from "./subjects.ts";

const variables = readContractVariables();

for (const subject of contractSubjects) {
  const setting = readContractSetting(subject, variables);
  if (setting.type === "none") console.log(`Skipped ${subject.gateway}: no account is configured (${setting.reason}).`);
  describe.runIf(setting.type === "account")("the contract", () => {
    describeContract(subject, () => {
      if (setting.type === "none") throw new Error("only run where there is an account");
      return setting;
    });
  });
}
