/** Where mail is handed over, as an operator configures it. Sends nothing itself (mail.ts). */
import { Secret } from "./secrets.ts";
import { optional, secretText, text } from "./setting.ts";
import type { SettingReader } from "./setting-reader.ts";

/** A mail server and the address that mail comes from. */
export type MailServer = {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte; otherwise whether the connection must become TLS before anything is said, or may. */
  readonly tls: "from_start" | "required" | "if_offered";
  readonly login: { readonly user: string; readonly password: Secret } | undefined;
  readonly from: string;
};

// One address without a name, as in headers and envelope alike.
const addressPattern = /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,200}[A-Za-z0-9])?$/;

// Those of submission, in the clear at first and by TLS (RFC 6409, RFC 8314).
const usualPorts = { "smtp:": 587, "smtps:": 465 } as const;

const roles = ["edge", "worker", "dashboard"] as const;

/** The server, and the address that mail comes from. */
export const mailSettings = {
  smtpUrl: optional("SWITCHYARD_SMTP_URL", {
    roles,
    kind: secretText({ test: isServerUrl }, "smtp:// or smtps://, with user:password@ if it wants them, and host:port"),
    about:
      "[mail server](webhooks.md#mail) for notices of the worker and invitations of the dashboard; without it there is no mail, and members invite nobody",
    example: "smtps://switchyard:…@mail.example.com",
  }),
  smtpFrom: optional("SWITCHYARD_SMTP_FROM", {
    roles,
    kind: text(addressPattern, "the address that mail comes from, without a name"),
    about: "the address that they come from; needed with the mail server",
    example: "payments@example.com",
  }),
} as const;

/** Reads both settings; undefined where no mail server is set. */
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
    // A percent sign that begins no character.
    return false;
  }
}

/** A password is said over TLS only, but for a server on this machine. */
function parseServerUrl(text: string): Omit<MailServer, "from"> {
  const { protocol, hostname, port, username, password } = new URL(text);
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  const hasLogin = username !== "" || password !== "";
  const isThisMachine = host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
  const upgrade = hasLogin && !isThisMachine ? "required" : "if_offered";
  return {
    host,
    port: Number(port) || usualPorts[protocol as keyof typeof usualPorts],
    tls: protocol === "smtps:" ? "from_start" : upgrade,
    login: hasLogin
      ? { user: decodeURIComponent(username), password: new Secret(decodeURIComponent(password)) }
      : undefined,
  };
}
