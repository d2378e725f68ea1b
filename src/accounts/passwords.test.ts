import { describe, expect, it } from "vitest";
import { Secret } from "../platform/secrets.ts";
import { findPasswordProblem } from "./passwords.ts";

const olive = { email: "olive.baker@roundhouse.example.com", name: "Olive Baker-Ng" };
const problemOf = (text: string, owner = olive) => findPasswordProblem(new Secret(text), owner);

describe("a new password", () => {
  it.each([
    "123456789012",
    "password1234",
    "Password1234!",
    "P@ssw0rd1234",
    "passwordpassword",
    "qwertyuiop12",
    "letmeinletmein",
    "trustno1trustno1",
    "Adminadmin123",
    "iloveyou2026",
    "abcdefghijkl",
    "ｐａｓｓｗｏｒｄ１２３４",
  ])("is refused if it is common or easily guessed: %s", async (text) => {
    expect(await problemOf(text)).toBe("must not be a common password or a pattern that is easy to guess");
  });

  it.each([
    "olive.baker@roundhouse.example.com",
    "OLIVE.BAKER!1",
    "olive.baker2026",
    "Olive Baker-Ng",
    "baker-ng olive",
    "BakerOlive12",
    "roundhouse123",
    "ng.baker.olive.roundhouse",
  ])("is refused if it is the member's own name or address and a few characters: %s", async (text) => {
    expect(await problemOf(text)).toBe("must be more than your name or your address and a few characters");
  });

  it.each([
    ["eleven char", "must have 12 to 128 characters"],
    ["x".repeat(129), "must have 12 to 128 characters"],
    ["abababababababab", "must have at least five different characters"],
  ])("is refused if it breaks a rule of form: %s", async (text, rule) => {
    expect(await problemOf(text)).toBe(rule);
  });

  it.each([
    "correct horse battery",
    "another good horse",
    "a8Fk2_lqPq0Z",
    "olive trees in the wind",
    "Übergrößenträger am See",
    "合言葉は山と川と海と空と風",
    "aB3$".repeat(4) + "kQ9!zWx7".repeat(14),
  ])("is accepted if it resists guessing: %s", async (text) => {
    expect(await problemOf(text)).toBeUndefined();
  });

  it("is judged for a member whose name has nothing to compare with", async () => {
    expect(await problemOf("correct horse battery", { email: "a@b.example", name: "李" })).toBeUndefined();
  });
});
