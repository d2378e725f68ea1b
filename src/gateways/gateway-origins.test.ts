import { describe, expect, it } from "vitest";
import { SettingReader } from "../platform/setting-reader.ts";
import { emulatorHosts, readEmulatorOrigins } from "./gateway-origins.ts";

function read(value: string | undefined) {
  const problems: string[] = [];
  const origins = readEmulatorOrigins(new SettingReader({ SWITCHYARD_TEST_GATEWAY_ORIGINS: value }, problems));
  return { origins, problems };
}

describe("readEmulatorOrigins()", () => {
  it("names none unless an operator configures them", () => {
    expect(read(undefined)).toEqual({ origins: {}, problems: [] });
  });

  it("reads an emulator for each gateway that is named, and their hosts with port", () => {
    const { origins } = read("STRIPE=http://127.0.0.1:4404,ADYEN=https://adyen.example");
    expect(origins).toEqual({ STRIPE: "http://127.0.0.1:4404", ADYEN: "https://adyen.example" });
    expect(emulatorHosts(origins)).toEqual(["127.0.0.1:4404", "adyen.example"]);
  });

  it.each(["STRIPE", "STRIPE=127.0.0.1", "SQUARE=http://127.0.0.1:1", "STRIPE=http://127.0.0.1:1/path"])(
    "refuses %s by the setting's name",
    (wrong) => {
      expect(read(wrong).problems).toEqual([expect.stringContaining("SWITCHYARD_TEST_GATEWAY_ORIGINS")]);
    },
  );
});
