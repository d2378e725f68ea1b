/** `switchyard rpc`: calls any method of the dashboard's services, with JSON in and JSON out. */
import { readFileSync } from "node:fs";
import type { DescMethod, DescService, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type Command, Option } from "commander";
import type { DashboardClient } from "../client/dashboard-client.ts";
import { attachedCall, type MerchantOptions, merchantCommand, scopeOf, UsageError } from "./attachment.ts";
import { print, shown } from "./output.ts";

type RpcOptions = MerchantOptions & {
  readonly fields?: true;
  readonly allPages?: true;
  readonly print?: string;
};

const examples = `
  switchyard rpc WebhookEndpointService
  switchyard rpc WebhookEndpointService/AddWebhookEndpoint --fields
  switchyard rpc WebhookEndpointService/AddWebhookEndpoint '{"url": "https://shop.example.com/hook"}' --print signingSecret
  switchyard rpc GatewayConnectionService/AddGatewayConnection @account.json --environment live
  switchyard rpc LedgerService/ExportLedger '{"day": "2026-03-04"}' --all-pages --print csv > ledger.csv`;

export function rpcCommand(): Command {
  return merchantCommand("rpc", {
    description: "call a method of the dashboard's services; without a method, list what can be called",
    example: `switchyard rpc PaymentService/GetPayment '{"sessionId": "ps_01h455vb4pex5vsknk084sn02q"}'${examples}`,
  })
    .argument("[method]", "a service to list its methods, or SERVICE/METHOD to call one")
    .argument("[request]", "the request as a JSON object; @FILE reads a file, - standard input (default: {})")
    .option("--fields", "show the fields of the request and the answer instead of a call")
    .option("--all-pages", "call again for every next page; prints each answer on one line")
    .addOption(new Option("--print <field>", "print only this field of the answer, a text as it is"))
    .action(rpc);
}

async function rpc(name: string | undefined, request: string | undefined, options: RpcOptions): Promise<void> {
  const { dashboardServices } = await import("../dashboard/service-list.ts");
  const described = await import("./describe-rpc.ts");
  if (name === undefined) {
    return print(options, described.describeServices(dashboardServices), described.serviceLines);
  }
  const service = findService(dashboardServices, name);
  if (!name.includes("/")) return print(options, described.describeMethods(service), described.methodLines);
  const method = findMethod(service, name);
  if (options.fields) return print(options, described.describeFields(method), described.fieldLines);
  const message = readRequest(method, request ?? "{}", { options, misfitOf: described.misfitOf });
  await attachedCall(options, async (dashboard) => {
    for await (const answer of answersOf(dashboard, { method, message, options })) {
      const out =
        options.print === undefined
          ? JSON.stringify(answer, null, options.allPages ? 0 : 2)
          : printed(method, answer, options.print);
      // A page of a file may be empty.
      if (out !== "" || !options.allPages) console.log(out);
    }
  });
}

function findService(services: readonly DescService[], name: string): DescService {
  const wanted = name.split("/")[0]!.replace(/^dashboard\.v1\./, "");
  const service = services.find((one) => one.name.toLowerCase() === wanted.toLowerCase());
  if (service !== undefined) return service;
  throw new UsageError(`There is no service ${shown(wanted)}: ${services.map((one) => one.name).join(", ")}.`);
}

function findMethod({ name: service, methods }: DescService, name: string): DescMethod {
  const wanted = name.slice(name.indexOf("/") + 1).toLowerCase();
  const method = methods.find((one) => one.name.toLowerCase() === wanted);
  if (method !== undefined) return method;
  throw new UsageError(
    `${service} has no method ${shown(wanted)}: ${methods.map((one) => one.name).join(", ")}. To see them: switchyard rpc ${service}`,
  );
}

type Reading = {
  readonly options: RpcOptions;
  readonly misfitOf: (method: DescMethod, name: string, value: JsonValue) => string | undefined;
};

/** Returns the request with merchant and environment filled in. Throws UsageError, which names the field, for one that does not fit. */
function readRequest(method: DescMethod, given: string, { options, misfitOf }: Reading): JsonObject {
  const isArgument = given !== "-" && !given.startsWith("@");
  const source = isArgument ? given : readFileSync(given === "-" ? process.stdin.fd : given.slice(1), "utf8");
  const parsed = parse(source);
  const fields = new Map(method.input.fields.flatMap((field) => [field.name, field.jsonName].map((of) => [of, field])));
  const secret = Object.keys(parsed).find((name) => fields.get(name)?.proto.options?.debugRedact);
  if (isArgument && secret !== undefined && parsed[secret] !== "") {
    throw new UsageError(
      `${secret} is a secret, and other programs of this machine can read arguments. Give the request in a file, @FILE, or on standard input, -.`,
    );
  }
  const unknown = Object.keys(parsed).find((name) => !fields.has(name));
  if (unknown !== undefined) {
    const known = method.input.fields.map(({ jsonName }) => jsonName).join(", ");
    throw new UsageError(`${shown(unknown)} is no field of ${method.input.name}: ${known || "it has none"}.`);
  }
  for (const [name, value] of Object.entries(parsed)) {
    const what = misfitOf(method, name, value);
    if (what === undefined) continue;
    const rule =
      name === secret ? "it must be an object of texts, or a text" : `it does not fit its type: ${shown(what)}`;
    const { parent, name: called } = method;
    throw new UsageError(`Correct ${name}: ${rule}. To see the type: switchyard rpc ${parent.name}/${called} --fields`);
  }
  return { ...scopeIn(method, parsed, options), ...parsed };
}

function parse(source: string): JsonObject {
  try {
    const parsed: unknown = JSON.parse(source);
    if (typeof parsed === "object" && parsed !== null && !Array.isArray(parsed)) return parsed as JsonObject;
  } catch {
    // The parser's message repeats a part of the text, which may hold a secret.
    throw new UsageError("The request is not valid JSON.");
  }
  throw new UsageError('The request must be one JSON object, such as {"pageSize": 10}.');
}

/** The merchant and environment that the request does not name itself. */
function scopeIn({ input }: DescMethod, parsed: JsonObject, options: RpcOptions): JsonObject {
  const isMissing = (name: string) =>
    input.fields.some((field) => field.name === name && !(field.jsonName in parsed) && !(name in parsed));
  const needsMerchant = isMissing("merchant_id");
  const scope = scopeOf({ ...options, ...(!needsMerchant && { merchant: "none" }) });
  return {
    ...(needsMerchant && { merchantId: scope.merchantId }),
    ...(isMissing("environment") && { environment: scope.environment }),
  };
}

type Calling = { readonly method: DescMethod; readonly message: JsonObject; readonly options: RpcOptions };

/** A field `next_…` of the answer is the field of that name of the request for the next page. */
async function* answersOf(
  dashboard: DashboardClient,
  { method, message, options }: Calling,
): AsyncGenerator<JsonObject> {
  const next = method.output.fields.find(
    ({ name }) => name.startsWith("next_") && method.input.fields.some((field) => `next_${field.name}` === name),
  );
  if (options.allPages && next === undefined) throw new UsageError(`${method.name} has no pages: omit --all-pages.`);
  const page = method.input.fields.find(({ name }) => `next_${name}` === next?.name);
  for (let request = message; ; ) {
    const answer = (await dashboard.call(method, request)) as JsonObject;
    yield answer;
    const token = next && answer[next.jsonName];
    if (!options.allPages || !page || !token) return;
    request = { ...request, [page.jsonName]: token };
  }
}

function printed({ output }: DescMethod, answer: JsonObject, path: string): string {
  let value: JsonValue | undefined = answer;
  for (const name of path.split(".")) {
    value = typeof value === "object" && value !== null && !Array.isArray(value) ? value[name] : undefined;
  }
  if (value === undefined) {
    throw new UsageError(
      `The answer has no ${shown(path)}: ${output.fields.map(({ jsonName }) => jsonName).join(", ")}.`,
    );
  }
  return typeof value === "string" ? value.replace(/\n$/, "") : JSON.stringify(value, null, 2);
}
