import { expect, it } from "vitest";
import { inWords } from "./action-words.ts";

it.each([
  ["RegenerateApiKey", "Regenerate API key"],
  ["SetRoutingRule", "Set routing rule"],
  ["ConfirmTotp", "Add authenticator app"],
  ["RemoveTotp", "Remove authenticator app"],
])("inWords() describes %s", (action, text) => {
  expect(inWords(action)).toBe(text);
});
