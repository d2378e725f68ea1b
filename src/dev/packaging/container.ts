/** Containers by runc, the runtime of Docker and Kubernetes, hardened and limited as deploy/ has it; on the host's network. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { noteProcess } from "../testing/left-processes.ts";
import type { FinishedCommand } from "../testing/run-command.ts";

const run = promisify(execFile);

export type ContainerOptions = {
  readonly name: string;
  readonly root: string;
  readonly user: { readonly uid: number; readonly gid: number };
  readonly workingDirectory: string;
  readonly command: readonly string[];
  readonly variables: readonly string[];
  /** Folders of the host by their paths in the container. */
  readonly folders: Readonly<Record<string, { readonly source: string; readonly isWritable?: boolean }>>;
  readonly limits: { readonly memoryBytes: number; readonly processes: number; readonly cpus: number };
};

// A container that ignores SIGTERM is killed after the longest stop_grace_period of compose.yaml for a role.
const killAfterMs = 30_000;
// Short against the time that the runtime needs to start one.
const pollEveryMs = 20;
const cpuPeriodUs = 100_000;
const logTailLines = 15;

export class Container {
  readonly name: string;
  readonly #folder: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<number>;

  private constructor(name: string, folder: string, child: ChildProcess) {
    this.name = name;
    this.#folder = folder;
    this.#child = child;
    this.#ended = once(child, "exit").then(([code]) => code ?? -1);
  }

  /** Starts a container. `folder` is for the runtime's own files and the log. */
  static async start(folder: string, options: ContainerOptions): Promise<Container> {
    const bundle = join(folder, options.name);
    mkdirSync(bundle, { recursive: true });
    writeFileSync(join(bundle, "config.json"), JSON.stringify(bundleOf(options)));
    const log = openSync(join(bundle, "log"), "w", 0o600);
    const pidFile = join(bundle, "pid");
    const args = ["--root", join(folder, "state"), "run", "--bundle", bundle, "--pid-file", pidFile, options.name];
    const child = spawn("runc", args, { stdio: ["ignore", log, log] });
    closeSync(log);
    const container = new Container(options.name, folder, child);
    while (!container.#hasEnded && !existsSync(pidFile)) await pause(pollEveryMs);
    // The runtime would not take its container with it, if the test died.
    if (existsSync(pidFile)) noteProcess(Number(readFileSync(pidFile, "utf8")), `container ${options.name}`);
    return container;
  }

  /** Runs a command in the container until its end, as its user, with more variables if given. */
  exec(command: readonly string[], more: { variables?: readonly string[]; input?: string } = {}) {
    const variables = (more.variables ?? []).flatMap((variable) => ["--env", variable]);
    return new Promise<FinishedCommand>((resolve) => {
      const child = execFile("runc", this.#args("exec", ...variables, this.name, ...command), (error, out, err) =>
        resolve({ code: error === null ? 0 : Number(error.code), out, err }),
      );
      child.stdin?.end(more.input);
    });
  }

  /** The end of its process's output. */
  get logTail(): string {
    const log = readFileSync(join(this.#folder, this.name, "log"), "utf8");
    return log.trimEnd().split("\n").slice(-logTailLines).join("\n");
  }

  /** Returns the most memory that its processes have used at once, in MiB; undefined if the system does not say. */
  async peakMegabytes(): Promise<number | undefined> {
    const { stdout } = await run("runc", this.#args("events", "--stats", this.name));
    const { data } = JSON.parse(stdout) as { data: { memory?: { usage?: { max?: number } } } };
    const bytes = data.memory?.usage?.max;
    return bytes === undefined ? undefined : Math.round(bytes / 2 ** 20);
  }

  get #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Returns the exit code of its process once that has ended. */
  wait(): Promise<number> {
    return this.#ended;
  }

  /** Sends SIGTERM, as the image says, and returns the exit code; kills a process that does not end. */
  async stop(): Promise<number> {
    if (!this.#hasEnded) this.#child.kill("SIGTERM");
    const killer = setTimeout(() => execFile("runc", this.#args("kill", this.name, "KILL")), killAfterMs);
    const code = await this.#ended;
    clearTimeout(killer);
    return code;
  }

  #args(...args: string[]): string[] {
    return ["--root", join(this.#folder, "state"), ...args];
  }
}

/** The runtime's description of a container (OCI runtime specification 1.0). */
function bundleOf({ name, root, user, workingDirectory, command, variables, folders, limits }: ContainerOptions) {
  const tmpfs = (destination: string, ...options: string[]) => ({
    destination,
    type: "tmpfs",
    source: "tmpfs",
    options: ["nosuid", ...options],
  });
  const bind = (destination: string, source: string, ...options: string[]) => ({
    destination,
    type: "bind",
    source,
    options: ["rbind", ...options],
  });
  return {
    ociVersion: "1.0.2",
    process: {
      user,
      args: command,
      env: variables,
      cwd: workingDirectory,
      capabilities: { bounding: [], effective: [], inheritable: [], permitted: [], ambient: [] },
      noNewPrivileges: true,
      rlimits: [{ type: "RLIMIT_CORE", hard: 0, soft: 0 }],
    },
    root: { path: root, readonly: true },
    hostname: name,
    mounts: [
      { destination: "/proc", type: "proc", source: "proc" },
      tmpfs("/dev", "strictatime", "mode=755", "size=65536k"),
      tmpfs("/dev/shm", "noexec", "nodev", "mode=1777", "size=65536k"),
      { destination: "/sys", type: "sysfs", source: "sysfs", options: ["nosuid", "noexec", "nodev", "ro"] },
      bind("/etc/hosts", "/etc/hosts", "ro"),
      bind("/etc/resolv.conf", "/etc/resolv.conf", "ro"),
      ...Object.entries(folders).map(([path, { source, isWritable }]) => bind(path, source, isWritable ? "rw" : "ro")),
    ],
    linux: {
      cgroupsPath: `/switchyard-${process.pid}-${name}`,
      namespaces: ["pid", "ipc", "uts", "mount"].map((type) => ({ type })),
      maskedPaths: ["/proc/kcore", "/proc/keys", "/proc/timer_list", "/sys/firmware"],
      readonlyPaths: ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"],
      resources: {
        memory: { limit: limits.memoryBytes },
        pids: { limit: limits.processes },
        cpu: { quota: limits.cpus * cpuPeriodUs, period: cpuPeriodUs },
      },
    },
  };
}
