import { expect, it } from "vitest";
import { runCommand } from "./run-command.ts";

const killsItself = "--import=data:text/javascript,process.kill(process.pid,'SIGKILL')";

it("reports a command that a signal has killed as failed", async () => {
  expect(await runCommand(["--version"], { env: { NODE_OPTIONS: killsItself } })).toMatchObject({ code: -1, out: "" });
});

it("reports the exit code of a command", async () => {
  expect(await runCommand(["--version"])).toMatchObject({ code: 0, err: "" });
  expect((await runCommand(["no-such-command"])).code).toBe(1);
});
