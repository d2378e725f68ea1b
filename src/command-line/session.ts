/** `switchyard session`: payment sessions over the public REST API, as a merchant's backend would. */
import { Command, InvalidArgumentError } from "commander";
import type { BillingAddress, PaymentSession } from "../client/merchant/payment-session.ts";
import { RestClient } from "../client/merchant/rest-client.ts";
import { amountInWords } from "../platform/money.ts";
import { Secret } from "../platform/secrets.ts";
import { type Amount, parseAmount } from "./amounts.ts";
import {
  addScope,
  commandLineVariables,
  demoOf,
  describedCommand,
  readSecretFile,
  type ScopeOptions,
  UsageError,
} from "./attachment.ts";
import { type OutputOptions, print } from "./output.ts";

type RestOptions = OutputOptions &
  ScopeOptions & { readonly demo: string; readonly restBase?: string; readonly secretKeyFile?: string };

type CreateOptions = RestOptions & {
  readonly amount: Amount;
  readonly order: string;
  readonly email?: string;
  readonly customerName?: string;
  readonly billingAddress?: BillingAddress;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly statementDescriptor?: string;
  readonly idempotencyKey?: string;
};

export function sessionCommand(): Command {
  return new Command("session").addCommand(createCommand()).addCommand(showCommand());
}

function createCommand(): Command {
  return restCommand("create", {
    description: "create a payment session",
    example: "switchyard session create --amount 49.00EUR --order order-1042",
  })
    .requiredOption("--amount <amount>", "amount and its currency by ISO 4217, such as 49.00EUR", parseAmount)
    .requiredOption("--order <reference>", "your reference for the order")
    .option("--email <address>", "the customer's email address")
    .option("--customer-name <name>", "the customer's name")
    .option("--billing-address <json>", "billing address: an object with line1, city, postalCode, country", parseObject)
    .option("--metadata <key=value>", "your own data about the order; repeat it for more", addPair)
    .option("--statement-descriptor <text>", "text for the card statement (default: the merchant's setting)")
    .option("--idempotency-key <key>", "idempotency key; repeat it to get the same session (default: a new key)")
    .action(async (options: CreateOptions) => {
      const { amount, order: orderRef, email: customerEmail } = options;
      const { amountMinor, currency } = amount;
      const { customerName, billingAddress, metadata, statementDescriptor } = options;
      const details = { customerEmail, customerName, billingAddress, metadata, statementDescriptor };
      const created = await (await clientOf(options)).createSession(
        { amountMinor: Number(amountMinor), currency, orderRef, ...details },
        { idempotencyKey: options.idempotencyKey },
      );
      print(options, created, ({ sessionId, status, expiresAt, clientSecret }) => [
        `${sessionId}  ${status}, accepts payment until ${expiresAt}`,
        `client secret for the page: ${clientSecret}`,
      ]);
    });
}

function showCommand(): Command {
  return restCommand("show", {
    description: "show a session with its attempt trail",
    example: "switchyard session show ps_01h455vb4pex5vsknk084sn02q",
  })
    .argument("<session>", "id of the session")
    .action(async (sessionId: string, options: RestOptions) => {
      print(options, await (await clientOf(options)).getSession(sessionId), describeSession);
    });
}

function restCommand(name: string, about: { description: string; example: string }): Command {
  return addScope(describedCommand(name, about))
    .option("--demo <folder>", "state folder of a running demo", ".switchyard")
    .option("--rest-base <url>", "base URL of an installation with the API version, instead of a demo")
    .option("--secret-key-file <file>", "file with the secret key; or set SWITCHYARD_SECRET_KEY");
}

async function clientOf(options: RestOptions) {
  const given = options.secretKeyFile
    ? readSecretFile(options.secretKeyFile)
    : (await commandLineVariables()).secretKey;
  if (options.restBase !== undefined) {
    if (given) return new RestClient({ restBase: options.restBase, secretKey: given.expose() });
    throw new UsageError("Give the secret key with --secret-key-file, or set SWITCHYARD_SECRET_KEY.");
  }
  const { restBase, merchants } = demoOf(options);
  const merchant = merchants.find(({ merchantId }) => merchantId === options.merchant) ?? merchants[0];
  const ownedByDemo = options.merchant === undefined || merchant?.merchantId === options.merchant;
  const secretKey =
    given ?? (ownedByDemo && merchant ? new Secret(merchant[options.environment].secretKey) : undefined);
  if (secretKey) return new RestClient({ restBase, secretKey: secretKey.expose() });
  throw new UsageError("The demo does not know this merchant's key. Give it with --secret-key-file.");
}

function describeSession(session: PaymentSession): string[] {
  const { sessionId, orderRef, amountMinor, currency, status, processing, capturedVia, failover, declineCode } =
    session;
  const outcome = [
    processing ? "processing" : status,
    capturedVia && `via ${capturedVia}${failover ? " after a failover" : ""}`,
    declineCode,
  ];
  return [
    `${sessionId}  ${orderRef}  ${amountInWords(amountMinor, currency)}  ${outcome.filter(Boolean).join(", ")}`,
    ...session.attempts.map(({ sequence, gateway, status: state, declineCode: code, next }) =>
      [`  ${sequence}  ${gateway}  ${state}`, code, next && `${next.action}: ${next.because}`]
        .filter(Boolean)
        .join("  "),
    ),
  ];
}

function parseObject(text: string): BillingAddress {
  try {
    return JSON.parse(text) as BillingAddress;
  } catch {
    throw new InvalidArgumentError("It must be a JSON object.");
  }
}

function addPair(text: string, pairs: Readonly<Record<string, string>> = {}): Record<string, string> {
  const equals = text.indexOf("=");
  if (equals < 1) throw new InvalidArgumentError("It must be a key and a value, such as cart=c-881.");
  return { ...pairs, [text.slice(0, equals)]: text.slice(equals + 1) };
}
