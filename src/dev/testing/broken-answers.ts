/** Answers that prove nothing, from bytes on the wire to a body about other money. */
import type { Socket } from "node:net";
import type { Spoil } from "./gateway-harness.ts";

const html = "<html><body>It works!</body></html>";
const megabyte = 1024 * 1024;

/** Writes exactly these bytes in place of an answer, and hangs up unless configured otherwise. */
const bytes = (text: string, { thenHangUp = true } = {}) => ({
  write: (socket: Socket) => void (thenHangUp ? socket.end(text) : socket.write(text)),
});

/** Writes without end, as fast as it is read. */
const endlessly = (head: string, chunk: string) => ({
  write(socket: Socket): void {
    const bytes = Buffer.from(chunk.repeat(Math.ceil(16_384 / chunk.length)));
    const more = (): void => {
      while (!socket.destroyed && socket.write(bytes)) {}
    };
    socket.on("error", () => {}).on("drain", more);
    socket.write(head);
    more();
  },
});

const head = (...lines: readonly string[]) => `${["HTTP/1.1 200 OK", ...lines].join("\r\n")}\r\n\r\n`;
const json = "content-type: application/json";
const statusOf = ({ status }: { status: number }) => `HTTP/1.1 ${status} Spoilt`;

export const brokenAnswers: Readonly<Record<string, Spoil>> = {
  "a connection that is reset": () => "reset",
  "a connection that is closed without a byte": () => bytes(""),
  "a status line that is garbled": ({ body }) => bytes(`HTTP/1.1 OK 200\r\n${json}\r\n\r\n${body}`),
  "a greeting of another protocol": () => bytes("SSH-2.0-OpenSSH_9.9\r\n"),
  "headers that are cut off": () => bytes(`HTTP/1.1 200 OK\r\n${json}\r\ncontent-le`),
  "headers without end": () => endlessly(`HTTP/1.1 200 OK\r\n`, `x-more: ${"x".repeat(1_000)}\r\n`),
  "two lengths that differ": (honest) =>
    bytes(
      `${statusOf(honest)}\r\n${json}\r\ncontent-length: 2\r\ncontent-length: ${honest.body.length}\r\n\r\n${honest.body}`,
    ),
  "a length beside chunks": (honest) =>
    bytes(
      `${statusOf(honest)}\r\n${json}\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n${honest.body.length.toString(16)}\r\n${honest.body}\r\n0\r\n\r\n`,
    ),
  "a body that is shorter than its length": (honest) =>
    bytes(`${statusOf(honest)}\r\n${json}\r\ncontent-length: ${honest.body.length + 1}\r\n\r\n${honest.body}`),
  "chunks that end early": (honest) =>
    bytes(
      `${statusOf(honest)}\r\n${json}\r\ntransfer-encoding: chunked\r\n\r\n${honest.body.length.toString(16)}\r\n${honest.body}\r\n`,
    ),
  "a body without end": () => endlessly(head(json, "transfer-encoding: chunked"), `400\r\n${" ".repeat(1024)}\r\n`),
  "half an answer": ({ status, body }) => ({ status, body: body.slice(0, body.length / 2) }),
  "an empty answer": ({ status }) => ({ status, body: "" }),
  "an answer of 10 MB": ({ status, body }) => ({ status, body: body + " ".repeat(10 * megabyte) }),
  "an HTML page": () => ({ status: 200, headers: { "content-type": "text/html" }, body: html }),
  "an HTML page saying 401": () => ({ status: 401, body: html }),
  "an HTML page saying 402": () => ({ status: 402, body: html }),
  "an HTML page saying 404": () => ({ status: 404, body: html }),
  "an HTML page saying 429": () => ({ status: 429, body: html }),
  "an honest body that calls itself a page": ({ status, body }) => ({
    status,
    headers: { "content-type": "text/html" },
    body,
  }),
  "an honest body that calls itself compressed": ({ status, body }) => ({
    status,
    headers: { "content-type": "application/gzip", "content-encoding": "gzip" },
    body,
  }),
  "a redirect": () => ({ status: 302, headers: { location: "/elsewhere" }, body: "" }),
  "an honest body under a redirect": ({ body }) => ({ status: 307, headers: { location: "/elsewhere" }, body }),
  "an honest body under status 202": ({ body }) => ({ status: 202, body }),
  "a JSON list": ({ status, body }) => ({ status, body: `[${body}]` }),
  "an honest body under status 500": ({ body }) => ({ status: 500, body }),
  "an honest body under status 502": ({ body }) => ({ status: 502, body }),
  "an honest body under status 503": ({ body }) => ({ status: 503, body }),
  "an honest body under status 504": ({ body }) => ({ status: 504, body }),
  "another reference": ({ status, body }) => ({ status, body: body.replaceAll("att_bench", "att_other") }),
};

export const otherMoney: Readonly<Record<string, Spoil>> = {
  "another amount": ({ status, body }) => ({
    status,
    body: body.replaceAll("4900", "4901").replaceAll('"49.00"', '"49.01"'),
  }),
  "a number as text and text as a number": ({ status, body }) => ({
    status,
    body: body.replaceAll(":4900", ':"4900"').replaceAll(':"49.00"', ":49.00"),
  }),
  "another currency": ({ status, body }) => ({
    status,
    body: body.replaceAll('"EUR"', '"USD"').replaceAll('"eur"', '"usd"'),
  }),
};

/** Answers whose last byte does not come in time. */
export const silences: Readonly<Record<string, Spoil>> = {
  "no answer at all": () => "hang",
  "interim answers without end": () => endlessly("", "HTTP/1.1 103 Early Hints\r\n\r\n"),
  "silence in the middle of the headers": () => bytes(`HTTP/1.1 200 OK\r\n${json}\r\ncont`, { thenHangUp: false }),
  "silence in the middle of the body": (honest) =>
    bytes(
      `${statusOf(honest)}\r\n${json}\r\ncontent-length: ${honest.body.length}\r\n\r\n${honest.body.slice(0, -1)}`,
      {
        thenHangUp: false,
      },
    ),
  "a byte now and then": () => ({
    write(socket) {
      socket.write(head(json, "content-length: 100000"));
      const timer = setInterval(() => socket.write(" "), 20);
      socket.on("error", () => {}).on("close", () => clearInterval(timer));
    },
  }),
};
