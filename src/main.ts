#!/usr/bin/env node
/** The process behind the command line. Node keeps what it compiles here, so that the next one starts sooner. */
import { enableCompileCache } from "node:module";
import { join } from "node:path";

// Before anything of ours is loaded. Where it may not write, as in a container, it goes on without.
enableCompileCache(join(import.meta.dirname, "../node_modules/.cache/switchyard"));
const { runCommandLine } = await import("./command-line/run.ts");
await runCommandLine();
