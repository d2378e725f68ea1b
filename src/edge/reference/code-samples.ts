/** The samples of the API reference: one call as curl, Node and Python. PURE. */

export type SampleCall = {
  readonly method: string;
  /** The path with its query. */
  readonly path: string;
  readonly needsKey: boolean;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
};

export const languages = ["curl", "Node", "Python"] as const;

/** Returns the call in each language. API_ORIGIN and SECRET_KEY come from the environment. */
export function codeSamples(call: SampleCall): Readonly<Record<(typeof languages)[number], string>> {
  return { curl: curl(call), Node: node(call), Python: python(call) };
}

function headersOf({ headers, body }: SampleCall): [name: string, value: string][] {
  return Object.entries({ ...(body !== undefined && { "Content-Type": "application/json" }), ...headers });
}

function curl(call: SampleCall): string {
  const method = call.method === "GET" || call.body !== undefined ? "" : `-X ${call.method} `;
  return [
    `curl ${method}"$API_ORIGIN${call.path}"`,
    ...(call.needsKey ? [`  -H "Authorization: Bearer $SECRET_KEY"`] : []),
    ...headersOf(call).map(([name, value]) => `  -H "${name}: ${value}"`),
    ...(call.body === undefined ? [] : [`  -d '${indented(call.body, 2)}'`]),
  ].join(" \\\n");
}

function node(call: SampleCall): string {
  const options = [
    ...(call.method === "GET" ? [] : [`  method: "${call.method}",`]),
    ...headerLines(call, "  headers: {", '    Authorization: "Bearer " + process.env.SECRET_KEY,', (name) =>
      /^\w+$/.test(name) ? name : `"${name}"`,
    ),
    ...(call.body === undefined ? [] : [`  body: JSON.stringify(${unquoted(indented(call.body, 2))}),`]),
  ];
  const url = `\`\${process.env.API_ORIGIN}${call.path}\``;
  const call_ = options.length === 0 ? `fetch(${url})` : `fetch(${url}, {\n${options.join("\n")}\n})`;
  return `const response = await ${call_};\nconsole.log(await response.json());`;
}

function python(call: SampleCall): string {
  const address = `    os.environ["API_ORIGIN"] + "${call.path}",`;
  const parts = [
    address,
    ...(call.method === "GET" ? [] : [`    method="${call.method}",`]),
    ...headerLines(
      call,
      "    headers={",
      '        "Authorization": "Bearer " + os.environ["SECRET_KEY"],',
      (name) => `"${name}"`,
    ),
    ...(call.body === undefined ? [] : [`    data=json.dumps(${inPython(indented(call.body, 4))}).encode(),`]),
  ];
  return `import json, os, urllib.request

request = urllib.request.Request(
${parts.join("\n")}
)
with urllib.request.urlopen(request) as response:
    print(json.load(response))`;
}

function headerLines(call: SampleCall, opening: string, key: string, quoted: (name: string) => string): string[] {
  const indent = " ".repeat(opening.search(/\S/));
  const lines = headersOf(call).map(([name, value]) => `${indent}${indent}${quoted(name)}: "${value}",`);
  if (!call.needsKey && lines.length === 0) return [];
  return [opening, ...(call.needsKey ? [key] : []), ...lines, `${indent}},`];
}

/** JSON whose lines but the first are moved to the right. */
function indented(value: unknown, by: number): string {
  return JSON.stringify(value, undefined, 2).replaceAll("\n", `\n${" ".repeat(by)}`);
}

/** JSON as a person writes it in JavaScript. */
function unquoted(json: string): string {
  return json.replaceAll(/^(\s*)"([a-zA-Z]\w*)":/gm, "$1$2:");
}

function inPython(json: string): string {
  return json.replaceAll(/: (true|false)(?=,?$)/gm, (_, word: string) => `: ${word === "true" ? "True" : "False"}`);
}
