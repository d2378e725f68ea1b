import { describe, expect, it } from "vitest";
import { readMailServer } from "./mail-server.ts";
import { SettingReader } from "./setting-reader.ts";

const from = "switchyard@pay.example.com";

function read(variables: Record<string, string>) {
  const problems: string[] = [];
  return { server: readMailServer(new SettingReader(variables, problems)), problems };
}

const readUrl = (url: string) => read({ SWITCHYARD_SMTP_URL: url, SWITCHYARD_SMTP_FROM: from });

describe("readMailServer()", () => {
  it("reads host, port, login and sender", () => {
    const { server, problems } = readUrl("smtps://ops%40example.com:hunter2%2F@mail.example.com:2465");
    expect(problems).toEqual([]);
    expect(server).toMatchObject({ host: "mail.example.com", port: 2465, tls: "from_start", from });
    expect(server?.login?.user).toBe("ops@example.com");
    expect(server?.login?.password.expose()).toBe("hunter2/");
    expect(JSON.stringify(server)).not.toContain("hunter2");
  });

  it.each([
    ["smtp://mail.example.com", { port: 587, tls: "if_offered", login: undefined }],
    ["smtps://mail.example.com", { port: 465, tls: "from_start" }],
    ["smtp://ops:hunter2@mail.example.com", { tls: "required" }],
    ["smtp://ops@mail.example.com", { tls: "required" }],
    ["smtp://ops:hunter2@localhost.example.com", { tls: "required" }],
    ["smtp://ops:hunter2@127.0.0.1.example.com:25", { tls: "required" }],
    ["smtp://ops:hunter2@127.0.0.1:2525", { tls: "if_offered", port: 2525 }],
    ["smtp://ops:hunter2@localhost:2525", { tls: "if_offered" }],
    ["smtp://ops:hunter2@[::1]:2525", { tls: "if_offered", host: "::1" }],
    ["smtp://ops:hunter2@[2001:db8::1]", { tls: "required", host: "2001:db8::1" }],
  ])("says of %s when TLS is required", (url, expected) => {
    expect(readUrl(url)).toMatchObject({ server: expected, problems: [] });
  });

  it.each([
    "mail.example.com",
    "http://mail.example.com",
    "smtp://",
    "smtp://ops:hunter2@",
    "smtp://:hunter2@mail.example.com",
    "smtp://mail.example.com:99999",
    "smtp://mail.example.com/inbox",
    "smtp://mail.example.com?tls.rejectUnauthorized=false",
    "smtp://ops:hunter2%@mail.example.com",
    "smtp://[mail",
    "smtp://mail.example.com\n",
  ])("refuses %j without repeating it", (url) => {
    const { server, problems } = readUrl(url);
    expect(server).toBeUndefined();
    expect(problems).toEqual([expect.stringContaining("SWITCHYARD_SMTP_URL must be smtp://")]);
    expect(problems.join()).not.toContain("hunter2");
  });

  it("refuses a sender that is not a bare address, and one without a server", () => {
    for (const sender of ["", "Pay <pay@example.com>", "pay@example.com, eve@example.com", "pay@example.com\r\nX: y"]) {
      const { problems } = read({ SWITCHYARD_SMTP_URL: "smtp://mail.example.com", SWITCHYARD_SMTP_FROM: sender });
      expect(problems, sender).toEqual([expect.stringContaining("SWITCHYARD_SMTP_FROM must be")]);
    }
    expect(read({ SWITCHYARD_SMTP_URL: "smtp://mail.example.com" }).problems).toEqual([
      expect.stringContaining("SWITCHYARD_SMTP_FROM is not set"),
    ]);
    expect(read({ SWITCHYARD_SMTP_FROM: from }).problems).toEqual([expect.stringContaining("left out")]);
    expect(read({})).toEqual({ server: undefined, problems: [] });
  });
});
