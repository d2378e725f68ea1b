import { expect, it } from "vitest";
import { rights } from "../../../accounts/rights.ts";
import { rightNames } from "./right-words.ts";

it("says what each right allows", () => {
  expect(rightNames.map(([right]) => right)).toEqual(rights);
});
