import { createServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { mailTimeoutMs } from "../limits.ts";
import { Mailer } from "./mail.ts";

// A timer may come late on a busy machine.
const lateMs = 3_000;

it("A mail server that delays a mail with a line a second is abandoned at the time limit", async () => {
  const server = createServer((socket) => {
    socket.write("220 hello\r\n");
    const timer = setInterval(() => socket.write("250-wait\r\n"), 1_000);
    socket.on("error", () => {});
    socket.on("close", () => clearInterval(timer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  const mailer = new Mailer({ host: "127.0.0.1", port, tls: "if_offered", login: undefined, from: "pay@example.com" });
  const startedAt = performance.now();
  const handover = await mailer.send({ to: "ada@example.com", subject: "Hello", text: "Hello", id: "1" });
  expect(handover).toEqual({ kind: "failed", reason: "the mail server took too long" });
  expect(performance.now() - startedAt).toBeLessThan(mailTimeoutMs + lateMs);
});
