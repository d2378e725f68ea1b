/** Settings of the mail server. Sends nothing itself (mail.ts). */
import { Secret } from "./secrets.ts";
import { optional, secretText, text } from "./setting.ts";
import type { SettingReader } from "./setting-reader.ts";

export type MailServer = {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte; otherwise, before any other command, TLS is either required or used if offered. */
  readonly tls: "from_start" | "required" | "if_offered";
  readonly login: { readonly user: string; readonly password: Secret } | undefined;
  readonly from: string;
};

// An address without a name, as in headers and envelope alike.
const addressPattern = /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,200}[A-Za-z0-9])?$/;

// The ports of submission, unencrypted at first and by TLS (RFC 6409, RFC 8314).
const defaultPorts = { "smtp:": 587, "smtps:": 465 } as const;

const roles = ["edge", "worker", "dashboard"] as const;

export const mailSettings = {
  smtpUrl: optional("SWITCHYARD_SMTP_URL", {
    roles,
    kind: secretText({ test: isServerUrl }, "smtp:// or smtps://, with user:password@ if it wants them, and host:port"),
    about:
      "[mail server](webhook-operations.md#mail) for alerts of the worker and invitations of the dashboard; without it no mail is sent, and members cannot send invitations",
    example: "smtps://switchyard:…@mail.example.com",
  }),
  smtpFrom: optional("SWITCHYARD_SMTP_FROM", {
    roles,
    kind: text(addressPattern, "the address that mail comes from, without a name"),
    about: "the address that they come from; needed with the mail server",
    example: "payments@example.com",
  }),
} as const;

export function readMailServer(reader: SettingReader): MailServer | undefined {
  if (!reader.isSet(mailSettings.smtpUrl)) {
    reader.leaveOut(mailSettings.smtpFrom, `where ${mailSettings.smtpUrl.name} is`);
    return undefined;
  }
  const url = reader.readNeeded(mailSettings.smtpUrl);
  const from = reader.readNeeded(mailSettings.smtpFrom);
  return url && { ...parseServerUrl(url.expose()), from };
}

function isServerUrl(text: string): boolean {
  if (!/^smtps?:\/\/[^\s/?#]+$/.test(text) || !URL.canParse(text)) return false;
  try {
    const { host, login } = parseServerUrl(text);
    return host !== "" && (login === undefined || login.user !== "");
  } catch {
    // A percent sign that does not begin an encoded character.
    return false;
  }
}

/** Parses the server's address. A password is sent over TLS only, except to a server on this machine. */
function parseServerUrl(text: string): Omit<MailServer, "from"> {
  const { protocol, hostname, port, username, password } = new URL(text);
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  const hasLogin = username !== "" || password !== "";
  const isThisMachine = host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
  const upgrade = hasLogin && !isThisMachine ? "required" : "if_offered";
  return {
    host,
    port: Number(port) || defaultPorts[protocol as keyof typeof defaultPorts],
    tls: protocol === "smtps:" ? "from_start" : upgrade,
    login: hasLogin
      ? { user: decodeURIComponent(username), password: new Secret(decodeURIComponent(password)) }
      : undefined,
  };
}
