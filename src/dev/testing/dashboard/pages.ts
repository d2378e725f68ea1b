/** The dashboard as browsers call it: with the cookie of the member who is signed in. */
import { type DescMethod, fromJson, type JsonValue } from "@bufbuild/protobuf";
import { type Client, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { ApiKeyService } from "../../../../gen/dashboard/v1/api_keys_pb.ts";
import { AuditService } from "../../../../gen/dashboard/v1/audit_pb.ts";
import { MemberService } from "../../../../gen/dashboard/v1/members_pb.ts";
import { PasskeyService } from "../../../../gen/dashboard/v1/passkeys_pb.ts";
import { PaymentService } from "../../../../gen/dashboard/v1/payments_pb.ts";
import { RefundService } from "../../../../gen/dashboard/v1/refunds_pb.ts";
import { SettingsService } from "../../../../gen/dashboard/v1/settings_pb.ts";
import { SignInService } from "../../../../gen/dashboard/v1/sign_in_pb.ts";
import { ErrorInfoSchema } from "../../../../gen/google/rpc/error_details_pb.ts";
import { keyedHash, type Throttled } from "../../../accounts/sign-in-throttle.ts";
import { type DashboardFixture, memberPassword } from "../../../dashboard/dashboard.fixture.ts";
import type { Secret } from "../../../platform/secrets.ts";

/** Returns the service's code of a refusal; a call that succeeds fails the test. */
export async function codeOf(call: Promise<unknown>): Promise<string | undefined> {
  const error = await call.then(
    () => {
      throw new Error("the call was not refused");
    },
    (reason: unknown) => ConnectError.from(reason),
  );
  return error.findDetails(ErrorInfoSchema)[0]?.reason.toLowerCase();
}

export class Pages {
  readonly #fixture: () => DashboardFixture;

  constructor(fixture: () => DashboardFixture) {
    this.#fixture = fixture;
  }

  signIns(cookie?: string): Client<typeof SignInService> {
    return createClient(SignInService, this.#transport(cookie));
  }

  payments(cookie?: string, operator?: Secret): Client<typeof PaymentService> {
    return createClient(PaymentService, this.#transport(cookie, operator));
  }

  refunds(cookie?: string, operator?: Secret): Client<typeof RefundService> {
    return createClient(RefundService, this.#transport(cookie, operator));
  }

  audit(cookie?: string): Client<typeof AuditService> {
    return createClient(AuditService, this.#transport(cookie));
  }

  keys(cookie?: string): Client<typeof ApiKeyService> {
    return createClient(ApiKeyService, this.#transport(cookie));
  }

  passkeys(cookie?: string): Client<typeof PasskeyService> {
    return createClient(PasskeyService, this.#transport(cookie));
  }

  settings(cookie?: string): Client<typeof SettingsService> {
    return createClient(SettingsService, this.#transport(cookie));
  }

  members(cookie?: string, operator?: Secret): Client<typeof MemberService> {
    return createClient(MemberService, this.#transport(cookie, operator));
  }

  tokenMailedTo(email: string): string {
    const mail = this.#fixture().mailbox.mails.findLast(({ to }) => to.includes(email));
    const token = /^https:\/\/dashboard\.example\.com\/\w[\w-]*#([\w-]{43})$/m.exec(mail?.text ?? "")?.[1];
    if (token === undefined) throw new Error(`no link was mailed to ${email}`);
    return token;
  }

  call(method: DescMethod, cookie: string | undefined, request: JsonValue = {}, operator?: Secret): Promise<unknown> {
    type Calls = Record<string, (message: object) => Promise<unknown>>;
    const calls = createClient(method.parent, this.#transport(cookie, operator)) as unknown as Calls;
    return calls[method.localName]!(fromJson(method.input, request));
  }

  /** Signs a member of the fixture in, and returns the cookie as a browser sends it back. */
  async enter(name: string, more: { password?: string; code?: string } = {}, before?: string): Promise<string> {
    const cookies: (string | null)[] = [];
    const request = { email: `${name.toLowerCase()}@example.com`, password: memberPassword, ...more };
    const onHeader = (headers: Headers) => cookies.push(headers.get("set-cookie"));
    const { codeNeeded } = await this.signIns(before).signIn(request, { onHeader });
    if (codeNeeded || !cookies[0]) throw new Error(`${name} is not signed in`);
    return cookies[0].split(";")[0]!;
  }

  async join(...member: Parameters<DashboardFixture["addMember"]>): Promise<string> {
    await this.#fixture().addMember(...member);
    return this.enter(member[0]);
  }

  /** Signs a member in whose proof of identity is too old for what requires a fresh one. */
  async enterStale(name: string): Promise<string> {
    const cookie = await this.enter(name);
    await this.setBack("proved_at", "15 minutes", cookie);
    return cookie;
  }

  /** Authenticates the signed-in member again, and returns the cookie that replaces this one. */
  async prove(cookie: string): Promise<string> {
    const cookies: (string | null)[] = [];
    const onHeader = (headers: Headers) => cookies.push(headers.get("set-cookie"));
    await this.signIns(cookie).proveSignIn({ password: memberPassword }, { onHeader });
    return cookies[0]!.split(";")[0]!;
  }

  async setBack(column: string, interval: string, cookie: string): Promise<void> {
    await this.#fixture().accountRows(
      `UPDATE sign_in SET ${column} = ${column} - $1::interval WHERE token_hash = sha256($2::bytea)`,
      [interval, Buffer.from(cookie.split("=")[1]!)],
    );
  }

  /** Makes a throttled name wait, independent of the machine's speed: its last failure is an hour ahead. */
  async makeWait({ name }: Throttled): Promise<void> {
    await this.#fixture().accountRows(
      "UPDATE sign_in_failures SET last_at = clock_timestamp() + interval '1 hour' WHERE subject = $1",
      [keyedHash(this.#fixture().sealing, name)],
    );
  }

  #transport(cookie = "", operator?: Secret) {
    return createConnectTransport({
      baseUrl: `http://${this.#fixture().address}`,
      httpVersion: "2",
      interceptors: [
        (next) => (request) => {
          if (cookie !== "") request.header.set("cookie", cookie);
          if (operator) request.header.set("authorization", `Bearer ${operator.expose()}`);
          request.header.set("user-agent", "Test Browser");
          return next(request);
        },
      ],
    });
  }
}
