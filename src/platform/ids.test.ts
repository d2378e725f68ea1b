import fc from "fast-check";
import { v7 } from "uuid";
import { describe, expect, it } from "vitest";
import { type ConnectionId, decodeId, encodeId, type MerchantId } from "./ids.ts";

describe("TypeIDs", () => {
  // Rows of the specification's valid.yml (https://github.com/jetify-com/typeid/blob/main/spec/valid.yml, 2026-11).
  it.each([
    ["00000000-0000-0000-0000-000000000000", "00000000000000000000000000"],
    ["ffffffff-ffff-ffff-ffff-ffffffffffff", "7zzzzzzzzzzzzzzzzzzzzzzzzz"],
    ["0110c853-1d09-52d8-d73e-1194e95b5f19", "0123456789abcdefghjkmnpqrs"],
    ["01890a5d-ac96-774b-bcce-b302099a8057", "01h455vb4pex5vsknk084sn02q"],
  ])("write %s as the specification does", (uuid, suffix) => {
    expect(encodeId("ps", uuid)).toBe(`ps_${suffix}`);
    expect(decodeId("ps", `ps_${suffix}`)).toBe(uuid);
  });

  it("read back what they wrote", () => {
    fc.assert(fc.property(fc.uuid(), (uuid) => decodeId("att", encodeId("att", uuid)) === uuid));
  });

  it("sort like their UUIDs", () => {
    const uuids = Array.from({ length: 50 }, () => v7()).toSorted();
    expect(uuids.map((uuid) => encodeId("ps", uuid)).toSorted()).toEqual(uuids.map((uuid) => encodeId("ps", uuid)));
  });

  it.each([
    "ps_",
    "att_01h455vb4pex5vsknk084sn02q",
    "ps_01H455VB4PEX5VSKNK084SN02Q",
    "ps_81h455vb4pex5vsknk084sn02q",
    "ps_01h455vb4pex5vsknk084sn02l",
  ])("are not %j", (text) => {
    expect(decodeId("ps", text)).toBeUndefined();
  });

  it("are typed by their prefix, so that one of another table is refused when it is compiled", () => {
    const attempt = decodeId("att", "att_01h455vb4pex5vsknk084sn02q")!;
    const merchant: MerchantId = v7();
    // @ts-expect-error A merchant is no connection.
    const connection: ConnectionId = merchant;
    expect([
      // @ts-expect-error An attempt is no session.
      encodeId("ps", attempt),
      // @ts-expect-error A merchant is no connection.
      encodeId("gc", merchant),
      encodeId("gc", connection),
    ]).toEqual(["ps_01h455vb4pex5vsknk084sn02q", encodeId("gc", connection), encodeId("gc", connection)]);
  });
});
